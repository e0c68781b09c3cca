#include "ir/reference/interpreter.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "ir/bind_nodes.h"
#include "ir/counted_dims.h"
#include "ir/external.h"
#include "ir/reference/composition.h"
#include "ir/reference/noise.h"
#include "support/error.h"
#include "support/parallel.h"
#include "support/plural.h"

namespace tcc::ir {
namespace {

// One run shares this between the graph and the compositions inside it.
struct Session {
  RefMode mode;
  bool tf32 = false;
  uint64_t stream = 0;                                    // noise: the next tensor's
  std::unordered_map<std::string, bool> multiplies = {};  // by op
  std::unordered_map<std::string, std::unique_ptr<const Graph>> compositions = {};
  Numbers counted = {};  // sizes of counted dims, once they are known
};

using Tensors = std::vector<RefTensor>;
using TensorRefs = std::vector<const RefTensor*>;

Tensors evaluate_graph(Session& session, const Graph& graph, const TensorRefs& inputs, int nesting,
                       const InterpretOptions& options);

// The data of a constant or a state, its type checked against the graph's.
RefTensor load_data(const Value& value) {
  if (!value.data) return {value.dtype(), const_shape(value)};
  if (const auto splat = value.data->splat()) {
    RefTensor result(value.dtype(), const_shape(value));
    std::ranges::fill(result.f, *splat);
    if (!result.i.empty()) {
      // u64 is kept as its bits.
      const bool beyond_i64 = *splat >= 0x1p63;
      std::ranges::fill(result.i, beyond_i64 ? static_cast<int64_t>(static_cast<uint64_t>(*splat))
                                             : static_cast<int64_t>(*splat));
    }
    return result;
  }
  const TensorPtr tensor = value.data->load();
  if (tensor->dtype() != value.dtype() || tensor->shape() != const_shape(value))
    fail_input("weight '", value.name, "' is ", type_text(tensor->dtype(), tensor->shape()),
               " where the graph says ", to_string(value.type));
  return to_ref(*tensor);
}

Tensors allocate_outputs(const Node& node) {
  Tensors outputs;
  for (const Value* output : node.outputs)
    outputs.emplace_back(output->dtype(), const_shape(*output));
  return outputs;
}

// The node's composition, built on first use; it stays where it is while the map grows.
const Graph& composition_of(Session& session, const Node& node) {
  auto& graph = session.compositions[composition_key(node)];
  if (!graph) graph = std::make_unique<const Graph>(composition_graph(node));
  return *graph;
}

Tensors evaluate_composition(Session& session, const Node& node, const TensorRefs& inputs,
                             int nesting) {
  TCC_CHECK(nesting < kMaxCompositions, node.op_name(), " is composed of itself");
  TensorRefs given;
  std::ranges::copy_if(inputs, std::back_inserter(given),
                       [](const auto* x) { return x != nullptr; });
  return evaluate_graph(session, composition_of(session, node), given, nesting + 1, {});
}

// Returns whether the op is a product, or made of some.
bool multiplies(Session& session, const Node& node) {
  if (node.op->kind == OpKind::contraction) return true;
  if (node.op->kind != OpKind::composite) return false;
  auto [known, first] = session.multiplies.try_emplace(std::string(node.op_name()), false);
  if (first) {
    const bool any =
        std::ranges::any_of(composition_of(session, node).nodes(),
                            [&](const auto& inner) { return multiplies(session, *inner); });
    session.multiplies[std::string(node.op_name())] = any;
    return any;
  }
  return known->second;
}

float truncated_to_tf32(double value) {
  return std::bit_cast<float>(std::bit_cast<uint32_t>(static_cast<float>(value)) & 0xffffe000u);
}

// The inputs with f32 ones as matrix units read them, which `storage` keeps.
TensorRefs as_tf32(const TensorRefs& inputs, Tensors& storage) {
  storage.reserve(inputs.size());
  TensorRefs read = inputs;
  for (const RefTensor*& input : read) {
    if (!input || input->dtype != DType::f32) continue;
    RefTensor& copy = storage.emplace_back(*input);
    for (double& value : copy.f) value = truncated_to_tf32(value);
    input = &copy;
  }
  return read;
}

constexpr int64_t kNoiseGrain = int64_t{1} << 15;

// Calls change(k, u) for each k below n, u uniform in [-1, 1).
template <class Change>
void draw_noise(Session& session, int64_t n, const Change& change) {
  const uint64_t stream = ++session.stream * 0xd1342543de82ef95u;
  parallel_for(0, n, kNoiseGrain, [&](int64_t first, int64_t last) {
    for (int64_t k = first; k < last; ++k)
      change(static_cast<size_t>(k), noise_draw(stream, static_cast<uint64_t>(k)));
  });
}

// Multiplies the elements that `applies` names by 1 + u `size`.
template <class Applies>
void add_noise(Session& session, RefTensor& tensor, double size, Applies applies) {
  draw_noise(session, tensor.numel(), [&](size_t k, double u) {
    if (std::isfinite(tensor.f[k]) && applies(tensor.f[k])) tensor.f[k] *= 1 + size * u;
  });
}

bool sums(const Node& node) {
  if (node.op->kind == OpKind::contraction) return true;
  return node.op->reduction == ReduceKind::sum || node.op->reduction == ReduceKind::prod;
}

// The inputs with noise on the terms of a sum: its partial sums are rounded, which may be more than
// the sum itself. `storage` keeps the copy.
TensorRefs with_noisy_terms(Session& session, const Node& node, const TensorRefs& inputs,
                            Tensors& storage) {
  TensorRefs read = inputs;
  if (inputs.empty() || !inputs[0] || !inputs[0]->is_float()) return read;
  RefTensor& copy = storage.emplace_back(*inputs[0]);
  add_noise(session, copy, sum_noise(copy.dtype, combined_values(node)),
            [](double value) { return !is_exact_term(value); });
  read[0] = &copy;
  return read;
}

// Adds u times the error that the op's function on a device may have.
void add_function_noise(Session& session, const Node& node, const RefTensor& x, RefTensor& output) {
  draw_noise(session, output.numel(), [&](size_t k, double u) {
    if (std::isfinite(output.f[k])) output.f[k] += node.op->device_error(node, x.f[k]) * u;
  });
}

void add_result_noise(Session& session, const Node& node, const TensorRefs& inputs,
                      RefTensor& output) {
  if (!output.is_float() || node.op->kind == OpKind::view) return;
  const DType dtype = output.dtype;
  if (node.op->device_error && dtype != DType::f64)
    add_function_noise(session, node, *inputs[0], output);
  double size = stored_noise(dtype);
  if (sums(node)) size = std::max(size, sum_noise(dtype, combined_values(node)));
  add_noise(session, output, size, [=](double value) { return !is_exact(value, dtype); });
}

Tensors evaluate_node(Session& session, const Node& node, const TensorRefs& given, int nesting) {
  Tensors changed;
  const bool noisy = session.mode == RefMode::noisy;
  TensorRefs inputs = given;
  if (session.tf32 && nesting == 0 && multiplies(session, node)) inputs = as_tf32(given, changed);
  if (noisy && sums(node)) inputs = with_noisy_terms(session, node, given, changed);
  // Noise arises inside compositions, too.
  const bool has_reference =
      static_cast<bool>(node.op->reference) && !(noisy && static_cast<bool>(node.op->compose));
  Tensors outputs =
      has_reference ? allocate_outputs(node) : evaluate_composition(session, node, inputs, nesting);
  if (has_reference) {
    const F8Sums f8_sums = session.mode != RefMode::stepwise ? F8Sums::exact
                           : session.tf32                    ? F8Sums::unit
                                                             : F8Sums::promoted;
    EvalContext context{node, inputs, outputs, f8_sums};
    node.op->reference(context);
  }
  // A composition's inner values stay unrounded: it is one op, as a framework's own kernel is.
  const bool rounds = session.mode == RefMode::stepwise && nesting == 0;
  for (RefTensor& output : outputs) {
    normalize(output, rounds);
    if (noisy && has_reference) add_result_noise(session, node, inputs, output);
  }
  return outputs;
}

// One graph's values while it is evaluated.
class Evaluation {
 public:
  // `states` may be null.
  Evaluation(const Graph& graph, const TensorRefs& inputs, RefStates* states)
      : graph_(graph), states_(states) {
    for (size_t k = 0; k < inputs.size(); ++k) slots_[graph.inputs[k]].value = inputs[k];
    if (states)
      for (const auto& [state, tensor] : *states) slots_[state].value = &tensor;
    count_uses();
  }

  bool is_needed(const Node& node) const { return needed_.contains(&node); }

  const RefTensor* get(const Value* value) {
    if (!value) return nullptr;
    Slot& slot = slots_[value];
    if (!slot.value && value->kind != Value::Kind::result && value->kind != Value::Kind::input)
      own(slot, load_data(*value));
    TCC_CHECK(slot.value, "value ", value->name, " is used before it is made");
    return slot.value;
  }

  void set(const Value* value, RefTensor tensor) {
    Slot& slot = slots_[value];
    if (slot.uses > 0) own(slot, std::move(tensor));
  }

  // One use of `value` is over.
  void release(const Value* value) {
    if (!value) return;
    Slot& slot = slots_[value];
    if (--slot.uses == 0) slot = {};
  }

  // The value of an output: moved out at its last use.
  RefTensor take(const Value* value) {
    const RefTensor* tensor = get(value);
    Slot& slot = slots_[value];
    if (slot.uses == 1 && slot.owned) return std::move(*slot.owned);
    --slot.uses;
    return *tensor;
  }

  // Hands the next values over, when all nodes are evaluated.
  void store_states() {
    if (!states_) return;
    RefStates next;
    for (const auto& node : graph_.nodes())
      if (const Value* state = node->stored_in()) next[state] = take(node->outputs[0]);
    for (auto& [state, tensor] : next) (*states_)[state] = std::move(tensor);
  }

 private:
  struct Slot {
    const RefTensor* value = nullptr;
    std::unique_ptr<RefTensor> owned;  // null for the caller's
    int uses = 0;                      // that are still to come
  };

  void own(Slot& slot, RefTensor tensor) {
    slot.owned = std::make_unique<RefTensor>(std::move(tensor));
    slot.value = slot.owned.get();
  }

  void count_uses() {
    for (const Value* output : graph_.outputs) ++slots_[output].uses;
    for (const auto& node : graph_.nodes())
      if (states_ && node->stored_in()) ++slots_[node->outputs[0]].uses;
    for (size_t k = graph_.nodes().size(); k-- > 0;) {
      const Node& node = *graph_.nodes()[k];
      const bool used = std::ranges::any_of(
          node.outputs, [&](const Value* output) { return slots_[output].uses > 0; });
      if (!used && !has_effects(node)) continue;
      needed_.insert(&node);
      for (const Value* input : node.inputs)
        if (input) ++slots_[input].uses;
    }
  }

  const Graph& graph_;
  RefStates* states_;
  std::unordered_map<const Value*, Slot> slots_;
  std::unordered_set<const Node*> needed_;
};

// The node with the numbers of dims that were counted so far. One that it counts stays a symbol.
Graph::Part at_counted_sizes(const Session& session, const Node& node) {
  Numbers numbers = session.counted;
  OpenSizes open;
  if (const std::optional<CountedDim> dim = counted_dim(node)) {
    numbers[dim->name] = 0;
    open.emplace(dim->name, SymInt::symbol(dim->name));
  }
  const Node* nodes[] = {&node};
  return bind_nodes(nodes, {}, numbers, open);
}

void take_count(Session& session, const CountedDim& dim, const RefTensor& count) {
  const int64_t size = count.i[0];
  const int64_t most = dim.most.evaluate([&](const Atom& atom) -> std::optional<int64_t> {
    const auto known = session.counted.find(atom.name);
    return known == session.counted.end() ? std::nullopt : std::optional<int64_t>(known->second);
  });
  if (size < 0 || size > most)
    fail_input(to_string(dim.node->location), ": ", dim.node->op_name(), ": the size of '",
               dim.name, "' is ", size, ", which is not from 0 to ", most);
  session.counted[dim.name] = size;
}

Tensors evaluate_graph(Session& session, const Graph& graph, const TensorRefs& inputs, int nesting,
                       const InterpretOptions& options) {
  Evaluation evaluation(graph, inputs, options.states);
  for (const auto& node : graph.nodes()) {
    if (!evaluation.is_needed(*node)) continue;
    TensorRefs operands;
    for (const Value* input : node->inputs) operands.push_back(evaluation.get(input));
    const std::optional<CountedDim> counts = counted_dim(*node);
    if (counts && !node->op->compose) take_count(session, *counts, *operands[0]);
    std::optional<Graph::Part> bound;
    if (!session.counted.empty()) bound = at_counted_sizes(session, *node);
    const Node& known = bound ? *bound->nodes.at(node.get()) : *node;
    Tensors outputs = evaluate_node(session, known, operands, nesting);
    if (options.observe) options.observe(*node, outputs);
    for (size_t k = 0; k < outputs.size(); ++k)
      evaluation.set(node->outputs[k], std::move(outputs[k]));
    for (const Value* input : node->inputs) evaluation.release(input);
  }
  Tensors results;
  for (const Value* output : graph.outputs) results.push_back(evaluation.take(output));
  evaluation.store_states();
  return results;
}

void check_inputs(const Graph& graph, const Tensors& inputs) {
  if (inputs.size() != graph.inputs.size())
    fail_input("graph '", graph.name, "' takes ", counted(graph.inputs.size(), "input"),
               " but got ", inputs.size());
  for (size_t k = 0; k < inputs.size(); ++k) {
    const Value& value = *graph.inputs[k];
    if (inputs[k].dtype != value.dtype() || inputs[k].shape != const_shape(value))
      fail_input("input '", value.name, "' is ", type_text(inputs[k].dtype, inputs[k].shape),
                 " where the graph says ", to_string(value.type));
  }
}

}  // namespace

std::vector<RefTensor> interpret(const Graph& bound_graph, const std::vector<RefTensor>& inputs,
                                 RefMode mode, const InterpretOptions& options) {
  check_inputs(bound_graph, inputs);
  TensorRefs given;
  for (const RefTensor& input : inputs) given.push_back(&input);
  Session session{mode, options.tf32 && mode == RefMode::stepwise, options.seed << 32};
  return evaluate_graph(session, bound_graph, given, 0, options);
}

}  // namespace tcc::ir
