// Layout assignment: the order of dims in memory of every value between regions, and of constants.
//
// Convolutions want their channels innermost (reads run along the summed channels, writes along the
// produced ones) and their weights as a [k, out] matrix. Matrix units want rows of whole vectors
// (pad_rows.h). Everything else reads through strides and follows.
#include <algorithm>
#include <numeric>
#include <set>

#include "scheduler/pad_rows.h"
#include "scheduler/region.h"
#include "scheduler/templates/matrix_operand.h"

namespace tcc::sched {
namespace {

bool is_convolution(const Region& region) {
  return region.anchor && region.anchor->op_name() == "convolution";
}

// [N, C, *spatial] as [N, *spatial, C] in memory.
Layout channels_last(const std::vector<int64_t>& shape) {
  std::vector<int> order(shape.size());
  std::iota(order.begin(), order.end(), 0);
  order.erase(order.begin() + 1);
  order.push_back(1);
  return Layout::ordered(shape, order);
}

// [O, C, *kernel] as [*kernel, C, O] in memory; bytes for matrix units, which read them along k
// alone, as [O, *kernel, C].
Layout packed_weight(const std::vector<int64_t>& shape, bool along_k) {
  std::vector<int> order;
  for (int d = 2; d < static_cast<int>(shape.size()); ++d) order.push_back(d);
  order.push_back(1);
  order.insert(along_k ? order.begin() : order.end(), 0);
  return Layout::ordered(shape, order);
}

void assign_channels_last(const ir::Graph& graph, std::vector<Region>& regions,
                          bool has_matrix_units) {
  // Graph inputs and outputs are row-major by contract.
  std::set<const ir::Value*> fixed(graph.inputs.begin(), graph.inputs.end());
  fixed.insert(graph.outputs.begin(), graph.outputs.end());
  std::map<const ir::Value*, Layout> chosen;
  auto choose = [&](const ir::Value* value) {
    if (!fixed.count(value) && !value->is_constant() && value->rank() >= 3)
      chosen.emplace(value, channels_last(ir::const_shape(*value)));
  };
  for (const Region& region : regions) {
    if (!is_convolution(region)) continue;
    for (const ir::Value* value : region.outputs)
      if (value->shape() == region.anchor->outputs[0]->shape()) choose(value);
    const ir::Value* x = region.anchor->inputs[0];
    if (region.slot_of_input(x) >= 0) choose(x);
    const ir::Value* weight = region.anchor->inputs[1];
    if (region.slot_of_input(weight) >= 0 && weight->is_constant() && !weight->is_mutable)
      chosen.emplace(weight, packed_weight(ir::const_shape(*weight),
                                           has_matrix_units && along_k_alone(weight->dtype())));
  }
  // What pooling and the like hand from one such value to another follows, until nothing changes.
  for (bool changed = true; changed;) {
    changed = false;
    for (const Region& region : regions) {
      bool any = std::any_of(region.inputs.begin(), region.inputs.end(), [&](const ir::Value* v) {
        return !v->is_constant() && chosen.count(v);
      });
      if (!any || region.anchor) continue;
      for (const ir::Value* value : region.outputs) {
        if (fixed.count(value) || chosen.count(value) || value->rank() < 4) continue;
        chosen.emplace(value, channels_last(ir::const_shape(*value)));
        changed = true;
      }
    }
  }
  for (Region& region : regions)
    for (auto& [value, layout] : region.layouts)
      if (auto found = chosen.find(value); found != chosen.end()) layout = found->second;
}

}  // namespace

void assign_layouts(const ir::Graph& graph, std::vector<Region>& regions,
                    const PartitionOptions& options) {
  if (options.channels_last)
    assign_channels_last(graph, regions, options.target && !options.target->matrix_units.empty());
  if (options.target) pad_rows(graph, regions, *options.target);
}

}  // namespace tcc::sched
