#include "tests/fuzz/random_graphs.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "frontend/random_init.h"
#include "ir/builder.h"
#include "support/error.h"
#include "tests/fuzz/random_source.h"

namespace tcc::test {
namespace {

using ir::Attrs;
using ir::Graph;
using ir::ints;
using ir::Value;
using Dims = std::vector<int64_t>;

constexpr double kLargest = 16;  // what float values are scaled down to

struct Item {
  Value* value;
  double bound;  // floats: the largest magnitude, roughly
  bool exact;    // computed without rounding
};

class Generator {
 public:
  Generator(uint64_t seed, const RandomGraphOptions& options)
      : random_(seed), options_(options), builder_(graph_) {}

  Graph run() {
    graph_.name = "fuzz";
    for (int64_t i = random_.between(1, 3); i > 0; --i) input(dtype(), shape());
    const auto wanted =
        static_cast<size_t>(random_.between(options_.min_nodes, options_.max_nodes));
    for (int attempts = 0; graph_.nodes().size() < wanted && attempts < 400; ++attempts) step();
    choose_outputs();
    graph_.remove_dead();
    return std::move(graph_);
  }

 private:
  // ---- choices

  DType dtype() {
    static const std::vector<DType> choices = {
        DType::f32, DType::f32, DType::f32, DType::f32, DType::f16, DType::bf16,   DType::f64,
        DType::i64, DType::i32, DType::i8,  DType::u8,  DType::i16, DType::boolean};
    return random_.one_of(choices);
  }
  int64_t extent() {
    static const Dims choices = {1, 1, 2, 3, 4, 5, 7, 8, 8, 13, 16, 17, 32, 33, 64, 100};
    return random_.chance(1) ? 0 : random_.one_of(choices);
  }
  Dims shape() {
    Dims dims;
    int64_t elements = 1;
    for (int64_t rank = random_.one_of(Dims{0, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 5}); rank > 0;
         --rank) {
      const int64_t room = options_.max_elements / std::max<int64_t>(elements, 1);
      dims.push_back(std::min(extent(), room));
      elements *= dims.back();
    }
    return dims;
  }
  static Dims dims_of(const Value* value) { return ir::const_shape(*value); }
  static int64_t elements(const Dims& dims) {
    int64_t product = 1;
    for (const int64_t dim : dims) product *= dim;
    return product;
  }
  int64_t dim_of(const Value* value) { return random_.below(value->rank()); }

  // A value that there is, later ones more often; null when none fits.
  template <class Fits>
  const Item* pick(Fits fits) {
    for (int attempt = 0; attempt < 12; ++attempt) {
      const auto count = static_cast<int64_t>(items_.size());
      const int64_t at = std::max(random_.below(count), random_.below(count));
      if (fits(items_[static_cast<size_t>(at)])) return &items_[static_cast<size_t>(at)];
    }
    return nullptr;
  }
  std::optional<Item> any(int min_rank = 0) {
    const Item* item = pick([&](const Item& i) { return i.value->rank() >= min_rank; });
    return item ? std::optional(*item) : std::nullopt;
  }
  std::optional<Item> any_float(int min_rank = 0) {
    const Item* item = pick(
        [&](const Item& i) { return is_float(i.value->dtype()) && i.value->rank() >= min_rank; });
    return item ? std::optional(*item) : std::nullopt;
  }

  // ---- values

  Item input(DType dtype, const Dims& dims, std::optional<std::pair<int64_t, int64_t>> range = {}) {
    Value* value = graph_.add_input("x" + std::to_string(graph_.inputs.size()),
                                    {dtype, ir::Shape(dims.begin(), dims.end())});
    if (is_integer(dtype)) value->random_range = range ? *range : std::pair<int64_t, int64_t>(0, 8);
    items_.push_back({value, 2, true});
    return items_.back();
  }
  Item weight(DType dtype, const Dims& dims, double bound) {
    const std::string name = "w" + std::to_string(weights_++);
    Tensor tensor = random_tensor(dtype, dims, Init::uniform(-bound, bound), stream_seed(7, name));
    Value* value =
        graph_.add_constant(name, {dtype, ir::Shape(dims.begin(), dims.end())},
                            ir::make_constant(std::make_shared<const Tensor>(std::move(tensor))));
    return {value, bound, true};
  }
  // An input or a constant.
  Item leaf(DType dtype, const Dims& dims) {
    return is_float(dtype) && random_.chance(50) ? weight(dtype, dims, 1) : input(dtype, dims);
  }

  // Notes a result, scaled down where it may be large.
  void add(Value* value, double bound, bool exact) {
    if (is_float(value->dtype()) && bound > kLargest) {
      value = builder_.mul(
          value, builder_.scalar(value->dtype(), std::exp2(-std::ceil(std::log2(bound / 4)))));
      bound = 4;
      exact = false;
    }
    items_.push_back({value, bound, exact || !is_float(value->dtype())});
  }
  void add(std::string_view op, std::vector<Value*> inputs, Attrs attrs, double bound, bool exact) {
    for (Value* value : builder_.ops(op, std::move(inputs), std::move(attrs)))
      add(value, bound, exact);
  }

  // ---- steps

  void step() {
    static const std::vector<void (Generator::*)()> steps = {
        &Generator::unary,          &Generator::unary,
        &Generator::binary,         &Generator::binary,
        &Generator::binary,         &Generator::view,
        &Generator::view,           &Generator::view,
        &Generator::reduction,      &Generator::reduction,
        &Generator::norm,           &Generator::matmul,
        &Generator::matmul,         &Generator::conv,
        &Generator::pool,           &Generator::index,
        &Generator::index,          &Generator::join,
        &Generator::join,           &Generator::take_apart,
        &Generator::condition,      &Generator::convert,
        &Generator::integer,        &Generator::ternary,
        &Generator::attention,      &Generator::scan,
        &Generator::movement,       &Generator::part_of_product,
        &Generator::part_of_product};
    const size_t before = items_.size();
    try {
      (this->*random_.one_of(steps))();
    } catch (const Error& error) {
      // An op that refuses what was drawn.
      if (error.kind() != ErrorKind::bad_input) throw;
    }
    // Large values stay, as nodes, but nothing is made from them.
    std::erase_if(items_, [&](const Item& item) {
      return &item >= items_.data() + before &&
             elements(dims_of(item.value)) > 4 * options_.max_elements;
    });
  }

  void unary() {
    const auto x = any_float();
    if (!x) return;
    if (x->exact && random_.chance(20))
      return add(random_.one_of({"floor", "round", "sign", "trunc", "ceil"}), {x->value}, {},
                 x->bound + 1, true);
    if (random_.chance(15))
      return add(random_.one_of({"neg", "abs", "relu"}), {x->value}, {}, x->bound, x->exact);
    if (x->bound <= 3 && random_.chance(15))
      return add("exp", {x->value}, {}, std::exp(x->bound), false);
    if (random_.chance(10)) {
      Value* positive =
          builder_.add(builder_.unary("abs", x->value), builder_.scalar(x->value->dtype(), 0.5));
      return add(random_.one_of({"sqrt", "rsqrt", "log", "reciprocal", "log1p"}), {positive}, {}, 4,
                 false);
    }
    add(random_.one_of({"tanh", "sigmoid", "gelu", "silu", "sin", "cos", "erf", "atan", "softplus",
                        "square", "elu", "mish", "hardswish", "softsign", "leaky_relu"}),
        {x->value}, {}, x->bound * x->bound + 2, false);
  }

  // Another operand of a shape that broadcasts with x's.
  Item partner(const Item& x) {
    const Item* other = pick([&](const Item& i) {
      return i.value->dtype() == x.value->dtype() && i.value->shape() == x.value->shape();
    });
    if (other && random_.chance(60)) return *other;
    Dims dims = dims_of(x.value);
    for (int64_t& dim : dims)
      if (random_.chance(35)) dim = 1;
    dims.erase(dims.begin(), dims.begin() + random_.below(static_cast<int64_t>(dims.size()) + 1));
    return leaf(x.value->dtype(), dims);
  }

  void binary() {
    const auto x = any_float();
    if (!x) return;
    const Item y = partner(*x);
    Value *a = x->value, *b = y.value;
    if (random_.chance(30)) std::swap(a, b);
    switch (random_.below(6)) {
      case 0: return add("add", {a, b}, {}, x->bound + y.bound, false);
      case 1: return add("sub", {a, b}, {}, x->bound + y.bound, false);
      case 2: return add("mul", {a, b}, {}, x->bound * y.bound, false);
      case 3: return add("maximum", {a, b}, {}, std::max(x->bound, y.bound), x->exact && y.exact);
      case 4: return add("minimum", {a, b}, {}, std::max(x->bound, y.bound), x->exact && y.exact);
      default: break;
    }
    Value* positive = builder_.add(builder_.unary("abs", b), builder_.scalar(b->dtype(), 0.75));
    add("div", {a, positive}, {}, std::max(x->bound, y.bound) / 0.75, false);
  }

  void integer() {
    const Item* x = pick([](const Item& i) { return is_integer(i.value->dtype()); });
    if (!x) return;
    const Item a = *x;
    const Item b = partner(a);
    add(random_.one_of({"add", "sub", "mul", "maximum", "minimum", "bitwise_and", "bitwise_or",
                        "bitwise_xor", "floor_divide", "remainder"}),
        {a.value, b.value}, {}, 0, true);
  }

  void ternary() {
    const auto x = any_float();
    if (!x) return;
    if (random_.chance(30))
      return add("clamp", {x->value}, {{"min", -1.0}, {"max", 1.5}}, 1.5, x->exact);
    const Item y = partner(*x), z = partner(*x);
    if (random_.chance(50))
      return add("lerp", {x->value, y.value, z.value}, {}, (x->bound + y.bound) * (z.bound + 1),
                 false);
    add("addcmul", {x->value, y.value, z.value}, {{"value", 0.5}}, x->bound + y.bound * z.bound,
        false);
  }

  void condition() {
    const auto x = any();
    if (!x) return;
    Value* mask = nullptr;
    if (x->exact && x->value->dtype() != DType::boolean)
      mask = builder_.op(random_.one_of({"gt", "le", "eq", "ne", "lt", "ge"}),
                         {x->value, partner_exact(*x).value});
    else if (x->value->dtype() == DType::boolean)
      mask = x->value;
    else
      mask = input(DType::boolean, dims_of(x->value)).value;
    items_.push_back({mask, 1, true});
    if (random_.chance(20)) return add("logical_not", {mask}, {}, 1, true);
    if (x->value->dtype() == DType::boolean) return;
    if (random_.chance(30))
      return add("masked_fill", {x->value, mask}, {{"value", 1.0}}, x->bound + 1, x->exact);
    const Item y = partner(*x);
    add("where", {mask, x->value, y.value}, {}, std::max(x->bound, y.bound), x->exact && y.exact);
  }
  Item partner_exact(const Item& x) {
    const Item y = partner(x);
    return y.exact ? y : leaf(x.value->dtype(), dims_of(x.value));
  }

  void convert() {
    const auto x = any();
    if (!x) return;
    const DType to = dtype();
    const DType from = x->value->dtype();
    if (is_float(from) && random_.chance(20)) return through_f8(*x);
    if (is_float(from) && !is_float(to) && !x->exact) return;
    // Floats that an integer type does not hold saturate; only tame ones are converted.
    if (is_float(from) && is_integer(to) && !info(to).is_signed)
      return add("cast", {builder_.unary("abs", x->value)}, {{"dtype", to}}, 0, true);
    if (is_integer(from) && is_float(to)) {
      Value* small = builder_.op("remainder", {x->value, builder_.scalar(from, 7)});
      return add("cast", {small}, {{"dtype", to}}, 8, true);
    }
    add("cast", {x->value}, {{"dtype", to}}, std::max(x->bound, 1.0), x->exact);
  }

  // f8 is moved and converted back.
  void through_f8(const Item& x) {
    Value* narrow = builder_.cast(x.value, random_.chance(50) ? DType::f8e4m3 : DType::f8e5m2);
    if (narrow->rank() > 0 && random_.chance(50))
      narrow = builder_.op("permute", {narrow}, {{"dims", ints(permutation(narrow->rank()))}});
    if (narrow->rank() > 0 && random_.chance(20))
      narrow = builder_.op("cat", {narrow, narrow}, {{"dim", dim_of(narrow)}});
    add(builder_.cast(narrow, x.value->dtype()), x.bound * 1.25, false);
  }

  void view() {
    const auto x = any(1);
    if (!x) return;
    Value* v = x->value;
    const Dims dims = dims_of(v);
    const int64_t dim = dim_of(v), size = dims[static_cast<size_t>(dim)];
    const auto done = [&](std::string_view op, Attrs attrs) {
      add(op, {v}, std::move(attrs), x->bound, x->exact);
    };
    switch (random_.below(9)) {
      case 0: return done("permute", {{"dims", ints(permutation(v->rank()))}});
      case 1: return done("flip", {{"dims", ints({dim})}});
      case 2: return done("reshape", {{"shape", ints(regrouped(dims))}});
      case 3: return done("transpose", {{"dim0", dim}, {"dim1", dim_of(v)}});
      case 4: return done("unsqueeze", {{"dim", random_.below(v->rank() + 1)}});
      case 5:
        return done("slice", {{"dim", dim},
                              {"start", ints({random_.below(size + 1)})},
                              {"step", random_.between(1, 3)}});
      case 6:
        return done("select",
                    {{"dim", dim}, {"index", ints({random_.below(std::max<int64_t>(size, 1))})}});
      case 7: {
        Dims wide = dims;
        for (int64_t& d : wide)
          if (d == 1 && random_.chance(70)) d = random_.between(2, 6);
        if (elements(wide) < options_.max_elements)
          wide.insert(wide.begin(), random_.between(1, 3));
        return done("expand", {{"size", ints(wide)}});
      }
      default:
        return done(
            "narrow",
            {{"dim", dim}, {"start", ints({size / 3})}, {"length", ints({size - size / 3})}});
    }
  }
  Dims permutation(int rank) {
    Dims dims;
    for (int d = 0; d < rank; ++d) dims.insert(dims.begin() + random_.below(d + 1), d);
    return dims;
  }
  Dims regrouped(const Dims& dims) {
    Dims result;
    int64_t rest = elements(dims);
    while (rest > 1 && result.size() < 3) {
      Dims divisors;
      for (int64_t d = 1; d <= rest; ++d)
        if (rest % d == 0) divisors.push_back(d);
      result.push_back(random_.one_of(divisors));
      rest /= result.back();
    }
    result.push_back(rest);
    return result;
  }

  void movement() {
    const auto x = any(1);
    if (!x) return;
    Value* v = x->value;
    const int64_t dim = dim_of(v);
    const auto done = [&](std::string_view op, Attrs attrs) {
      add(op, {v}, std::move(attrs), x->bound + 1, x->exact);
    };
    switch (random_.below(7)) {
      case 0:
        return done("pad", {{"pad", ints({random_.between(-1, 3), random_.between(0, 3)})},
                            {"value", 1.0}});
      case 1:
        return done("roll", {{"shifts", ints({random_.between(-3, 5)})}, {"dims", ints({dim})}});
      case 2:
        return done("repeat_interleave",
                    {{"repeats", ints({random_.between(1, 3)})}, {"dim", ints({dim})}});
      case 3: return done(random_.one_of({"tril", "triu"}), {{"diagonal", random_.between(-2, 2)}});
      case 4: return done("diagonal", {{"offset", random_.between(-1, 1)}});
      case 5:
        return done("pad", {{"pad", ints({1, 2})},
                            {"mode", random_.one_of({"reflect", "replicate", "circular"})}});
      default: return done("repeat", {{"repeats", ints(Dims(dims_of(v).size(), 2))}});
    }
  }

  void join() {
    const auto x = any(1);
    if (!x) return;
    const int64_t dim = dim_of(x->value);
    std::vector<Value*> parts = {x->value};
    double bound = x->bound;
    bool exact = x->exact;
    for (int64_t more = random_.between(1, 2); more > 0; --more) {
      Dims dims = dims_of(x->value);
      const Item* same = pick([&](const Item& i) {
        return i.value->dtype() == x->value->dtype() && dims_of(i.value) == dims;
      });
      Item part = same ? *same : *x;
      if (random_.chance(30)) {
        dims[static_cast<size_t>(dim)] = random_.between(1, 5);
        part = leaf(x->value->dtype(), dims);
      }
      parts.push_back(part.value);
      bound = std::max(bound, part.bound);
      exact = exact && part.exact;
    }
    add(random_.chance(75) ? "cat" : "stack", parts, {{"dim", dim}}, bound, exact);
  }

  void take_apart() {
    const auto x = any(1);
    if (!x) return;
    const int64_t dim = dim_of(x->value);
    if (random_.chance(50))
      return add("chunk", {x->value}, {{"chunks", random_.between(2, 3)}, {"dim", dim}}, x->bound,
                 x->exact);
    const int64_t size = dims_of(x->value)[static_cast<size_t>(dim)];
    if (size >= 2)
      add("split", {x->value}, {{"split_size_or_sections", ints({1, size - 1})}, {"dim", dim}},
          x->bound, x->exact);
  }

  void reduction() {
    const auto x = any(1);
    if (!x) return;
    Value* v = x->value;
    Dims dims;
    for (int d = 0; d < v->rank(); ++d)
      if (random_.chance(50)) dims.push_back(d);
    const Attrs attrs = {{"dim", ints(dims)}, {"keepdim", random_.chance(40)}};
    if (v->dtype() == DType::boolean)
      return add(random_.one_of({"any", "all", "sum"}), {v}, attrs, 0, true);
    if (is_integer(v->dtype()))
      return add(random_.one_of({"sum", "amax", "amin", "prod"}), {v}, attrs, 0, true);
    if (elements(dims_of(v)) == 0) return add("sum", {v}, attrs, 0, false);
    if (x->exact && random_.chance(20))
      return add(random_.one_of({"argmax", "argmin"}), {v}, {{"dim", ints({dim_of(v)})}}, 0, true);
    switch (random_.below(5)) {
      case 0: return add("amax", {v}, attrs, x->bound, x->exact);
      case 1: return add("amin", {v}, attrs, x->bound, x->exact);
      case 2: return add("mean", {v}, attrs, x->bound, false);
      case 3: return add("logsumexp", {v}, attrs, x->bound + 8, false);
      default:
        return add("sum", {v}, attrs, x->bound * static_cast<double>(elements(dims_of(v))), false);
    }
  }

  void scan() {
    const auto x = any(1);
    if (!x || x->value->dtype() == DType::boolean) return;
    const int64_t dim = dim_of(x->value);
    const int64_t length = dims_of(x->value)[static_cast<size_t>(dim)];
    if (random_.chance(40)) return sort(*x, dim, length);
    add("cumsum", {x->value},
        {{"dim", dim}, {"exclusive", random_.chance(20)}, {"reverse", random_.chance(20)}},
        x->bound * static_cast<double>(length), false);
  }

  // The indices of sorted elements depend on rounding unless the elements are exact; their values
  // do not.
  void sort(const Item& x, int64_t dim, int64_t length) {
    const bool some = length > 0 && random_.chance(50);
    const auto sorted =
        some ? builder_.ops("topk", {x.value}, {{"dim", dim}, {"k", 1 + random_.below(length)}})
             : builder_.ops("sort", {x.value}, {{"dim", dim}, {"descending", random_.chance(50)}});
    add(sorted[0], x.bound, x.exact);
    if (x.exact) add(sorted[1], 0, true);
  }

  // x plus noise: its rows surely vary.
  Value* spread(const Item& x) {
    return builder_.add(x.value, input(x.value->dtype(), dims_of(x.value)).value);
  }

  void norm() {
    const auto x = any_float(1);
    if (!x) return;
    if (random_.chance(50))
      return add(random_.one_of({"softmax", "log_softmax"}), {x->value},
                 {{"dim", dim_of(x->value)}}, x->bound * 2 + 5, false);
    const int64_t last = dims_of(x->value).back();
    if (last < 2) return;
    std::vector<Value*> operands = {spread(*x)};
    if (random_.chance(50)) operands.push_back(weight(x->value->dtype(), {last}, 1).value);
    const bool bias = operands.size() == 2 && random_.chance(50);
    const char* op = bias ? "layer_norm" : random_.one_of({"layer_norm", "rms_norm"});
    if (bias) operands.push_back(weight(x->value->dtype(), {last}, 1).value);
    add(op, operands, {{"normalized_shape", ints({last})}, {"eps", 0.01}}, 6, false);
  }

  void matmul() {
    const auto x = any_float(1);
    if (!x) return;
    const Dims dims = dims_of(x->value);
    const int64_t k = dims.back(), n = random_.one_of(Dims{1, 2, 5, 8, 16, 17, 33, 64});
    if (elements(dims) / std::max<int64_t>(k, 1) * n > options_.max_elements) return;
    const double bound = 3 * std::sqrt(static_cast<double>(k)) * x->bound;
    const DType dtype = x->value->dtype();
    if (random_.chance(50)) {
      std::vector<Value*> operands = {x->value, leaf(dtype, {n, k}).value};
      if (random_.chance(50)) operands.push_back(weight(dtype, {n}, 1).value);
      return add("linear", operands, {}, bound + 1, false);
    }
    Dims other = {k, n};
    if (dims.size() >= 3 && random_.chance(60))
      other.insert(other.begin(), dims.begin(), dims.end() - 2);
    if (random_.chance(30) && dims.size() == 2)
      return add("matmul", {builder_.transpose(x->value, 0, 1), x->value}, {},
                 std::sqrt(static_cast<double>(dims[0])) * 3 * x->bound * x->bound, false);
    add("matmul", {x->value, leaf(dtype, other).value}, {}, bound, false);
  }

  // A part of a product that is broadcast, padded or joined to as many elements as the product
  // has, which are not the product's own in their places; then, mostly, with the product itself.
  void part_of_product() {
    const auto x = any_float(2);
    if (!x) return;
    const Dims dims = dims_of(x->value);
    const int64_t k = dims.back(), n = random_.one_of(Dims{2, 4, 8, 16, 32, 64});
    if (elements(dims) / std::max<int64_t>(k, 1) * n > options_.max_elements) return;
    const DType dtype = x->value->dtype();
    add("linear", {x->value, leaf(dtype, {n, k}).value}, {},
        3 * std::sqrt(static_cast<double>(k)) * x->bound, false);
    const Item product = items_.back();
    const Dims whole = dims_of(product.value);
    int64_t dim = dim_of(product.value);
    if (whole[static_cast<size_t>(dim)] < 2) dim = product.value->rank() - 1;
    const int64_t size = whole[static_cast<size_t>(dim)], drawn = random_.one_of(Dims{2, 2, 4});
    const int64_t parts = size % drawn == 0 ? drawn : size;
    const int64_t length = size / parts, start = random_.below(parts) * length;
    Value* part =
        builder_.op("slice", {product.value},
                    {{"dim", dim}, {"start", ints({start})}, {"end", ints({start + length})}});
    Value* again = with_size_of(part, dim, parts);
    if (again->shape() != product.value->shape() && random_.chance(60))
      again = builder_.reshape(again, ir::Shape(whole.begin(), whole.end()));
    if (again->shape() != product.value->shape() || random_.chance(30))
      return add(again, std::max(product.bound, 1.0), false);
    if (random_.chance(30))
      return add("mul", {product.value, again}, {}, product.bound * std::max(product.bound, 1.0),
                 false);
    add(random_.one_of({"add", "sub", "maximum"}), {product.value, again}, {},
        2 * std::max(product.bound, 1.0), false);
  }

  // The part with `parts` times its elements.
  Value* with_size_of(Value* part, int64_t dim, int64_t parts) {
    Dims dims = dims_of(part);
    const int64_t length = dims[static_cast<size_t>(dim)];
    if (random_.chance(25)) {
      dims.insert(dims.begin() + dim, parts);
      return builder_.op("expand", {builder_.op("unsqueeze", {part}, {{"dim", dim}})},
                         {{"size", ints(dims)}});
    }
    if (random_.chance(33)) {
      const int64_t room = length * (parts - 1), before = random_.below(room + 1);
      Dims pads(2 * static_cast<size_t>(part->rank() - dim));
      pads[pads.size() - 2] = before;
      pads[pads.size() - 1] = room - before;
      return builder_.op("pad", {part}, {{"pad", ints(pads)}, {"value", 0.5}});
    }
    std::vector<Value*> operands;
    const int64_t at = random_.below(parts);
    for (int64_t i = 0; i < parts; ++i)
      operands.push_back(i == at || random_.chance(30) ? part : leaf(part->dtype(), dims).value);
    if (parts > 8) operands.resize(8);
    if (random_.chance(50))
      return builder_.op("stack", operands, {{"dim", random_.below(part->rank() + 1)}});
    return builder_.op("cat", operands, {{"dim", dim}});
  }

  // x as [N, C, H, W].
  Value* image(const Item& x) {
    if (x.value->rank() == 4) return x.value;
    const int64_t count = elements(dims_of(x.value));
    for (const int64_t side : {8, 5, 4, 3, 2})
      if (count % (side * side * 2) == 0 && count > 0)
        return builder_.reshape(x.value, {1, count / (side * side), side, side});
    return input(x.value->dtype(), {2, 4, 7, 6}).value;
  }

  void conv() {
    const auto x = any_float();
    if (!x) return;
    Value* v = image(*x);
    const int64_t channels = dims_of(v)[1], out = random_.one_of(Dims{2, 4, 8, 12});
    const bool depthwise = random_.chance(20);
    const int64_t side = random_.one_of(Dims{1, 2, 3});
    if (channels * out > 2048) return;
    std::vector<Value*> operands = {
        v,
        leaf(v->dtype(), {depthwise ? channels : out, depthwise ? 1 : channels, side, side}).value};
    if (random_.chance(50))
      operands.push_back(weight(v->dtype(), {depthwise ? channels : out}, 1).value);
    const double terms = static_cast<double>((depthwise ? 1 : channels) * side * side);
    add("conv2d", operands,
        {{"stride", ints({random_.between(1, 2), 1})},
         {"padding", random_.between(0, 1)},
         {"groups", depthwise ? channels : int64_t{1}}},
        3 * std::sqrt(terms) * std::max(x->bound, 2.0) + 1, false);
  }

  void pool() {
    const auto x = any_float();
    if (!x) return;
    const int64_t side = random_.between(1, 3);
    const bool max = random_.chance(50);
    add(max ? "max_pool2d" : "avg_pool2d", {image(*x)},
        {{"kernel_size", side}, {"stride", random_.between(1, 2)}, {"padding", side / 2}},
        std::max(x->bound, 2.0), max && x->exact);
  }

  void attention() {
    const auto x = any_float(2);
    if (!x) return;
    const Dims dims = dims_of(x->value);
    if (elements(dims) == 0) return;
    Dims keys = dims;
    keys[keys.size() - 2] = random_.between(1, 9);
    const DType dtype = x->value->dtype();
    add("scaled_dot_product_attention",
        {x->value, input(dtype, keys).value, input(dtype, keys).value},
        {{"is_causal", random_.chance(30)}}, 2 + 2 * x->bound, false);
  }

  void index() {
    const auto x = any(1);
    if (!x) return;
    Value* v = x->value;
    const Dims dims = dims_of(v);
    const int64_t dim = dim_of(v), size = dims[static_cast<size_t>(dim)];
    if (size == 0) return;
    const DType index_type = random_.chance(50) ? DType::i64 : DType::i32;
    const auto done = [&](std::string_view op, std::vector<Value*> operands, Attrs attrs) {
      add(op, std::move(operands), std::move(attrs), x->bound, x->exact);
    };
    switch (random_.below(4)) {
      case 0: {
        if (v->rank() != 2 || dims[0] == 0) return;
        Dims ids = shape();
        ids.resize(std::min<size_t>(ids.size(), 2));
        if (elements(ids) * dims[1] > options_.max_elements) return;
        return done("embedding",
                    {input(index_type, ids, std::pair<int64_t, int64_t>(0, dims[0])).value, v}, {});
      }
      case 1:
        return done(
            "index_select",
            {v, input(index_type, {random_.between(1, 9)}, std::pair<int64_t, int64_t>(0, size))
                    .value},
            {{"dim", dim}});
      case 2: {
        Dims chosen = dims;
        chosen[static_cast<size_t>(dim)] = random_.between(1, 7);
        return done("gather",
                    {v, input(index_type, chosen, std::pair<int64_t, int64_t>(0, size)).value},
                    {{"dim", dim}});
      }
      default: break;
    }
    if (v->dtype() == DType::boolean) return;
    Dims chosen = dims;
    chosen[static_cast<size_t>(dim)] = random_.between(1, 6);
    Value* at = input(index_type, chosen, std::pair<int64_t, int64_t>(0, size)).value;
    const Item source = leaf(v->dtype(), chosen);
    if (random_.chance(50)) return done("scatter", {v, at, source.value}, {{"dim", dim}});
    add("scatter_add", {v, at, source.value}, {{"dim", dim}}, x->bound + 12, false);
  }

  // Whatever nothing else uses, and now and then something in the middle, an input or the same
  // value twice.
  void choose_outputs() {
    const auto uses = graph_.uses();
    for (const Item& item : items_) {
      const auto found = uses.find(item.value);
      const bool used = found != uses.end() && !found->second.nodes.empty();
      const bool is_input = item.value->kind != Value::Kind::result;
      if (used ? !random_.chance(8) : is_input && !random_.chance(2)) continue;
      if (is_input && !random_.chance(5)) continue;
      for (int64_t times = random_.chance(1) ? 2 : 1; times > 0; --times) {
        graph_.output_names.push_back("out" + std::to_string(graph_.outputs.size()));
        graph_.outputs.push_back(item.value);
      }
    }
    if (!graph_.outputs.empty()) return;
    graph_.outputs.push_back(items_.back().value);
    graph_.output_names.push_back("out0");
  }

  RandomSource random_;
  RandomGraphOptions options_;
  Graph graph_;
  ir::Builder builder_;
  std::vector<Item> items_;
  int weights_ = 0;
};

}  // namespace

Graph random_graph(uint64_t seed, const RandomGraphOptions& options) {
  return Generator(seed, options).run();
}

}  // namespace tcc::test
