#include "ir/ops/_recurrent.h"

#include <algorithm>
#include <span>

#include "ir/ops/_attributes.h"
#include "ir/ops/_norm.h"
#include "ir/ops/_operands.h"
#include "ir/ops/_recurrent_activations.h"
#include "ir/ops/_recurrent_products.h"
#include "ir/ops/_recurrent_steps.h"
#include "support/error.h"

namespace tcc::ir::ops {
namespace {

constexpr int64_t kMostSteps = 4096;  // each may become nodes of its own

enum Operand : size_t {
  kInputs,
  kWeight,
  kRecurrent,
  kBias,
  kLengths,
  kHidden,
  kCell,
  kPeepholes,
  kWeightScale,
  kWeightZero,
  kRecurrentScale,
  kRecurrentZero
};

bool batch_first(const Node& node) { return node.attr<int64_t>("layout") == 1; }
const std::string& direction(const Node& node) { return node.attr<std::string>("direction"); }
int64_t directions(const Node& node) { return direction(node) == "bidirectional" ? 2 : 1; }

Value* operand(const Node& node, size_t k) {
  return k < node.inputs.size() ? node.inputs[k] : nullptr;
}
bool keeps_bias(const Node& node, const RecurrentOp& spec) {
  return spec.keeps_bias && spec.keeps_bias(node);
}

std::vector<std::string> names_of(const Node& node, const RecurrentOp& spec) {
  auto names = activation_names(node.attr<std::string>("activations"));
  if (!names.empty()) return names;
  for (int64_t d = 0; d < directions(node); ++d)
    names.insert(names.end(), spec.activations.begin(), spec.activations.end());
  return names;
}

std::vector<Activation> activations_of(const Node& node, const RecurrentOp& spec,
                                       const std::function<void(const std::string&)>& fail) {
  return recurrent_activations(names_of(node, spec),
                               node.attr<std::vector<double>>("activation_alpha"),
                               node.attr<std::vector<double>>("activation_beta"), fail);
}

// Both directions have the same functions: they can step together.
bool alike(const Node& node, const RecurrentOp& spec) {
  const auto names = names_of(node, spec);
  const auto half = names.begin() + static_cast<std::ptrdiff_t>(names.size() / 2);
  return std::equal(names.begin(), half, half, names.end()) &&
         node.attr<std::vector<double>>("activation_alpha").empty() &&
         node.attr<std::vector<double>>("activation_beta").empty();
}

// ---- shape rule

int64_t const_extent(const InferContext& context, const SymInt& extent, std::string_view what) {
  context.require(extent.is_const() && extent.value() >= 1 && extent.value() < (int64_t{1} << 28),
                  str(what, " must be a positive number, not ", extent));
  return extent.value();
}

std::vector<Type> infer(const InferContext& context, const RecurrentOp& spec) {
  const Type& x = *context.inputs[kInputs];
  require_float(context, kInputs);
  for (const size_t k : {kInputs, kWeight, kRecurrent}) {
    const Type& operand = *context.inputs[k];
    const bool fits = !spec.quantized || k == kInputs
                          ? operand.dtype == x.dtype
                          : is_integer(operand.dtype) && size_bytes(operand.dtype) == 1;
    context.require(operand.shape.size() == 3,
                    "x, weight_ih and weight_hh must have three dims each");
    context.require(fits, spec.quantized ? "weight_ih and weight_hh must be of 8-bit integers"
                                         : "x, weight_ih and weight_hh must have one dtype");
  }
  const Node& node = context.node;
  const bool batched = batch_first(node);
  const SymInt &steps = x.shape[batched ? 1 : 0], &batch = x.shape[batched ? 0 : 1];
  context.require(!steps.is_const() || steps.value() <= kMostSteps,
                  str("a sequence of ", steps,
                      " steps is too long: layers are unrolled over at most ", kMostSteps));
  const int64_t hidden = const_extent(context, context.inputs[kRecurrent]->shape[2], "hidden size");
  const SymInt d = directions(node), h = hidden, gates = spec.gates * hidden;
  require_shape(context, kWeight, {d, gates, x.shape[2]}, "[directions, gates * hidden, input]");
  require_shape(context, kRecurrent, {d, gates, h}, "[directions, gates * hidden, hidden]");
  require_shape(context, kBias, {d, 2 * gates}, "[directions, 2 * gates * hidden]");
  require_shape(context, kLengths, {batch}, "[batch]");
  const Shape state = batched ? Shape{batch, d, h} : Shape{d, batch, h};
  require_shape(context, kHidden, state, "the initial state's");
  if (spec.has_cell) {
    require_shape(context, kCell, state, "the initial state's");
    require_shape(context, kPeepholes, {d, 3 * h}, "[directions, 3 * hidden]");
  }
  if (spec.quantized) {
    for (const size_t k : {kWeightScale, kWeightZero, kRecurrentScale, kRecurrentZero}) {
      const bool given = k < context.inputs.size() && context.inputs[k];
      context.require(given || k == kWeightZero || k == kRecurrentZero,
                      "the weights need their scales");
      if (given && context.inputs[k]->shape.size() < 2)
        require_shape(context, k, {d}, "[directions]");
      else
        require_shape(context, k, {d, gates}, "[directions, gates * hidden]");
    }
  }
  const size_t given = names_of(node, spec).size();
  context.require(
      given == spec.activations.size() * static_cast<size_t>(directions(node)),
      str("activations must name ", spec.activations.size(),
          " functions for each direction, separated by spaces, not ", given, " in all"));
  activations_of(node, spec, [&](const std::string& reason) { context.fail(reason); });
  context.require(number_attr(node, "clip") >= 0, "clip must not be negative");
  const Shape out = batched ? Shape{batch, steps, d, h} : Shape{steps, d, batch, h};
  std::vector<Type> types = {{x.dtype, checked_shape(context, out)}, {x.dtype, state}};
  if (spec.has_cell) types.push_back({x.dtype, state});
  return types;
}

// ---- composition

// Directions [first, first + count) of a layer, which step together.
class Group {
 public:
  // x is [T, B, I].
  Group(Builder& b, const Node& node, const RecurrentOp& spec, Value* x, int64_t first,
        int64_t count)
      : b_(b), node_(node), spec_(spec), x_(x), first_(first), count_(count) {
    gates_ = spec.gates * operand(node, kRecurrent)->shape()[2].value();
    if (Value* bias = part(kBias)) {  // the input's and the recurrent one
      input_bias_ = b_.slice(bias, 1, 0, gates_);
      recurrent_bias_ = b_.slice(bias, 1, gates_, 2 * gates_);
    }
  }

  // out [T, D, B, H] and the last states, [D, B, H] each.
  std::vector<Value*> build() {
    Value* bias = keeps_bias(node_, spec_) ? recurrent_bias_ : nullptr;
    std::vector<Value*> inputs = {projection(), part(kRecurrent), bias, operand(node_, kLengths),
                                  initial(kHidden)};
    if (spec_.has_cell) inputs.insert(inputs.end(), {initial(kCell), part(kPeepholes)});
    if (spec_.quantized)
      inputs.insert(inputs.end(), {by_row(kRecurrentScale), by_row(kRecurrentZero)});
    const auto each = spec_.activations.size();
    const ActivationList functions =
        part_of({names_of(node_, spec_), node_.attr<std::vector<double>>("activation_alpha"),
                 node_.attr<std::vector<double>>("activation_beta")},
                static_cast<size_t>(first_) * each, each);
    std::string names;
    for (const std::string& name : functions.names) names += (names.empty() ? "" : " ") + name;
    Attrs attrs = {{"direction", side()},
                   {"activations", names},
                   {"activation_alpha", functions.alphas},
                   {"activation_beta", functions.betas},
                   {"clip", node_.attrs.at("clip")}};
    for (const AttrDef& attr : spec_.attrs) attrs[attr.name] = node_.attrs.at(attr.name);
    std::vector<Value*> results = b_.ops(spec_.name + "_steps", inputs, attrs);
    for (Value*& result : results) result = b_.cast(result, x_->dtype());
    return results;
  }

 private:
  std::string side() const {
    if (direction(node_) != "bidirectional" || count_ == 2) return direction(node_);
    return first_ == 1 ? "reverse" : "forward";
  }

  // This group's directions of an operand that has them in front.
  Value* part(size_t k) {
    Value* whole = operand(node_, k);
    return whole ? b_.slice(whole, 0, first_, first_ + count_) : nullptr;
  }

  // Quantized weights of the projection; the scale and zero point of a whole tensor are scalars.
  IntegerWeights input_weights() {
    const Shape& shape = operand(node_, kWeight)->shape();
    return integer_weights(b_, b_.reshape(part(kWeight), {shape[1], shape[2]}),
                           by_row(kWeightScale), by_row(kWeightZero));
  }

  // [D, B, H], or null for zeros.
  Value* initial(size_t k) {
    Value* state = operand(node_, k);
    if (!state) return nullptr;
    if (batch_first(node_)) state = b_.transpose(state, 0, 1);
    return b_.slice(state, 0, first_, first_ + count_);
  }

  // A scale or zero point: [1], or of each row of the weights.
  Value* by_row(size_t k) {
    Value* x = part(k);
    return x && x->rank() == 2 ? b_.reshape(x, {gates_}) : x;
  }

  // x times the input's weights, with the biases: [T, B, D * gates * H].
  Value* projection() {
    Value* added = input_bias_;
    if (added && !keeps_bias(node_, spec_)) added = b_.add(added, recurrent_bias_);
    if (added) added = b_.reshape(added, {count_ * gates_});
    if (spec_.quantized) {
      Value* product =
          integer_product(b_, quantize_by_range(b_, x_), input_weights(), /*as_sums=*/false);
      return added ? b_.add(product, added) : product;
    }
    std::vector<Value*> inputs = {x_, b_.reshape(part(kWeight), {count_ * gates_, x_->shape()[2]})};
    if (added) inputs.push_back(added);
    return b_.op("linear", inputs);
  }

  Builder& b_;
  const Node& node_;
  const RecurrentOp& spec_;
  Value* x_;
  int64_t first_, count_, gates_;
  Value *input_bias_ = nullptr, *recurrent_bias_ = nullptr;
};

std::vector<Value*> compose(Builder& b, const Node& node, const RecurrentOp& spec) {
  const bool batched = batch_first(node);
  Value* x = operand(node, kInputs);
  if (batched) x = b.transpose(x, 0, 1);
  const int64_t all = directions(node);
  const int64_t count = all == 2 && !spec.quantized && alike(node, spec) ? 2 : 1;
  std::vector<std::vector<Value*>> sides;  // of out, h, c
  for (int64_t d = 0; d < all; d += count) {
    const std::vector<Value*> group = Group(b, node, spec, x, d, count).build();
    sides.resize(group.size());
    for (size_t k = 0; k < group.size(); ++k) sides[k].push_back(group[k]);
  }
  std::vector<Value*> results;
  for (size_t k = 0; k < sides.size(); ++k) {
    const int64_t dim = k == 0 ? 1 : 0;
    Value* result = sides[k].size() == 1 ? sides[k][0] : b.op("cat", sides[k], {{"dim", dim}});
    if (batched) result = k == 0 ? b.permute(result, {2, 0, 1, 3}) : b.transpose(result, 0, 1);
    results.push_back(result);
  }
  return results;
}

}  // namespace

OpDef recurrent_op(RecurrentOp spec) {
  OpDef op;
  op.name = spec.name;
  op.kind = OpKind::composite;
  op.operands = {"x", "weight_ih", "weight_hh", "bias?", "sequence_lens?", "h0?"};
  op.results = {"out", "h"};
  if (spec.has_cell) {
    op.operands.insert(op.operands.end(), {"c0?", "peepholes?"});
    op.results.push_back("c");
  }
  if (spec.quantized)
    op.operands.insert(op.operands.end(), {"weight_ih_scale?", "weight_ih_zero_point?",
                                           "weight_hh_scale?", "weight_hh_zero_point?"});
  op.attrs = {{"direction",
               AttrType::text,
               std::string("forward"),
               {"forward", "reverse", "bidirectional"}},
              {"activations", AttrType::text, std::string()},  // names, separated by spaces
              {"activation_alpha", AttrType::numbers, std::vector<double>{}},
              {"activation_beta", AttrType::numbers, std::vector<double>{}},
              {"clip", AttrType::number, 0.0},  // of what activations get; 0: none
              {"layout", AttrType::integer, int64_t{0}}};
  op.attrs.insert(op.attrs.end(), spec.attrs.begin(), spec.attrs.end());
  op.doc = spec.doc;
  op.infer = [spec](const InferContext& context) {
    const int64_t layout = context.node.attr<int64_t>("layout");
    context.require(layout == 0 || layout == 1, str("layout must be 0 or 1, not ", layout));
    return infer(context, spec);
  };
  op.compose = [spec](Builder& b, const Node& node) { return compose(b, node, spec); };
  return op;
}

}  // namespace tcc::ir::ops
