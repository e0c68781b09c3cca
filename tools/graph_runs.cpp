#include "tools/graph_runs.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "ir/append.h"
#include "ir/passes/convert_precision.h"
#include "ir/tensor_rows.h"
#include "support/error.h"

namespace tcc::tools {

GraphRuns::GraphRuns(const ir::Graph& graph, const ir::Numbers& sizes,
                     const backends::CompileOptions& compile)
    : graph_(graph.clone()), compile_(compile), sizes_(sizes) {
  std::optional<ir::Graph> open;
  for (const auto& node : graph.nodes()) {
    if (!ir::appends(*node)) continue;
    if (!open) {
      open = ir::bind_dims(graph, compile.dims, compile.open_dims);
      ir::check_growing_states(graph, *open);
    }
    const ir::Append append = ir::append_of(*node);
    const auto state =
        static_cast<size_t>(std::ranges::find(graph.states, append.state) - graph.states.begin());
    // As the program has it, which is for all lengths.
    const auto axis = static_cast<size_t>(append.dim);
    graph_.states[state]->type.shape[axis] = open->states[state]->shape()[axis];
    const ir::AtomPtr length = append.length.as_atom();
    if (length && length->kind == ir::Atom::Kind::symbol &&
        compile.open_dims.contains(length->name))
      grown_.push_back({state, append.dim, length->name});
  }
  for (const Grown& one : grown_) sizes_[one.dim] = compile_.open_dims.at(one.dim).least;
  bind();
  for (size_t i = 0; i < bound_.states.size(); ++i) states_.push_back(first_value(i));
}

const GraphRuns::Grown* GraphRuns::grown(size_t state) const {
  const auto found = std::ranges::find(grown_, state, &Grown::state);
  return found == grown_.end() ? nullptr : &*found;
}

void GraphRuns::bind() {
  bound_ = graph_.bind(sizes_);
  if (compile_.dtype) bound_ = ir::convert_precision(bound_, *compile_.dtype);
  if (!are_loaded_) return;
  for (const Grown& one : grown_) bound_.states[one.state]->data = nullptr;
}

Tensor GraphRuns::first_value(size_t state) const {
  const ir::Value& value = *bound_.states[state];
  const std::vector<int64_t> room = ir::const_shape(value);
  const Grown* one = grown(state);
  std::vector<int64_t> shape = room;
  if (one) shape[static_cast<size_t>(one->axis)] = sizes_.at(one->dim);
  if (!value.data) return Tensor(value.dtype(), shape);
  Tensor whole = *value.data->load();
  if (!one) return whole;
  Tensor rows(value.dtype(), shape);
  copy_rows(whole, rows, one->axis);
  return rows;
}

NamedType GraphRuns::type_of(size_t state) const {
  return {bound_.states[state]->name, {states_[state].dtype(), states_[state].shape()}};
}

bool GraphRuns::fits(size_t state, const TensorInfo& info) const {
  std::vector<int64_t> shape = states_[state].shape();
  const Grown* one = grown(state);
  if (one && info.shape.size() == shape.size()) {
    const auto axis = static_cast<size_t>(one->axis);
    const ir::SizeRange& range = compile_.open_dims.at(one->dim);
    const int64_t length = info.shape[axis], room = bound_.states[state]->shape()[axis].value();
    if (length > room || length < range.least || length % range.multiple != 0) return false;
    shape[axis] = length;
  }
  return info.dtype == states_[state].dtype() && info.shape == shape;
}

void GraphRuns::load_states(const std::filesystem::path& file) {
  std::vector<NamedType> types;
  for (size_t i = 0; i < states_.size(); ++i) types.push_back(type_of(i));
  tcc::load_states(
      file, types, [&](size_t i, const TensorInfo& info) { return fits(i, info); },
      [&](size_t i, const Tensor& value) { states_[i] = value; });
  const auto length_of = [&](const Grown& one) {
    return states_[one.state].shape()[static_cast<size_t>(one.axis)];
  };
  for (const Grown& one : grown_) {
    const Grown& first = *std::ranges::find(grown_, one.dim, &Grown::dim);
    if (length_of(one) != length_of(first))
      fail_input(file.string(), ": state '", bound_.states[one.state]->name, "' is ",
                 length_of(one), " long and state '", bound_.states[first.state]->name, "' ",
                 length_of(first), ": both are '", one.dim, "'");
    sizes_[one.dim] = length_of(one);
  }
  are_loaded_ = true;
  begin();
}

void GraphRuns::end(std::vector<Tensor> states) {
  ir::Numbers next = sizes_;
  for (const auto& node : bound_.nodes())
    if (ir::appends(*node)) {
      const ir::Append append = ir::append_of(*node);
      for (const Grown& one : grown_)
        if (bound_.states[one.state] == append.state) next[one.dim] = append.needed().value();
    }
  sizes_ = std::move(next);
  states_ = std::move(states);
}

void GraphRuns::begin() {
  if (!grows()) return;  // all runs are of one graph
  for (const Grown& one : grown_) {
    const ir::SizeRange& range = compile_.open_dims.at(one.dim);
    if (const int64_t length = sizes_.at(one.dim); !range.why_not(length).empty())
      fail_input("state '", graph_.states[one.state]->name, "' is full: it is ", length,
                 " long, and ", one.dim, " = ", range.to_string());
  }
  bind();
}

}  // namespace tcc::tools
