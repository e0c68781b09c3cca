// Finds folded constants whose elements are all equal.
#include <cmath>
#include <map>

#include "ir/expr.h"
#include "ir/op.h"
#include "ir/passes/folded_constant.h"
#include "ir/reference/interpreter.h"
#include "support/error.h"

namespace tcc::ir {
namespace {

// Shows an op's element function operands that are the same everywhere, and notes whether it cares
// for the place.
class SplatContext : public ElementContext {
 public:
  explicit SplatContext(const Node& node) : node_(node) {}
  const Node& node() const override { return node_; }
  Expr operand(int k, std::span<const SymInt>) override {
    const auto [entry, is_new] = operands_.try_emplace(k);
    if (is_new)
      entry->second = read(new_variable(str("x", k), compute_dtype(operand_type(k).dtype)));
    return entry->second;
  }
  SymInt new_axis(const SymInt& extent) override {
    loops_ = true;
    return SymInt::axis("loop", extent);
  }
  SymInt indirect(const Expr&, const SymInt&) override { return 0; }
  bool loops() const { return loops_; }

 private:
  const Node& node_;
  std::map<int, Expr> operands_;
  bool loops_ = false;
};

bool depends_on_index(const Node& node) {
  const Shape& shape = node.outputs[0]->shape();
  std::vector<SymInt> index;
  for (size_t d = 0; d < shape.size(); ++d) index.push_back(SymInt::axis(str("i", d), shape[d]));
  SplatContext context(node);
  const Expr element = node.op->element(context, index);
  bool depends = context.loops();
  visit(element, [&](const Expr& e) { depends |= e->kind == ExprNode::Kind::index; });
  return depends;
}

// The value of one element as f64; nothing for an integer that f64 cannot hold.
std::optional<double> element_of(const RefTensor& tensor) {
  if (tensor.is_float()) return tensor.f[0];
  constexpr int64_t kExact = int64_t{1} << 53;
  if (tensor.i[0] < -kExact || tensor.i[0] > kExact) return std::nullopt;
  if (tensor.dtype == DType::u64 && tensor.i[0] < 0) return std::nullopt;
  return static_cast<double>(tensor.i[0]);
}

RefTensor scalar_tensor(DType dtype, double value) {
  RefTensor tensor(dtype, {});
  if (tensor.is_float())
    tensor.f[0] = value;
  else
    tensor.i[0] = static_cast<int64_t>(value);
  return tensor;
}

// A folded node on its own: operands are inputs of the given shapes.
struct Alone {
  Graph graph;
  std::vector<RefTensor> inputs;  // scalars
  Node* node;
};

Alone stand_alone(const Folding& folding, bool as_scalars) {
  Alone alone;
  std::vector<Value*> operands;
  for (const Folding::Operand& operand : folding.operands) {
    if (!operand.data) {
      operands.push_back(nullptr);
      continue;
    }
    const DType dtype = operand.type.dtype;
    operands.push_back(
        alone.graph.add_input(operand.name, as_scalars ? Type{dtype, {}} : operand.type));
    alone.inputs.push_back(scalar_tensor(dtype, *ideal_splat(*operand.data)));
  }
  alone.node =
      alone.graph.add_node(*folding.op, std::move(operands), folding.attrs, folding.location);
  return alone;
}

// Gives what the op makes of scalars, if it takes them; what it makes of nothing has a shape of its
// own, and elements that are equal.
std::optional<double> of_scalars(const Folding& folding) {
  try {
    Alone alone = stand_alone(folding, true);
    if (alone.node->outputs[0]->rank() != 0 && !folding.operands.empty()) return std::nullopt;
    alone.graph.outputs = alone.node->outputs;
    return element_of(interpret(alone.graph, alone.inputs, RefMode::ideal).front());
  } catch (const Error&) {
    return std::nullopt;  // the op wants more than scalars
  }
}

bool fits_i64(double value) { return value >= -0x1p63 && value < 0x1p63; }

}  // namespace

std::optional<double> ideal_splat(const Folding& folding) {
  const OpDef& op = *folding.op;
  if (folding.results.size() != 1 || !op.element) return std::nullopt;
  for (const SymInt& dim : folding.results[0].shape)
    if (dim.is(0)) return std::nullopt;
  for (const Folding::Operand& operand : folding.operands) {
    if (!operand.data) continue;
    const auto splat = ideal_splat(*operand.data);
    if (!splat || (!is_float(operand.type.dtype) && !fits_i64(*splat))) return std::nullopt;
  }
  if (op.kind == OpKind::view) return ideal_splat(*folding.operands[0].data);
  if (op.kind != OpKind::pointwise) return std::nullopt;
  if (depends_on_index(*stand_alone(folding, false).node)) return std::nullopt;
  return of_scalars(folding);
}

}  // namespace tcc::ir
