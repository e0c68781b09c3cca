#include "ir/ops/_reduction.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ir/ops/_attributes.h"
#include "support/error.h"
#include "support/parallel.h"

namespace tcc::ir::ops {
namespace {

constexpr int64_t kReferenceGrain = int64_t{1}
                                    << 14;  // elements read by one piece of a reference loop

std::vector<int> all_dims(int rank) {
  std::vector<int> dims(static_cast<size_t>(rank));
  std::iota(dims.begin(), dims.end(), 0);
  return dims;
}

bool refuses_empty(ReduceKind kind) {
  return is_arg(kind) || kind == ReduceKind::max || kind == ReduceKind::min;
}

// Largest and smallest values: PyTorch refuses to take them of nothing, ONNX does not.
bool has_identity(ReduceKind kind) { return kind == ReduceKind::max || kind == ReduceKind::min; }

DType result_dtype(ReduceKind kind, DType dtype) {
  switch (kind) {
    case ReduceKind::any:
    case ReduceKind::all: return DType::boolean;
    case ReduceKind::argmax:
    case ReduceKind::argmin: return DType::i64;
    case ReduceKind::max:
    case ReduceKind::min: return dtype;
    case ReduceKind::sum:
    case ReduceKind::prod: return accumulated_dtype(dtype);
  }
  TCC_CHECK(false, "reduction ", static_cast<int>(kind));
  return dtype;
}

std::vector<Type> infer_reduction(const InferContext& context, ReduceKind kind) {
  const Type& x = *context.inputs[0];
  const auto dims = reduced_dims(context, static_cast<int>(x.shape.size()));
  if (is_arg(kind))
    context.require(symint_list(context.node, "dim").size() <= 1,
                    "dim must be one dim, or absent for all");
  const bool may_be_empty = has_identity(kind) && context.node.attr<bool>("allow_empty");
  const auto is_kept_and_empty = [&](size_t d) {
    return x.shape[d].is(0) && std::ranges::count(dims, static_cast<int>(d)) == 0;
  };
  bool makes_nothing = false;
  for (size_t d = 0; d < x.shape.size(); ++d) makes_nothing |= is_kept_and_empty(d);
  if (refuses_empty(kind) && !may_be_empty && !makes_nothing) {
    for (int dim : dims)
      context.require(!x.shape[static_cast<size_t>(dim)].is(0),
                      str("dim ", dim, " is empty, and this reduction has no identity"));
  }
  return {{result_dtype(kind, x.dtype),
           reduced_shape(x.shape, dims, context.node.attr<bool>("keepdim"))}};
}

// a before b in the order of `argmax`: NaN above everything; equal elements are not "better", so
// that the first stays.
bool better_max(double a, double b) { return a > b || (std::isnan(a) && !std::isnan(b)); }
bool better_min(double a, double b) { return a < b || (std::isnan(a) && !std::isnan(b)); }

template <class T, class Better>
int64_t first_best(const std::vector<T>& x, int64_t base, std::span<const int64_t> offsets,
                   Better better) {
  size_t best = 0;
  const auto at = [&](size_t k) { return x[static_cast<size_t>(base + offsets[k])]; };
  for (size_t k = 1; k < offsets.size(); ++k)
    if (better(at(k), at(best))) best = k;
  return static_cast<int64_t>(best);
}

int64_t first_best(const RefTensor& x, bool largest, int64_t base,
                   std::span<const int64_t> offsets) {
  if (x.is_float()) return first_best(x.f, base, offsets, largest ? better_max : better_min);
  if (x.dtype == DType::u64) {
    return first_best(x.i, base, offsets, [&](int64_t a, int64_t b) {
      return largest ? static_cast<uint64_t>(a) > static_cast<uint64_t>(b)
                     : static_cast<uint64_t>(a) < static_cast<uint64_t>(b);
    });
  }
  return first_best(x.i, base, offsets,
                    [&](int64_t a, int64_t b) { return largest ? a > b : a < b; });
}

double fold(ReduceKind kind, double a, double b) { return kind == ReduceKind::sum ? a + b : a * b; }
int64_t fold(ReduceKind kind, int64_t a, int64_t b) {  // wraps
  const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  return static_cast<int64_t>(kind == ReduceKind::sum ? x + y : x * y);
}

template <class T>
T fold_all(ReduceKind kind, const std::vector<T>& x, int64_t base,
           std::span<const int64_t> offsets) {
  T total = kind == ReduceKind::sum ? 0 : 1;
  for (int64_t offset : offsets) total = fold(kind, total, x[static_cast<size_t>(base + offset)]);
  return total;
}

void reduce_reference(EvalContext& context, ReduceKind kind) {
  const RefTensor& x = *context.inputs[0];
  RefTensor& out = context.outputs[0];
  for_each_reduction(x, reduced_dims(context.node), [&](int64_t o, int64_t base, auto offsets) {
    const auto to = static_cast<size_t>(o);
    const auto nonzero = [&](int64_t offset) {
      const auto from = static_cast<size_t>(base + offset);
      return x.is_float() ? x.f[from] != 0 : x.i[from] != 0;
    };
    switch (kind) {
      case ReduceKind::any:
        out.i[to] = std::any_of(offsets.begin(), offsets.end(), nonzero);
        return;
      case ReduceKind::all:
        out.i[to] = std::all_of(offsets.begin(), offsets.end(), nonzero);
        return;
      case ReduceKind::sum:
      case ReduceKind::prod:
        if (x.is_float())
          out.f[to] = fold_all(kind, x.f, base, offsets);
        else
          out.i[to] = fold_all(kind, x.i, base, offsets);
        return;
      case ReduceKind::argmax:
      case ReduceKind::argmin:
        out.i[to] = first_best(x, kind == ReduceKind::argmax, base, offsets);
        return;
      case ReduceKind::max:
      case ReduceKind::min: {
        if (offsets.empty()) {
          if (x.is_float())
            out.f[to] = kind == ReduceKind::max ? -HUGE_VAL : HUGE_VAL;
          else
            out.i[to] = identity_int(kind, x.dtype);
          return;
        }
        const int64_t best = first_best(x, kind == ReduceKind::max, base, offsets);
        const auto from = static_cast<size_t>(base + offsets[static_cast<size_t>(best)]);
        if (x.is_float())
          out.f[to] = x.f[from];
        else
          out.i[to] = x.i[from];
        return;
      }
    }
  });
}

std::vector<int> sorted_or_all(std::vector<int> dims, bool named, int rank) {
  if (!named) return all_dims(rank);
  std::sort(dims.begin(), dims.end());
  return dims;
}

}  // namespace

std::vector<AttrDef> reduction_attrs() {
  return {{"dim", AttrType::ints, ints({}), {}, true}, {"keepdim", AttrType::boolean, false}};
}

std::vector<int> reduced_dims(const InferContext& context, int rank) {
  return sorted_or_all(dim_list(context, "dim", rank), !symint_list(context.node, "dim").empty(),
                       rank);
}

std::vector<int> reduced_dims(const Node& node) {
  const int rank = node.inputs[0]->rank();
  return sorted_or_all(dim_list(node, "dim", rank), !symint_list(node, "dim").empty(), rank);
}

Shape reduced_shape(const Shape& shape, std::span<const int> dims, bool keepdim) {
  Shape result;
  for (size_t d = 0; d < shape.size(); ++d) {
    const bool reduced = std::binary_search(dims.begin(), dims.end(), static_cast<int>(d));
    if (!reduced)
      result.push_back(shape[d]);
    else if (keepdim)
      result.push_back(1);
  }
  return result;
}

DType accumulated_dtype(DType dtype) { return is_float(dtype) ? dtype : DType::i64; }

void for_each_reduction(const RefTensor& x, std::span<const int> dims,
                        const std::function<void(int64_t output, int64_t base,
                                                 std::span<const int64_t> offsets)>& body) {
  // Offsets of every combination of the chosen dims, row-major.
  const auto offsets_over = [&](bool reduced) {
    std::vector<int64_t> offsets = {0};
    int64_t stride = 1;
    for (int64_t extent : x.shape) stride *= std::max<int64_t>(extent, 1);
    for (size_t d = 0; d < x.shape.size(); ++d) {
      stride /= std::max<int64_t>(x.shape[d], 1);
      if (std::binary_search(dims.begin(), dims.end(), static_cast<int>(d)) != reduced) continue;
      std::vector<int64_t> next;
      next.reserve(offsets.size() * static_cast<size_t>(x.shape[d]));
      for (int64_t offset : offsets)
        for (int64_t i = 0; i < x.shape[d]; ++i) next.push_back(offset + i * stride);
      offsets = std::move(next);
    }
    return offsets;
  };
  const auto bases = offsets_over(false), offsets = offsets_over(true);
  const int64_t grain = std::max<int64_t>(
      1, kReferenceGrain / std::max<int64_t>(1, static_cast<int64_t>(offsets.size())));
  parallel_for(0, static_cast<int64_t>(bases.size()), grain, [&](int64_t first, int64_t last) {
    for (int64_t o = first; o < last; ++o) body(o, bases[static_cast<size_t>(o)], offsets);
  });
}

OpDef reduce_op(std::string name, ReduceKind kind, std::string doc) {
  OpDef op;
  op.name = std::move(name);
  op.kind = OpKind::reduce;
  op.operands = {"x"};
  op.attrs = reduction_attrs();
  if (has_identity(kind)) op.attrs.push_back({"allow_empty", AttrType::boolean, false});
  op.doc = std::move(doc);
  op.reduction = kind;
  op.tie_sensitive = is_arg(kind);
  op.infer = [kind](const InferContext& context) { return infer_reduction(context, kind); };
  op.reference = [kind](EvalContext& context) { reduce_reference(context, kind); };
  return op;
}

OpDef reduction_composite(
    std::string name, std::string doc,
    std::function<Value*(Builder&, const Node&, const std::vector<int64_t>& dims)> compose) {
  OpDef op;
  op.name = std::move(name);
  op.kind = OpKind::composite;
  op.operands = {"x"};
  op.attrs = reduction_attrs();
  op.doc = std::move(doc);
  op.infer = [](const InferContext& context) -> std::vector<Type> {
    const Type& x = *context.inputs[0];
    context.require(is_float(x.dtype), str("x must be a float tensor, not ", to_string(x)));
    const auto dims = reduced_dims(context, static_cast<int>(x.shape.size()));
    return {{x.dtype, reduced_shape(x.shape, dims, context.node.attr<bool>("keepdim"))}};
  };
  op.compose = [compose = std::move(compose)](Builder& b, const Node& node) -> std::vector<Value*> {
    const auto dims = reduced_dims(node);
    return {b.cast(compose(b, node, {dims.begin(), dims.end()}), node.inputs[0]->dtype())};
  };
  return op;
}

Value* size_scalar(Builder& b, const SymInt& size, DType dtype) {
  if (size.is_const()) return b.scalar(dtype, static_cast<double>(size.value()));
  return b.cast(b.op("size_value", {}, {{"size", std::vector<SymInt>{size}}}), dtype);
}

Value* reduced_count(Builder& b, const Shape& shape, std::span<const int> dims, DType dtype) {
  SymInt count = 1;
  for (int dim : dims) count = count * shape[static_cast<size_t>(dim)];
  return size_scalar(b, count, dtype);
}

OpDef extremum_op(std::string name, std::string doc, std::string values_op,
                  std::string indices_op) {
  OpDef op;
  op.name = std::move(name);
  op.kind = OpKind::composite;
  op.operands = {"x"};
  op.attrs = reduction_attrs();
  op.results = {"values", "indices"};
  op.num_results = [](const Node& node) { return node.ints("dim").empty() ? 1 : 2; };
  op.doc = std::move(doc);
  op.tie_sensitive = true;
  op.infer = [](const InferContext& context) -> std::vector<Type> {
    const Type& x = *context.inputs[0];
    const auto dims = reduced_dims(context, static_cast<int>(x.shape.size()));
    for (int dim : dims)
      context.require(!x.shape[static_cast<size_t>(dim)].is(0), "x must not be empty");
    const auto named = symint_list(context.node, "dim").size();
    context.require(named <= 1,
                    "dim must be one dim, or absent for all; amax and amin take several");
    const Shape shape = reduced_shape(x.shape, dims, context.node.attr<bool>("keepdim"));
    if (named == 0) return {{x.dtype, shape}};
    return {{x.dtype, shape}, {DType::i64, shape}};
  };
  op.compose = [=](Builder& b, const Node& node) -> std::vector<Value*> {
    Value* x = node.inputs[0];
    Value* values = b.op(values_op, {x}, node.attrs);
    if (node.ints("dim").empty()) return {values};
    return {values, b.op(indices_op, {x}, node.attrs)};
  };
  op.samples = {
      {{{DType::f32, {5, 7}}}, {{"dim", ints({1})}}},
      {{{DType::f32, {3, 4, 33}}}, {{"dim", ints({0})}, {"keepdim", true}}},
      {{{DType::f32, {6, 9}}}, {}},
      {{{DType::f16, {5, 40}}}, {{"dim", ints({-1})}}},
      {{{DType::i32, {8, 20}}}, {{"dim", ints({1})}}, -2, 2, 0, 5},
  };
  return op;
}

}  // namespace tcc::ir::ops
