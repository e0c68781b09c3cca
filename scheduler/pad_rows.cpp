#include "scheduler/pad_rows.h"

#include <algorithm>
#include <optional>
#include <set>

#include "scheduler/template.h"
#include "scheduler/templates/gemm.h"

namespace tcc::sched {
namespace {

using Load = MatrixOperand::Load;

// The operand of the plan that is the anchor's input number `input`.
const MatrixOperand& operand_of(const Gemm& gemm, int input) {
  return gemm.plan.a.input == input ? gemm.a : gemm.b;
}

std::optional<Gemm> product_of(const Region& region, const Target& target) {
  return plan_gemm(region, target, target.matrix_units.front());
}

// The smallest padding of the operand's buffer that makes whole vectors of its lines.
std::optional<PaddedBuffer> padded_operand(const Region& region, const Gemm& gemm, int input,
                                           const Target& target) {
  const MatrixOperand& operand = operand_of(gemm, input);
  if (operand.load != Load::rows) return std::nullopt;
  const ir::Value* value = region.inputs[static_cast<size_t>(operand.view.buffer)];
  const std::vector<int64_t> shape = ir::const_shape(*value);
  const Layout& dense = region.layout(value);
  Region changed = region;
  for (int inner = 1; inner < value->rank(); ++inner) {
    Layout& layout = changed.layouts[value];
    layout = dense.padded(shape, inner, target.matrix_row_bytes / size_bytes(value->dtype()));
    if (2 * layout.elements > 3 * dense.elements) continue;
    const std::optional<Gemm> product = product_of(changed, target);
    if (product && operand_of(*product, input).load == Load::tiles)
      return PaddedBuffer{value, layout};
  }
  return std::nullopt;
}

const Template* template_of(const Region& region, const Target& target) {
  const auto all = templates();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](auto t) { return t->accepts(region, target); });
  return found == all.end() ? nullptr : *found;
}

// Sets the layout of `value` wherever it stands; not at all where that changes a region's template.
void set_layout(std::vector<Region>& regions, const PaddedBuffer& buffer, const Target& target) {
  std::vector<std::pair<Region*, Region>> changes;
  for (Region& region : regions) {
    if (!region.layouts.count(buffer.value)) continue;
    Region changed = region;
    changed.layouts[buffer.value] = buffer.layout;
    if (template_of(changed, target) != template_of(region, target)) return;
    changes.emplace_back(&region, std::move(changed));
  }
  for (auto& [region, changed] : changes) *region = std::move(changed);
}

}  // namespace

std::vector<PaddedBuffer> padded_operands(const Region& region, const Target& target) {
  std::vector<PaddedBuffer> buffers;
  if (!region.anchor || target.matrix_row_bytes == 0 || target.matrix_units.empty()) return buffers;
  Region changed = region;  // with the buffers found so far: both operands may be one buffer
  for (const int input : {0, 1}) {
    const std::optional<Gemm> gemm = product_of(changed, target);
    if (!gemm) return buffers;
    if (auto buffer = padded_operand(changed, *gemm, input, target)) {
      changed.layouts[buffer->value] = buffer->layout;
      buffers.push_back(*std::move(buffer));
    }
  }
  return buffers;
}

bool has_free_layout(const ir::Graph& graph, const ir::Value* value) {
  if (value->is_constant()) return !value->is_mutable;
  return value->producer &&
         std::find(graph.outputs.begin(), graph.outputs.end(), value) == graph.outputs.end();
}

void pad_rows(const ir::Graph& graph, std::vector<Region>& regions, const Target& target) {
  std::set<const ir::Value*> done;
  for (size_t r = 0; r < regions.size(); ++r)
    for (const PaddedBuffer& buffer : padded_operands(regions[r], target))
      if (has_free_layout(graph, buffer.value) && done.insert(buffer.value).second)
        set_layout(regions, buffer, target);
}

}  // namespace tcc::sched
