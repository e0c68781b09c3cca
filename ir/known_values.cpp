#include "ir/known_values.h"

#include <algorithm>
#include <set>

#include "ir/op.h"
#include "ir/reference/composition.h"
#include "ir/reference/interpreter.h"
#include "support/error.h"

namespace tcc::ir {
namespace {

constexpr int64_t kMaxElements = 4096;             // of a value that may hold symbols
constexpr int64_t kMaxFloats = 64;                 // of an operand of a composition of floats
constexpr int64_t kMaxTensor = int64_t{1} << 22;   // elements of a tensor that is computed here
constexpr int64_t kMaxProductWork = int64_t{1}
                                    << 26;         // elements of a product's result times operand's
constexpr int64_t kNodeWork = 128;                 // what any op takes, in elements
constexpr int kMaxNesting = 8;                     // of compositions

using Elements = std::optional<std::vector<Ratio>>;

std::optional<std::vector<int64_t>> numbers(std::span<const SymInt> shape) {
  if (!std::ranges::all_of(shape, &SymInt::is_const)) return std::nullopt;
  return const_shape(shape);
}

std::optional<int64_t> numel(const Value& value) {
  const auto shape = numbers(value.shape());
  const auto bytes = shape ? tensor_bytes(value.dtype(), *shape) : std::nullopt;
  return bytes ? std::optional(*bytes / size_bytes(value.dtype())) : std::nullopt;
}

std::optional<int64_t> small_numel(const Value& value) {
  const auto count = numel(value);
  return count && *count <= kMaxElements ? count : std::nullopt;
}

bool holds_integers(const Value& value) { return !is_float(value.dtype()); }

// ---- loop expressions on known elements

std::optional<Ratio> evaluate(const Expr& e);

std::optional<Ratio> integer_call(Fn fn, const SymInt& a, const SymInt& b) {
  const bool divides = b.range().lo > 0;
  switch (fn) {
    case Fn::floordiv: return divides ? std::optional<Ratio>(floordiv(a, b)) : std::nullopt;
    case Fn::remainder: return divides ? std::optional<Ratio>(mod(a, b)) : std::nullopt;
    // Rounds towards zero, which is the same for what is not negative.
    case Fn::div:
      return divides && a.range().lo >= 0 ? std::optional<Ratio>(floordiv(a, b)) : std::nullopt;
    case Fn::fmod:
      return divides && a.range().lo >= 0 ? std::optional<Ratio>(mod(a, b)) : std::nullopt;
    default: return std::nullopt;
  }
}

std::optional<Ratio> arithmetic(const ExprNode& e, const Ratio& a, const Ratio& b) {
  switch (e.fn) {
    case Fn::add: return ratio_sum(a, b);
    case Fn::sub: return ratio_sum(a, {-b.numerator, b.denominator});
    case Fn::mul: return ratio_product(a, b);
    case Fn::minimum: return ratio_min(a, b);
    case Fn::maximum: return ratio_max(a, b);
    default: break;
  }
  if (e.fn == Fn::div && is_float(e.dtype)) return ratio_quotient(a, b);
  if (is_float(e.dtype) || !a.is_whole() || !b.is_whole()) return std::nullopt;
  return integer_call(e.fn, a.numerator, b.numerator);
}

std::optional<Ratio> unary_call(Fn fn, const Ratio& x) {
  switch (fn) {
    case Fn::neg: return Ratio{-x.numerator, x.denominator};
    case Fn::abs: return x.numerator.range().lo >= 0 ? std::optional(x) : std::nullopt;
    case Fn::floor: return Ratio{floordiv(x.numerator, x.denominator)};
    case Fn::ceil: return Ratio{ceildiv(x.numerator, x.denominator)};
    case Fn::round: return x.is_whole() ? std::optional(x) : std::nullopt;
    case Fn::trunc: return truncated(x);
    case Fn::logical_not:
      return x.numerator.is_const() ? std::optional<Ratio>(x.numerator.is(0) ? 1 : 0)
                                    : std::nullopt;
    default: return std::nullopt;
  }
}

std::optional<Ratio> evaluate_call(const ExprNode& e) {
  if (e.fn == Fn::select) {
    const auto condition = evaluate(e.args[0]);
    if (!condition || !condition->numerator.is_const()) return std::nullopt;
    return evaluate(e.args[condition->numerator.is(0) ? 2 : 1]);
  }
  std::vector<Ratio> args;
  for (const Expr& arg : e.args) {
    const auto value = evaluate(arg);
    if (!value) return std::nullopt;
    args.push_back(*value);
  }
  if (args.size() == 1) return unary_call(e.fn, args[0]);
  if (args.size() != 2) return std::nullopt;
  if (info(e.fn).to_bool) {
    const auto truth = ratio_compare(e.fn, args[0], args[1]);
    return truth ? std::optional<Ratio>(*truth ? 1 : 0) : std::nullopt;
  }
  if (e.fn == Fn::logical_and || e.fn == Fn::logical_or) {
    const SymInt &a = args[0].numerator, &b = args[1].numerator;
    if (!a.is_const() || !b.is_const()) return std::nullopt;
    const bool truth = e.fn == Fn::logical_and ? !a.is(0) && !b.is(0) : !a.is(0) || !b.is(0);
    return Ratio{truth ? 1 : 0};
  }
  return arithmetic(e, args[0], args[1]);
}

// Numbers that do not fit wrap around, which is left to the interpreter. A dim is taken to fit into
// 32 bits, and what floats compute of dims to be exact.
std::optional<Ratio> converted(const std::optional<Ratio>& x, DType to) {
  if (!x || to == DType::boolean) return std::nullopt;
  if (to == DType::f32 || to == DType::f64) return x;
  if (is_float(to)) return std::nullopt;
  const auto whole = truncated(*x);
  if (!whole || size_bytes(to) == 8) return whole;
  const SymInt& number = whole->numerator;
  const Interval range = number.range();
  const int bits = static_cast<int>(8 * size_bytes(to));
  if (!number.is_const() && bits == 32) return whole;
  const int64_t least = info(to).is_signed ? -(int64_t{1} << (bits - 1)) : 0;
  const int64_t most = (int64_t{1} << (info(to).is_signed ? bits - 1 : bits)) - 1;
  return range.lo >= least && range.hi <= most ? whole : std::nullopt;
}

std::optional<Ratio> evaluate(const Expr& e) {
  if (!e) return std::nullopt;
  switch (e->kind) {
    case ExprNode::Kind::constant:
      return is_float(e->dtype) ? ratio_of(e->number) : std::optional<Ratio>(SymInt(e->integer));
    case ExprNode::Kind::index: return Ratio{e->index};
    case ExprNode::Kind::cast: return converted(evaluate(e->args[0]), e->dtype);
    case ExprNode::Kind::call: return evaluate_call(*e);
    default: return std::nullopt;
  }
}

// The expression that evaluate() gives back as x.
Expr expression(const Ratio& x, DType dtype) {
  if (!is_float(dtype)) {
    if (x.numerator.is_const()) return constant_int(dtype, x.numerator.value());
    return dtype == DType::i64 ? index_value(x.numerator) : cast(index_value(x.numerator), dtype);
  }
  Expr number = cast(index_value(x.numerator), dtype);
  if (x.numerator.is_const()) number = constant(dtype, static_cast<double>(x.numerator.value()));
  return x.is_whole() ? number : div(number, constant(dtype, static_cast<double>(x.denominator)));
}

void step(std::vector<SymInt>& index, std::span<const int64_t> shape) {
  for (size_t d = shape.size(); d-- > 0;) {
    const int64_t next = index[d].value() + 1;
    index[d] = next < shape[d] ? next : 0;
    if (next < shape[d]) return;
  }
}

}  // namespace

// An operand whose elements are known, as an element function reads them.
class KnownOperands : public ElementContext {
 public:
  KnownOperands(const Node& node, KnownValues& known) : node_(node), known_(known) {}
  const Node& node() const override { return node_; }

  Expr operand(int k, std::span<const SymInt> index) override {
    const Value& value = *node_.inputs[static_cast<size_t>(k)];
    const DType dtype = compute_dtype(value.dtype());
    const KnownValues::Elements& elements = known_.find_elements(&value);
    const SymInt offset = linearize(index, value.shape());
    if (!elements || !offset.is_const() || offset.value() < 0 ||
        offset.value() >= static_cast<int64_t>(elements->size())) {
      complete_ = false;
      return is_float(dtype) ? constant(dtype, 0) : constant_int(dtype, 0);
    }
    return expression((*elements)[static_cast<size_t>(offset.value())], dtype);
  }

  SymInt new_axis(const SymInt&) override {
    complete_ = false;
    return 0;
  }

  SymInt indirect(const Expr& value, const SymInt& extent) override {
    const auto index = evaluate(value);
    if (!index || !index->is_whole() || !index->numerator.is_const() || !extent.is_const()) {
      complete_ = false;
      return 0;
    }
    const int64_t number = index->numerator.value();
    const int64_t at = number < 0 ? number + extent.value() : number;
    return std::clamp<int64_t>(at, 0, std::max<int64_t>(0, extent.value() - 1));
  }

  // Every value that was read was known.
  bool complete() const { return complete_; }

 private:
  const Node& node_;
  KnownValues& known_;
  bool complete_ = true;
};

void KnownValues::set(const Value* value, std::vector<Ratio> elements) {
  elements_[value] = std::move(elements);
}

void KnownValues::forget_unknown() {
  std::erase_if(elements_, [](const auto& entry) { return !entry.second; });
  std::erase_if(tensors_, [](const auto& entry) { return !entry.second; });
}

bool KnownValues::spend(int64_t& budget, int64_t work) {
  if (work > budget) return false;
  budget -= work;
  return true;
}

std::optional<std::vector<SymInt>> KnownValues::integers(const Value* value) {
  return value && holds_integers(*value) ? whole_numbers(value) : std::nullopt;
}

std::optional<std::vector<SymInt>> KnownValues::whole_numbers(const Value* value) {
  const Elements& elements = find_elements(value);
  if (!elements || !std::ranges::all_of(*elements, &Ratio::is_whole)) return std::nullopt;
  std::vector<SymInt> numbers;
  for (const Ratio& element : *elements) numbers.push_back(element.numerator);
  return numbers;
}

const Elements& KnownValues::find_elements(const Value* value) {
  static const Elements unknown;
  std::vector<const Value*> stack = {value};
  std::set<const Value*> entered;
  while (!stack.empty()) {
    const Value* top = stack.back();
    const bool first = !elements_.contains(top) && entered.insert(top).second;
    if (first && small_numel(*top) && top->producer) {
      for (const Value* operand : top->producer->inputs)
        if (operand && !elements_.contains(operand)) stack.push_back(operand);
    }
    if (stack.back() != top) continue;
    stack.pop_back();
    if (!elements_.contains(top)) {
      Elements found = evaluate(top);  // which may look up other values
      elements_[top] = std::move(found);
    }
  }
  const auto found = elements_.find(value);
  return found == elements_.end() ? unknown : found->second;
}

Elements KnownValues::evaluate(const Value* value) {
  if (!small_numel(*value)) return std::nullopt;
  if (!spend(symbolic_work_, std::max<int64_t>(1, *small_numel(*value)))) return std::nullopt;
  if (const TensorPtr known = tensor(value)) {
    std::vector<Ratio> elements;
    for (int64_t k = 0; k < known->numel(); ++k) {
      const auto element = holds_integers(*value) ? std::optional<Ratio>(SymInt(known->get_int(k)))
                                                  : ratio_of(known->get(k));
      if (!element) return std::nullopt;
      elements.push_back(*element);
    }
    return elements;
  }
  if (value->kind != Value::Kind::result) return std::nullopt;
  const Node& node = *value->producer;
  if (node.op->compose && !node.op->element) return composed(node, value->output_index);
  if (node.op->element) return elements_of(node);
  return node.op->kind == OpKind::reduce ? reduced(node) : std::nullopt;
}

Elements KnownValues::elements_of(const Node& node) {
  const Value& out = *node.outputs[0];
  const int64_t count = *small_numel(out);
  const std::vector<int64_t> shape = const_shape(out);
  std::vector<Ratio> elements;
  std::vector<SymInt> index(shape.size(), 0);
  KnownOperands operands(node, *this);
  if (!spend(symbolic_work_, count * static_cast<int64_t>(node.inputs.size()))) return std::nullopt;
  for (int64_t k = 0; k < count; ++k, step(index, shape)) {
    const auto element = ir::evaluate(node.op->element(operands, index));
    if (!element || !operands.complete()) return std::nullopt;
    elements.push_back(*element);
  }
  return elements;
}

Elements KnownValues::reduced(const Node& node) {
  const Elements x = find_elements(node.inputs[0]);
  const Value &in = *node.inputs[0], &out = *node.outputs[0];
  // Only whole tensors are reduced: the number of elements of a shape is such a product.
  if (!x || *small_numel(out) != 1) return std::nullopt;
  const ReduceKind kind = *node.op->reduction;
  if (x->empty())
    return holds_integers(in) ? Elements{{Ratio{SymInt(identity_int(kind, in.dtype()))}}}
                              : std::nullopt;
  std::optional<Ratio> total = (*x)[0];
  for (size_t k = 1; k < x->size() && total; ++k) {
    const Ratio& element = (*x)[k];
    if (kind == ReduceKind::sum)
      total = ratio_sum(*total, element);
    else if (kind == ReduceKind::prod)
      total = ratio_product(*total, element);
    else if (kind == ReduceKind::max)
      total = ratio_max(*total, element);
    else if (kind == ReduceKind::min)
      total = ratio_min(*total, element);
    else
      return std::nullopt;
  }
  if (!total) return std::nullopt;
  return std::vector<Ratio>{*total};
}

Elements KnownValues::composed(const Node& node, int output) {
  if (nesting_ >= kMaxNesting) return std::nullopt;
  // A shape is short, and a composition of floats may be a network.
  if (!holds_integers(*node.outputs[static_cast<size_t>(output)]))
    for (const Value* input : node.inputs)
      if (input && small_numel(*input).value_or(kMaxElements) > kMaxFloats) return std::nullopt;
  for (const Value* input : node.inputs)
    if (input && !small_numel(*input)) return std::nullopt;
  const Graph graph = composition_graph(node);
  KnownValues inside;
  inside.nesting_ = nesting_ + 1;
  inside.symbolic_work_ = symbolic_work_;
  inside.tensor_work_ = tensor_work_;
  size_t k = 0;
  for (const Value* input : node.inputs) {
    if (!input) continue;
    if (const Elements elements = find_elements(input)) inside.set(graph.inputs[k], *elements);
    ++k;
  }
  Elements result = inside.find_elements(graph.outputs[static_cast<size_t>(output)]);
  symbolic_work_ = inside.symbolic_work_;
  tensor_work_ = inside.tensor_work_;
  return result;
}

TensorPtr KnownValues::tensor(const Value* value) { return value ? find_tensor(value) : nullptr; }

TensorPtr KnownValues::find_tensor(const Value* value) {
  // Each entry is a value, and how many of its operands are known already.
  std::vector<std::pair<const Value*, size_t>> stack = {{value, 0}};
  const auto is_unknown = [&](const Value* x) {
    if (x->is_constant()) return x->is_mutable;
    const auto found = tensors_.find(x);
    return x->kind != Value::Kind::result || (found != tensors_.end() && !found->second);
  };
  while (!stack.empty()) {
    auto& [top, done] = stack.back();
    if (top->kind != Value::Kind::result || tensors_.contains(top)) {
      stack.pop_back();
      continue;
    }
    const std::vector<Value*>& operands = top->producer->inputs;
    if (done > 0 && operands[done - 1] && is_unknown(operands[done - 1])) {
      tensors_[top] = nullptr;
      stack.pop_back();
    } else if (done < operands.size()) {
      const Value* operand = operands[done++];
      if (operand) stack.emplace_back(operand, 0);
    } else {
      const Value* ready = top;
      tensors_[ready] = interpreted(ready);
      stack.pop_back();
    }
  }
  if (value->is_constant()) return value->is_mutable ? nullptr : value->data->load();
  const auto found = tensors_.find(value);
  return found == tensors_.end() ? nullptr : found->second;
}

// The operands of its producer are known.
TensorPtr KnownValues::interpreted(const Value* value) {
  const Node& node = *value->producer;
  if (!(node.op->reference || node.op->compose)) return nullptr;
  for (const auto& [key, attr] : node.attrs)
    if (const auto* list = std::get_if<std::vector<SymInt>>(&attr); list && !numbers(*list))
      return nullptr;
  int64_t largest = 1, results = 0;
  for (const Value* input : node.inputs) {
    const auto count = input ? numel(*input) : 0;
    if (!count) return nullptr;
    largest = std::max(largest, *count);
  }
  for (const Value* output : node.outputs) {
    const auto count = numel(*output);
    if (!count) return nullptr;
    results = std::max(results, *count);
  }
  if (largest > kMaxTensor || results > kMaxTensor) return nullptr;
  const bool linear = node.op->kind != OpKind::contraction && !node.op->compose;
  if (!linear && largest * results > kMaxProductWork) return nullptr;
  const int64_t work = linear ? 0 : largest * results / 4;
  if (!spend(tensor_work_, std::max({largest, results, work, kNodeWork}))) return nullptr;
  Graph graph;
  std::vector<Value*> operands;
  for (const Value* input : node.inputs) {
    const TensorPtr data = input ? find_tensor(input) : nullptr;
    if (input && !data) return nullptr;
    operands.push_back(input ? graph.add_constant("", input->type, make_constant(data)) : nullptr);
  }
  const Node* copy = graph.add_node(*node.op, operands, node.attrs, node.location);
  graph.outputs = {copy->outputs[static_cast<size_t>(value->output_index)]};
  graph.output_names = {"out"};
  return std::make_shared<const Tensor>(to_tensor(interpret(graph, {}, RefMode::stepwise)[0]));
}

std::vector<const Value*> KnownValues::inputs_of(const Value* value) {
  std::vector<const Value*> found, stack = {value};
  std::set<const Value*> seen = {value};
  while (!stack.empty()) {
    const Value* next = stack.back();
    stack.pop_back();
    if (next->is_given()) found.push_back(next);
    if (next->kind != Value::Kind::result) continue;
    for (const Value* input : next->producer->inputs)
      if (input && seen.insert(input).second) stack.push_back(input);
  }
  return found;
}

}  // namespace tcc::ir
