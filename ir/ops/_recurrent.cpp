#include "ir/ops/_recurrent.h"

#include <algorithm>
#include <span>

#include "ir/ops/_attributes.h"
#include "ir/ops/_norm.h"
#include "ir/ops/_operands.h"
#include "ir/ops/_recurrent_activations.h"
#include "support/error.h"

namespace tcc::ir::ops {
namespace {

constexpr int64_t kMostSteps = 4096;  // each is nodes of its own
constexpr size_t kJoined = 8;         // operands of one cat, whose elements look at all of them

enum Operand : size_t { kX, kWeight, kRecurrent, kBias, kLengths, kHidden, kCell, kPeepholes };

bool batch_first(const Node& node) { return node.attr<int64_t>("layout") == 1; }
const std::string& direction(const Node& node) { return node.attr<std::string>("direction"); }
int64_t directions(const Node& node) { return direction(node) == "bidirectional" ? 2 : 1; }

Value* operand(const Node& node, size_t k) {
  return k < node.inputs.size() ? node.inputs[k] : nullptr;
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

// ---- shape rule

int64_t const_extent(const InferContext& context, const SymInt& extent, std::string_view what) {
  context.require(extent.is_const() && extent.value() >= 1 && extent.value() < (int64_t{1} << 28),
                  str(what, " must be a positive number, not ", extent));
  return extent.value();
}

std::vector<Type> infer(const InferContext& context, const RecurrentOp& spec) {
  const Type& x = *context.inputs[kX];
  for (const size_t k : {kX, kWeight, kRecurrent}) {
    require_float(context, k);
    context.require(context.inputs[k]->dtype == x.dtype && context.inputs[k]->shape.size() == 3,
                    "x, weight_ih and weight_hh must have one dtype and three dims each");
  }
  const Node& node = context.node;
  const bool batched = batch_first(node);
  const SymInt &steps = x.shape[batched ? 1 : 0], &batch = x.shape[batched ? 0 : 1];
  const int64_t count = const_extent(context, steps, "the number of steps");
  context.require(count <= kMostSteps,
                  str("a sequence of ", count,
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
  const size_t given = names_of(node, spec).size();
  context.require(given == spec.activations.size() * static_cast<size_t>(directions(node)),
                  str("activations must name ", spec.activations.size(),
                      " functions for each direction, not ", given, " in all"));
  activations_of(node, spec, [&](const std::string& reason) { context.fail(reason); });
  context.require(number_attr(node, "clip") >= 0, "clip must not be negative");
  const Shape out = batched ? Shape{batch, steps, d, h} : Shape{steps, d, batch, h};
  std::vector<Type> types = {{x.dtype, checked_shape(context, out)}, {x.dtype, state}};
  if (spec.has_cell) types.push_back({x.dtype, state});
  return types;
}

// ---- composition

// Entry `d` of the leading dim.
Value* entry(Builder& b, Value* x, int64_t d) {
  return x ? b.op("select", {x}, {{"dim", int64_t{0}}, {"index", ints({d})}}) : nullptr;
}

Value* joined(Builder& b, std::vector<Value*> parts) {
  while (parts.size() > 1) {
    std::vector<Value*> longer;
    for (size_t k = 0; k < parts.size(); k += kJoined) {
      const auto from = parts.begin() + static_cast<std::ptrdiff_t>(k);
      const std::vector<Value*> piece(
          from, from + static_cast<std::ptrdiff_t>(std::min(kJoined, parts.size() - k)));
      longer.push_back(piece.size() == 1 ? piece[0] : b.op("cat", piece, {{"dim", int64_t{0}}}));
    }
    parts = std::move(longer);
  }
  return parts[0];
}

// The two halves of a bias row: the input's and the recurrent one.
struct Biases {
  Value *input = nullptr, *recurrent = nullptr;
};
Biases biases(Builder& b, Value* bias, const SymInt& gates) {
  if (!bias) return {};
  return {b.slice(bias, 0, 0, gates), b.slice(bias, 0, gates, 2 * gates)};
}

class Layer {
 public:
  Layer(Builder& b, const Node& node, const RecurrentOp& spec)
      : b_(b), node_(node), spec_(spec), batched_(batch_first(node)) {
    x_ = operand(node, kX);
    if (batched_) x_ = b.transpose(x_, 0, 1);
    steps_ = x_->shape()[0].value();
    batch_ = x_->shape()[1];
    hidden_ = operand(node, kRecurrent)->shape()[2].value();
  }

  std::vector<Value*> build() {
    std::vector<std::vector<Value*>> outputs;  // by direction: out, h, c
    for (int64_t d = 0; d < directions(node_); ++d) outputs.push_back(build_direction(d));
    std::vector<Value*> results;
    for (size_t k = 0; k < outputs[0].size(); ++k) {
      std::vector<Value*> sides;
      const int64_t dim = k == 0 ? 1 : 0;  // [T, B, H] to [T, D, B, H], [B, H] to [D, B, H]
      for (const auto& side : outputs) sides.push_back(b_.unsqueeze(side[k], dim));
      Value* result = sides.size() == 1 ? sides[0] : b_.op("cat", sides, {{"dim", dim}});
      if (batched_) result = k == 0 ? b_.permute(result, {2, 0, 1, 3}) : b_.transpose(result, 0, 1);
      results.push_back(result);
    }
    return results;
  }

 private:
  RecurrentCell cell(int64_t d, const Biases& bias) {
    RecurrentCell cell;
    cell.hidden = hidden_;
    cell.dtype = x_->dtype();
    cell.state = compute_dtype(cell.dtype);
    cell.weight_hh = entry(b_, operand(node_, kRecurrent), d);
    cell.bias_hh = keeps_bias() ? wide(bias.recurrent) : nullptr;
    cell.peepholes = spec_.has_cell ? wide(entry(b_, operand(node_, kPeepholes), d)) : nullptr;
    cell.clip = number_attr(node_, "clip");
    const auto all = activations_of(node_, spec_,
                                    [](const std::string& reason) { throw InternalError(reason); });
    const auto first = all.begin() + d * static_cast<std::ptrdiff_t>(spec_.activations.size());
    cell.activations = {first, first + static_cast<std::ptrdiff_t>(spec_.activations.size())};
    return cell;
  }

  bool keeps_bias() const { return spec_.keeps_bias && spec_.keeps_bias(node_); }
  Value* wide(Value* x) { return x ? b_.compute(x) : nullptr; }

  Value* initial(size_t k, int64_t d) {
    Value* state = operand(node_, k);
    if (!state) return b_.splat(compute_dtype(x_->dtype()), {batch_, SymInt(hidden_)}, 0);
    if (batched_) state = b_.transpose(state, 0, 1);
    return wide(entry(b_, state, d));
  }

  // x times the input's weights, with the biases: [T, B, gates * H].
  Value* projection(int64_t d, const Biases& bias) {
    std::vector<Value*> inputs = {x_, entry(b_, operand(node_, kWeight), d)};
    Value* added = bias.input;
    if (added && !keeps_bias()) added = b_.add(added, bias.recurrent);
    if (added) inputs.push_back(added);
    return wide(b_.op("linear", inputs));
  }

  std::vector<Value*> build_direction(int64_t d) {
    const SymInt gates = spec_.gates * hidden_;
    const Biases bias = biases(b_, entry(b_, operand(node_, kBias), d), gates);
    const RecurrentCell step = cell(d, bias);
    Value* projected = projection(d, bias);
    RecurrentState state = {initial(kHidden, d)};
    if (spec_.has_cell) state.push_back(initial(kCell, d));
    const bool backwards = direction(node_) == "reverse" || d == 1;
    std::vector<Value*> out(static_cast<size_t>(steps_));
    for (int64_t k = 0; k < steps_; ++k) {
      const int64_t t = backwards ? steps_ - 1 - k : k;
      const RecurrentState next = spec_.step(b_, node_, step, entry(b_, projected, t), state);
      out[static_cast<size_t>(t)] = advance(state, next, t);
    }
    std::vector<Value*> results = {joined(b_, std::move(out))};
    for (Value* last : state) results.push_back(b_.cast(last, x_->dtype()));
    return results;
  }

  // Behind the end of its sequence, a state stays and the output is 0. Gives the output [1, B, H].
  Value* advance(RecurrentState& state, const RecurrentState& next, int64_t t) {
    Value* out = next[0];
    Value* lengths = operand(node_, kLengths);
    if (!lengths) {
      state = next;
    } else {
      Value* runs = b_.op(
          "gt", {b_.unsqueeze(lengths, 1), b_.scalar(lengths->dtype(), static_cast<double>(t))});
      out = b_.op("where", {runs, out, b_.scalar(out->dtype(), 0)});
      for (size_t k = 0; k < state.size(); ++k)
        state[k] = b_.op("where", {runs, next[k], state[k]});
    }
    return b_.unsqueeze(b_.cast(out, x_->dtype()), 0);
  }

  Builder& b_;
  const Node& node_;
  const RecurrentOp& spec_;
  bool batched_;
  Value* x_;
  int64_t steps_, hidden_;
  SymInt batch_;
};

}  // namespace

Value* RecurrentCell::gate(Builder& b, Value* gates, int64_t gate, int64_t count) const {
  return b.slice(gates, gates->rank() - 1, gate * hidden, (gate + count) * hidden);
}

Value* RecurrentCell::recurrent(Builder& b, Value* h, int64_t gate, int64_t count) const {
  Value* weight = weight_hh;
  if (!(weight->shape()[0] == SymInt(count * hidden)))
    weight = b.slice(weight, 0, gate * hidden, (gate + count) * hidden);
  return b.cast(b.op("linear", {b.cast(h, dtype), weight}), state);
}

Value* RecurrentCell::activate(Builder& b, size_t k, Value* x) const {
  if (clip > 0) x = b.op("clamp", {x}, {{"min", -clip}, {"max", clip}});
  return activations[k](b, x);
}

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
  op.compose = [spec](Builder& b, const Node& node) { return Layer(b, node, spec).build(); };
  return op;
}

}  // namespace tcc::ir::ops
