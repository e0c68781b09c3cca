// The importer's dims whose sizes runs count (ir/counted_dims.h).
#include <algorithm>

#include "frontend/onnx/importer.h"
#include "ir/counted_dims.h"
#include "ir/reference/interpreter.h"
#include "ir/size_range.h"

namespace tcc::onnx {
namespace {

// Elements of operands whose results are counted here: of a node, and of all together.
constexpr int64_t kMaxKnownElements = int64_t{1} << 14, kMaxAllKnown = int64_t{1} << 17;
constexpr int64_t kNodeWork = 128;  // what any node takes, in elements

// Calls visit(name) for each dim in the value's shape, and for a result in its node's attributes.
template <class Visit>
void visit_dims(const Value& value, Visit visit) {
  const auto enter = [&](std::span<const SymInt> sizes) {
    for (const SymInt& size : sizes)
      size.visit_atoms([&](const ir::AtomPtr& atom) {
        if (atom->kind == ir::Atom::Kind::symbol) visit(atom->name);
      });
  };
  enter(value.shape());
  if (!value.producer) return;
  for (const auto& [name, attr] : value.producer->attrs)
    if (const auto* sizes = std::get_if<std::vector<SymInt>>(&attr)) enter(*sizes);
}

}  // namespace

std::vector<std::string> Importer::counts_of(const Value* value) const {
  std::set<std::string> names;
  std::vector<const Value*> stack = {value};
  std::set<const Value*> seen = {value};
  while (!counted_.empty() && !stack.empty()) {
    const Value* next = stack.back();
    stack.pop_back();
    visit_dims(*next, [&](const std::string& name) {
      if (counted_.contains(name)) names.insert(name);
    });
    if (!next->producer) continue;
    for (const Value* input : next->producer->inputs)
      if (input && seen.insert(input).second) stack.push_back(input);
  }
  return {names.begin(), names.end()};
}

std::vector<Value*> Importer::count_known(ir::Builder& b, const ir::OpDef& op,
                                          const std::vector<Value*>& inputs,
                                          const ir::Attrs& attrs) {
  int64_t elements = kNodeWork;
  for (const Value* input : inputs) {
    const SymInt count = input ? ir::product(input->shape()) : SymInt(0);
    if (!count.is_const() || count.value() > kMaxKnownElements) return {};
    elements += count.value();
  }
  if (known_counts_ + elements > kMaxAllKnown) return {};
  ir::Graph graph;
  std::vector<Value*> operands;
  for (const Value* input : inputs) {
    const TensorPtr data = known_.tensor(input);
    if (input && !data) return {};
    operands.push_back(input ? graph.add_constant("", input->type, ir::make_constant(data))
                             : nullptr);
  }
  known_counts_ += elements;
  ir::Attrs all = attrs;
  all["size"] = ir::shape_attr({SymInt::symbol("N")});
  graph.dims["N"] = 0;
  const ir::Node* node = graph.add_node(op, operands, all, b.location());
  graph.outputs = node->outputs;
  graph.output_names.resize(graph.outputs.size());
  std::vector<Value*> results;
  for (const ir::RefTensor& result : ir::interpret(graph, {}, ir::RefMode::stepwise)) {
    auto tensor = std::make_shared<const Tensor>(ir::to_tensor(result));
    const ir::Type type{tensor->dtype(), {tensor->shape().begin(), tensor->shape().end()}};
    results.push_back(graph_.add_constant("", type, ir::make_constant(tensor)));
    results.back()->location = b.location();
  }
  return results;
}

std::vector<Value*> Importer::count(ir::Builder& b, const ir::OpDef& op,
                                    const std::vector<Value*>& inputs, ir::Attrs attrs,
                                    const std::string& result) {
  std::vector<CountedResults>& of_inputs = counted_results_[{&op, inputs}];
  for (const CountedResults& made : of_inputs)
    if (made.attrs == attrs) return made.results;
  CountedResults made{attrs, count_known(b, op, inputs, attrs)};
  if (made.results.empty()) {
    ir::Node node;
    node.op = &op;
    node.location = b.location();
    node.inputs = inputs;
    node.attrs = attrs;
    node.attrs["size"] = ir::shape_attr({0});
    ir::complete_attrs(op, node.attrs);
    ir::infer_types(node);  // refuses what the op does not take
    const std::string name = new_dim_name(result + "_count");
    graph_.dims[name] = 0;
    counted_[name] = b.location().layers ? b.location().layers->front() : name;
    const int64_t most = std::max<int64_t>(op.most_counted(node).range().hi, 0);
    attrs["size"] = ir::shape_attr({ir::bounded_symbol(name, {0, most}, 0)});
    made.results = b.ops(op.name, inputs, attrs);
  }
  return of_inputs.emplace_back(std::move(made)).results;
}

void Importer::drop_unused_counts() {
  std::set<const Value*> live(graph_.outputs.begin(), graph_.outputs.end());
  std::set<std::string> used_dims;
  std::set<const ir::Node*> unused;
  for (size_t k = graph_.nodes().size(); k-- > 0;) {
    const ir::Node* node = graph_.nodes()[k].get();
    const auto counted = ir::counted_dim(*node);
    const bool counts = counted && used_dims.contains(counted->name);
    if (!counts && std::ranges::none_of(node->outputs, [&](auto* v) { return live.contains(v); })) {
      if (counted) unused.insert(node);
      continue;
    }
    live.insert(node->inputs.begin(), node->inputs.end());
    for (const Value* output : node->outputs)
      visit_dims(*output, [&](const std::string& name) { used_dims.insert(name); });
  }
  for (const ir::Node* node : unused) graph_.dims.erase(ir::counted_dim(*node)->name);
  std::erase_if(graph_.nodes(), [&](const auto& node) { return unused.contains(node.get()); });
  graph_.remove_dead();
}

}  // namespace tcc::onnx
