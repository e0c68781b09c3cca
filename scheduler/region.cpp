#include "scheduler/region.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "ir/layers.h"
#include "ir/passes/graph_rewrite.h"
#include "ir/sizes.h"
#include "scheduler/region_text.h"
#include "support/error.h"
#include "support/hash.h"

namespace tcc::sched {

Layout Layout::row_major(const ir::Shape& shape) {
  std::vector<int> order(shape.size());
  std::iota(order.begin(), order.end(), 0);
  return ordered(shape, order);
}

Layout Layout::ordered(const ir::Shape& shape, const std::vector<int>& order) {
  Layout layout;
  layout.strides.resize(shape.size());
  layout.elements = 1;
  for (size_t i = order.size(); i-- > 0;) {
    auto dim = static_cast<size_t>(order[i]);
    layout.strides[dim] = layout.elements;
    layout.elements = layout.elements * shape[dim];
  }
  return layout;
}

Layout Layout::padded(const ir::Shape& shape, int inner, int64_t multiple) const {
  Layout layout;
  layout.strides.resize(shape.size());
  layout.elements = 1;
  const std::vector<int> dims = order();
  for (size_t i = dims.size(); i-- > 0;) {
    if (std::cmp_equal(dims.size() - 1 - i, inner))
      layout.elements = ir::ceildiv(layout.elements, multiple) * multiple;
    auto dim = static_cast<size_t>(dims[i]);
    layout.strides[dim] = layout.elements;
    layout.elements = layout.elements * shape[dim];
  }
  return layout;
}

std::vector<int> Layout::order() const {
  std::vector<int> dims(strides.size());
  std::iota(dims.begin(), dims.end(), 0);
  std::stable_sort(dims.begin(), dims.end(), [&](int a, int b) {
    return strides[static_cast<size_t>(a)].usual() > strides[static_cast<size_t>(b)].usual();
  });
  return dims;
}

SymInt Layout::offset(std::span<const SymInt> index) const {
  SymInt offset = 0;
  for (size_t d = 0; d < index.size(); ++d) offset = offset + index[d] * strides[d];
  return offset;
}

bool Region::contains(const ir::Node* node) const {
  return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
}

int Region::slot_of_input(const ir::Value* value) const {
  auto found = std::find(inputs.begin(), inputs.end(), value);
  return found == inputs.end() ? -1 : static_cast<int>(found - inputs.begin());
}

int Region::slot_of_output(const ir::Value* value) const {
  if (const auto input = in_place.find(value); input != in_place.end())
    return slot_of_input(input->second);
  int slot = static_cast<int>(inputs.size());
  for (const ir::Value* output : outputs) {
    if (output == value) return slot;
    if (!in_place.contains(output)) ++slot;
  }
  return -1;
}

ir::Layers Region::layers() const {
  ir::Layers layers, others;
  for (const ir::Node* node : nodes) {
    const bool is_work = node->op->kind != ir::OpKind::view && !node->inputs.empty();
    ir::add_layers(is_work ? layers : others, node->location);
  }
  return layers.empty() ? others : layers;
}

std::string Region::name() const {
  // Movement says little about what a kernel does: named only when there is nothing else.
  std::string name;
  int named = 0;
  auto append = [&](const ir::Node* node) {
    if (named++ >= 5) return;
    name += (name.empty() ? "" : "_") + std::string(node->op_name());
  };
  for (const ir::Node* node : nodes)
    if (node->op->kind != ir::OpKind::view && node->op_name() != "cast") append(node);
  if (name.empty())
    for (const ir::Node* node : nodes) append(node);
  return name.empty() ? "copy" : name;
}

std::set<std::string> open_dims(const Region& region) {
  std::set<std::string> found;
  for (const ir::Node* node : region.nodes) {
    for (const auto* values : {&node->inputs, &node->outputs})
      for (const ir::Value* value : *values)
        if (value) found.merge(ir::open_dims(value->shape()));
    // A size may be an attribute alone, as that of size_value.
    for (const auto& [key, attr] : node->attrs)
      if (const auto* sizes = std::get_if<std::vector<SymInt>>(&attr))
        found.merge(ir::open_dims(*sizes));
  }
  return found;
}

void set_precision(Region& region, const RegionPrecision& precision) {
  region.strict_rounding = precision.strict_rounding;
  region.tf32 = region.unit_sums = false;
  if (!precision.matrix_unit) return;
  const auto allow = [&](const ir::Value* operand) {
    region.tf32 |= operand->dtype() == DType::f32;
    region.unit_sums |= is_f8(operand->dtype());
  };
  if (region.anchor && region.anchor->op->kind == ir::OpKind::contraction)
    allow(region.anchor->inputs[0]);
  for (const ir::Node* node : region.nodes)
    if (node->op->kind == ir::OpKind::composite)
      for (const ir::Value* operand : node->inputs)
        if (operand) allow(operand);
}

std::string signature(const Region& region) { return hash_of(region_text(region).text).hex(); }

std::string kernel_key(const Region& region) {
  std::string key = signature(region);
  for (size_t i = 0; i < region.outputs.size(); ++i)
    if (region.in_place.contains(region.outputs[i]))
      key += str(" ", i, " in ", region.slot_of_output(region.outputs[i]));
  // Kernels may read before the launch before them has ended what no kernel writes.
  if (region.anchor && region.anchor->op->kind == ir::OpKind::contraction)
    for (size_t i = 0; i < region.inputs.size(); ++i)
      if (ir::is_fixed(region.inputs[i])) key += str(" ", i, " fixed");
  return key;
}

}  // namespace tcc::sched
