#include "scheduler/templates/recurrent_hooks.h"

#include <algorithm>
#include <numeric>

#include "ir/size_range.h"
#include "ir/sizes.h"
#include "scheduler/cost.h"
#include "scheduler/inline.h"
#include "scheduler/templates/common.h"
#include "scheduler/vectorize.h"
#include "scheduler/work.h"
#include "support/error.h"

namespace tcc::sched {
namespace {

// Sets the elements of an array, which are computed together.
Block set_elements(const ir::Variable& array, std::span<const Expr> values) {
  std::vector<Sink> sinks;
  for (const Expr& value : values) {
    Sink& sink = sinks.emplace_back();
    sink.array = array;
    sink.offset = std::ssize(sinks) - 1;
    sink.value = value;
  }
  return vectorize(sinks, 0);
}

// The outputs of an element's cell, from arrays of the gates' parts and the states.
struct CellArrays {
  ir::Variable projected, products, states;
};
// A scale or zero point of a row of quantized weights, which may be one for all.
Expr by_row(Inliner& operands, const ir::Value* value, const SymInt& row) {
  return operands.value_at(value, std::vector<SymInt>{value->shape()[0].is(1) ? SymInt(0) : row});
}

std::vector<Expr> cell_values(const Region& region, const RecurrentPlan& plan,
                              const SymInt& direction, const SymInt& unit,
                              const CellArrays& arrays) {
  const ir::RecurrentCellGraph cell = ir::recurrent_cell(*plan.node);
  Region scalars;
  for (const auto& node : cell.graph.nodes()) scalars.nodes.push_back(node.get());
  Inliner operands(region), inliner(scalars);
  const auto number = [](const SymInt& index) { return index.value(); };
  const auto bind = [&](const ir::Value* value, const ir::Variable& array, int64_t from) {
    inliner.bind(value, [=](std::span<const SymInt> index) {
      return ir::element(array, number(index[2]) + from);
    });
  };
  bind(cell.projected, arrays.projected, 0);
  for (size_t k = 0; k < cell.products.size(); ++k)
    bind(cell.products[k], arrays.products, static_cast<int64_t>(k));
  for (size_t k = 0; k < cell.states.size(); ++k)
    bind(cell.states[k], arrays.states, static_cast<int64_t>(k));
  const int64_t hidden = plan.sizes.hidden;
  const auto bind_operand = [&](const ir::Value* value, const ir::Value* operand) {
    if (!value) return;
    inliner.bind(value, [&operands, operand, direction, unit, hidden,
                         number](std::span<const SymInt> index) {
      const std::vector<SymInt> at = {direction, unit + hidden * number(index[2])};
      return operands.value_at(operand, at);
    });
  };
  bind_operand(cell.bias, plan.sizes.bias);
  bind_operand(cell.peepholes, plan.sizes.peepholes);
  if (cell.scale)
    inliner.bind(cell.scale, [&operands, &plan, unit, hidden, number](std::span<const SymInt> at) {
      return by_row(operands, plan.sizes.weight_scale, unit + hidden * number(at[2]));
    });
  std::vector<Expr> values;
  for (const ir::Value* output : cell.graph.outputs)
    values.push_back(inliner.value_at(output, std::vector<SymInt>{0, 0, 0}));
  return values;
}

}  // namespace

OrRefusal<RecurrentPlan> plan_recurrent(const Region& region) {
  RecurrentPlan plan;
  for (const ir::Node* node : region.nodes) {
    if (node->op->kind != ir::OpKind::composite) continue;
    const std::optional<ir::RecurrentSteps> sizes = ir::recurrent_steps(*node);
    if (!sizes || plan.node) return Refusal{"it is not a recurrent layer", true};
    plan.node = node;
    plan.sizes = *sizes;
  }
  if (!plan.node || region.nodes.back() != plan.node)
    return Refusal{"it is not a recurrent layer", true};
  for (const ir::Node* node : region.nodes)
    if (node != plan.node && node->op->kind != ir::OpKind::view)
      return Refusal{str(node->op_name(), " stands in the region of a recurrent layer")};
  if (plan.sizes.batch.is(0)) return Refusal{"a batch of no rows"};
  if (plan.sizes.steps.is(0)) return Refusal{"no steps"};
  if (plan.sizes.steps.range().lo < 0)
    return Refusal{str(plan.sizes.steps, " steps, a number that may be negative")};
  plan.dtype = plan.sizes.projected->dtype();
  if (plan.dtype != DType::f32 && plan.dtype != DType::f16 && plan.dtype != DType::bf16)
    return Refusal{str("a state of ", tcc::name(plan.dtype), ", where f32 is kept")};
  if (region.strict_rounding && plan.dtype != DType::f32)
    return Refusal{"each op of the cell is to be rounded"};
  plan.first_gates = ir::recurrent_cell(*plan.node).first_gates;
  plan.w_vector = std::gcd<int64_t>(plan.sizes.hidden, 4);
  const auto result = [&](size_t k) -> const ir::Value* {
    const ir::Value* value = plan.node->outputs[k];
    return std::ranges::find(region.outputs, value) == region.outputs.end() ? nullptr : value;
  };
  plan.out = result(0);
  for (size_t k = 0; k < static_cast<size_t>(plan.sizes.states); ++k) plan.last[k] = result(k + 1);
  return plan;
}

Hook RecurrentHooks::hook(std::string name, const std::vector<std::string>& indices) const {
  const ir::RecurrentSteps& sizes = plan_.sizes;
  Hook hook;
  hook.name = std::move(name);
  for (const std::string& index : indices) {
    const SymInt extent = index == "direction" ? sizes.directions
                          : index == "t"       ? sizes.steps
                          : index == "row"     ? sizes.batch
                          : index == "unit"    ? sizes.hidden
                          : index == "half"    ? SymInt(RecurrentMemory::halves(plan_))
                                               : SymInt(0);
    TCC_CHECK(!extent.is(0), "an index ", index);
    hook.parameters.push_back(Hook::index_parameter(index, extent));
  }
  return hook;
}

Hook RecurrentHooks::load_x() const {
  Hook hook = this->hook("load_x", {"direction", "t", "row", "unit"});
  const int64_t gates = plan_.sizes.gates, hidden = plan_.sizes.hidden;
  hook.parameters.push_back(Hook::array_parameter("out_values", DType::f32, gates, true));
  Inliner inliner(region_);
  for (int64_t g = 0; g < gates; ++g) {
    const SymInt column = (hook.parameters[0].axis * gates + g) * hidden + hook.parameters[3].axis;
    const std::vector<SymInt> at = {hook.parameters[1].axis, hook.parameters[2].axis, column};
    hook.body.push_back(
        set_element(hook.parameters[4].array, g, inliner.value_at(plan_.sizes.projected, at)));
  }
  return hook;
}

Hook RecurrentHooks::load_w() const {
  const int64_t width = plan_.w_vector;
  Hook hook = this->hook("load_w", {"direction"});
  hook.parameters.push_back(Hook::index_parameter("row", plan_.sizes.gates * plan_.sizes.hidden));
  hook.parameters.push_back(Hook::index_parameter("part", plan_.sizes.hidden / width));
  hook.parameters.push_back(Hook::array_parameter("out_values", DType::f32, width, true));
  const SymInt v = SymInt::axis("v", width);
  const std::vector<SymInt> at = {hook.parameters[0].axis, hook.parameters[1].axis,
                                  hook.parameters[2].axis * width + v};
  Sink sink;
  sink.array = hook.parameters[3].array;
  sink.offset = v;
  Inliner inliner(region_);
  sink.value = inliner.value_at(plan_.sizes.weight, at);
  if (plan_.is_quantized()) {
    // Numbers of 9 bits, whose products and sums are f32.
    sink.value = ir::cast(sink.value, DType::f32);
    if (const ir::Value* zero = plan_.sizes.weight_zero)
      sink.value = ir::sub(sink.value, ir::cast(by_row(inliner, zero, at[1]), DType::f32));
  }
  hook.body = vectorize({sink}, v);
  return hook;
}

Hook RecurrentHooks::initial() const {
  Hook hook = this->hook("initial", {"direction", "row", "unit"});
  hook.parameters.push_back(
      Hook::array_parameter("out_values", DType::f32, plan_.sizes.states, true));
  const std::vector<SymInt> at = {hook.parameters[0].axis, hook.parameters[1].axis,
                                  hook.parameters[2].axis};
  Inliner inliner(region_);
  for (size_t k = 0; k < plan_.sizes.initial.size(); ++k) {
    const ir::Value* value = plan_.sizes.initial[k];
    hook.body.push_back(set_element(hook.parameters[3].array, static_cast<int64_t>(k),
                                    value ? inliner.value_at(value, at) : zero_of(DType::f32)));
  }
  return hook;
}

Hook RecurrentHooks::length() const {
  Hook hook = this->hook("length", {"row"});
  Expr length =
      Inliner(region_).value_at(plan_.sizes.lengths, std::vector<SymInt>{hook.parameters[0].axis});
  const DType dtype = length->dtype;
  if (size_bytes(dtype) >= 4)  // an i32 holds the numbers of narrower types
    length = ir::call(ir::Fn::minimum, {length, ir::constant_int(dtype, ir::kMostSize)});
  length = ir::call(ir::Fn::maximum, {length, ir::constant_int(dtype, 0)});
  hook.returns = true;
  hook.result = DType::i32;
  hook.body = {return_value(ir::cast(length, DType::i32))};
  return hook;
}

Hook RecurrentHooks::cell() const { return hook_of_cell("cell", "next", false); }

Hook RecurrentHooks::multiplied() const { return hook_of_cell("multiplied", "value", true); }

Hook RecurrentHooks::hook_of_cell(const char* called, const char* result,
                                  bool is_multiplied) const {
  Hook hook = this->hook(called, {"direction", "unit"});
  const auto array = [&](const char* name, int64_t elements, bool written) {
    hook.parameters.push_back(Hook::array_parameter(name, DType::f32, elements, written));
    return hook.parameters.back().array;
  };
  const CellArrays arrays = {array("x", plan_.sizes.gates, false),
                             array("p", plan_.sizes.gates, false),
                             array("state", plan_.sizes.states, false)};
  const auto states = static_cast<size_t>(plan_.sizes.states);
  const ir::Variable written = array(result, is_multiplied ? 1 : plan_.sizes.states, true);
  const std::vector<Expr> all =
      cell_values(region_, plan_, hook.parameters[0].axis, hook.parameters[1].axis, arrays);
  hook.body = set_elements(
      written, is_multiplied ? std::span(all).subspan(states) : std::span(all).first(states));
  return hook;
}

Hook RecurrentHooks::store_out() const {
  Hook hook = this->hook("store_out", {"direction", "t", "row", "unit"});
  hook.parameters.push_back(Hook::array_parameter("value", DType::f32, 1, false));
  const std::vector<SymInt> at = {hook.parameters[1].axis, hook.parameters[0].axis,
                                  hook.parameters[2].axis, hook.parameters[3].axis};
  hook.body = {store(region_.slot_of_output(plan_.out), region_.layout(plan_.out).offset(at),
                     ir::element(hook.parameters[4].array, 0))};
  return hook;
}

Hook RecurrentHooks::store_last() const {
  Hook hook = this->hook("store_last", {"direction", "row", "unit"});
  hook.parameters.push_back(Hook::array_parameter("values", DType::f32, plan_.sizes.states, false));
  const std::vector<SymInt> at = {hook.parameters[0].axis, hook.parameters[1].axis,
                                  hook.parameters[2].axis};
  for (int64_t k = 0; k < plan_.sizes.states; ++k)
    if (const ir::Value* value = plan_.last[k])
      hook.body.push_back(store(region_.slot_of_output(value), region_.layout(value).offset(at),
                                ir::element(hook.parameters[3].array, k)));
  return hook;
}

Hook RecurrentHooks::rounded() const {
  Hook hook;
  hook.name = "rounded";
  hook.parameters = {Hook::array_parameter("value", DType::f32, 1, false)};
  hook.returns = true;
  hook.result = DType::f32;
  hook.body = {return_value(
      ir::cast(ir::cast(ir::element(hook.parameters[0].array, 0), plan_.dtype), DType::f32))};
  return hook;
}

SymInt RecurrentHooks::place_of_h(const Hook& hook) const {
  const auto& of = hook.parameters;
  return ((of[0].axis * plan_.sizes.directions + of[1].axis) * memory_.rows + of[2].axis) *
         memory_.width;
}

SymInt RecurrentHooks::place_of_element(const Hook& hook) const {
  const auto& of = hook.parameters;
  const ir::RecurrentSteps& sizes = plan_.sizes;
  return (of[0].axis * sizes.batch + of[1].axis) * sizes.hidden + of[2].axis;
}

Hook RecurrentHooks::load_h() const {
  constexpr int64_t kChunk = 4;
  Hook hook = this->hook("load_h", {"half", "direction", "row"});
  hook.parameters.push_back(Hook::index_parameter("part", memory_.width / kChunk));
  hook.parameters.push_back(Hook::array_parameter("out_values", DType::f32, kChunk, true));
  const SymInt v = SymInt::axis("v", kChunk);
  Sink sink;
  sink.array = hook.parameters[4].array;
  sink.offset = v;
  sink.value = ir::cast(
      ir::load(memory_.h, plan_.dtype, place_of_h(hook) + hook.parameters[3].axis * kChunk + v),
      DType::f32);
  hook.body = vectorize({sink}, v);
  return hook;
}

Hook RecurrentHooks::store_h() const {
  Hook hook = this->hook("store_h", {"half", "direction", "row", "unit"});
  hook.parameters.push_back(Hook::array_parameter("value", DType::f32, 1, false));
  hook.body = {store(memory_.h, place_of_h(hook) + hook.parameters[3].axis,
                     ir::element(hook.parameters[4].array, 0))};
  return hook;
}

Hook RecurrentHooks::load_values(const char* name, int buffer, int64_t count) const {
  Hook hook = this->hook(name, {"direction", "row", "unit"});
  hook.parameters.push_back(Hook::array_parameter("out_values", DType::f32, count, true));
  for (int64_t k = 0; k < count; ++k)
    hook.body.push_back(
        set_element(hook.parameters[3].array, k,
                    ir::load(buffer, DType::f32, place_of_element(hook) * count + k)));
  return hook;
}

Hook RecurrentHooks::store_values(const char* name, int buffer, int64_t count) const {
  Hook hook = this->hook(name, {"direction", "row", "unit"});
  hook.parameters.push_back(Hook::array_parameter("values", DType::f32, count, false));
  for (int64_t k = 0; k < count; ++k)
    hook.body.push_back(store(buffer, place_of_element(hook) * count + k,
                              ir::element(hook.parameters[3].array, k)));
  return hook;
}

Hook RecurrentHooks::load_states() const {
  return load_values("load_states", memory_.states, plan_.sizes.states);
}

Hook RecurrentHooks::store_states() const {
  return store_values("store_states", memory_.states, plan_.sizes.states);
}

Hook RecurrentHooks::load_gates() const {
  return load_values("load_gates", memory_.gates, plan_.first_gates);
}

Hook RecurrentHooks::store_gates() const {
  return store_values("store_gates", memory_.gates, plan_.first_gates);
}

Hook RecurrentHooks::hook_of_range(const char* called, const char* array, bool written) const {
  Hook hook;
  hook.name = called;
  hook.parameters = {Hook::index_parameter("half", 2),
                     Hook::index_parameter("place", memory_.workgroups),
                     Hook::array_parameter(array, DType::f32, 2, written)};
  return hook;
}

Hook RecurrentHooks::load_range() const {
  Hook hook = hook_of_range("load_range", "out_values", true);
  const auto& of = hook.parameters;
  const SymInt place = (of[0].axis * memory_.workgroups + of[1].axis) * 2;
  for (int64_t k = 0; k < 2; ++k)
    hook.body.push_back(
        set_element(of[2].array, k, ir::load(memory_.ranges, DType::f32, place + k)));
  return hook;
}

Hook RecurrentHooks::store_range() const {
  Hook hook = hook_of_range("store_range", "values", false);
  const auto& of = hook.parameters;
  const SymInt place = (of[0].axis * memory_.workgroups + of[1].axis) * 2;
  for (int64_t k = 0; k < 2; ++k)
    hook.body.push_back(store(memory_.ranges, place + k, ir::element(of[2].array, k)));
  return hook;
}

Hook RecurrentHooks::joined() const {
  Hook hook;
  hook.name = "joined";
  hook.parameters = {Hook::array_parameter("a", DType::f32, 2, false),
                     Hook::array_parameter("b", DType::f32, 2, false),
                     Hook::array_parameter("out_values", DType::f32, 2, true)};
  const auto& of = hook.parameters;
  for (const int64_t k : {0, 1})
    hook.body.push_back(
        set_element(of[2].array, k,
                    ir::call(k == 0 ? ir::Fn::minimum : ir::Fn::maximum,
                             {ir::element(of[0].array, k), ir::element(of[1].array, k)})));
  return hook;
}

Hook RecurrentHooks::hook_of_graph(const char* called, const ir::Graph& graph,
                                   const std::vector<std::pair<const char*, int64_t>>& arrays,
                                   bool returns) const {
  Hook hook;
  hook.name = called;
  Region scalars;
  for (const auto& node : graph.nodes()) scalars.nodes.push_back(node.get());
  Inliner inliner(scalars);
  size_t bound = 0;
  for (const auto& [name, elements] : arrays) {
    hook.parameters.push_back(Hook::array_parameter(name, DType::f32, elements, false));
    for (int64_t k = 0; k < elements; ++k)
      inliner.bind(graph.inputs.at(bound++),
                   [array = hook.parameters.back().array, k](std::span<const SymInt>) {
                     return ir::element(array, k);
                   });
  }
  std::vector<Expr> values;
  for (const ir::Value* output : graph.outputs)
    values.push_back(inliner.value_at(output, std::vector<SymInt>{}));
  if (returns) {
    hook.returns = true;
    hook.result = DType::f32;
    hook.body = {return_value(values.at(0))};
    return hook;
  }
  hook.parameters.push_back(
      Hook::array_parameter("out_values", DType::f32, std::ssize(values), true));
  hook.body = set_elements(hook.parameters.back().array, values);
  return hook;
}

Hook RecurrentHooks::quantization() const {
  return hook_of_graph("quantization", ir::recurrent_quantization().of_range, {{"range", 2}},
                       false);
}

Hook RecurrentHooks::quantized() const {
  return hook_of_graph("quantized", ir::recurrent_quantization().of_element,
                       {{"value", 1}, {"of", 2}}, true);
}

double unrolled_seconds(const RecurrentPlan& plan, const Target& target) {
  const ir::RecurrentSteps& s = plan.sizes;
  const int64_t batch = s.batch.usual();
  const bool is_product = batch > 4;  // else sums
  const auto weights = static_cast<double>(s.directions * s.gates * s.hidden * s.hidden);
  const bool on_matrix_units = is_product && plan.dtype != DType::f32 && target.flops_matrix > 0;
  const double rate = on_matrix_units ? target.flops_matrix / 8 : 0.5 * operation_rate(target);
  // From the first load of a launch to the last store, at least.
  const double latency = target.serial_workgroups ? 0 : 1.5e-6;
  const int launches = is_product || plan.products() > 1 ? 2 : 1;
  const double step = launches * (launch_seconds(target) + latency) +
                      weights * size_bytes(s.weight->dtype()) / cache_bandwidth(target) +
                      weights * static_cast<double>(batch) / rate;
  return static_cast<double>(s.steps.usual()) * step;
}

void define_recurrent(Kernel& kernel, const RecurrentPlan& plan, int64_t rows,
                      const std::vector<std::pair<const char*, int64_t>>& more) {
  const ir::RecurrentSteps& sizes = plan.sizes;
  for (const auto& [name, size] : {std::pair{"STEPS", sizes.steps},
                                   {"BATCH", sizes.batch},
                                   {"GROUPS", ir::ceildiv(sizes.batch, rows)}}) {
    if (size.is_const())
      kernel.defines.emplace_back(name, std::to_string(size.value()));
    else
      kernel.counts.push_back({name, size});
  }
  const std::pair<const char*, int64_t> all[] = {{"ROWS", rows},
                                                 {"HIDDEN", sizes.hidden},
                                                 {"DIRECTIONS", sizes.directions},
                                                 {"GATES", sizes.gates},
                                                 {"FIRST_GATES", plan.first_gates},
                                                 {"STATES", sizes.states},
                                                 {"REVERSE", sizes.reverse},
                                                 {"LENGTHS", sizes.lengths != nullptr},
                                                 {"STORE_OUT", plan.out != nullptr},
                                                 {"QUANTIZED", plan.is_quantized()},
                                                 {"W_VECTOR", plan.w_vector}};
  for (const auto& [name, value] : all) kernel.defines.emplace_back(name, std::to_string(value));
  for (const auto& [name, value] : more) kernel.defines.emplace_back(name, std::to_string(value));
}

double cell_slots(const Region& region, const RecurrentPlan& plan) {
  const CellArrays arrays = {ir::new_variable("x", DType::f32), ir::new_variable("p", DType::f32),
                             ir::new_variable("state", DType::f32)};
  return element_work(cell_values(region, plan, 0, SymInt::axis("unit", plan.sizes.hidden), arrays),
                      SymInt::axis("unit", plan.sizes.hidden))
      .slots;
}

}  // namespace tcc::sched
