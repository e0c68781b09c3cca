#include "scheduler/pad_rows.h"

#include <algorithm>
#include <optional>
#include <set>

#include "scheduler/template.h"
#include "scheduler/templates/common.h"
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

// Other layouts of a buffer: its rows padded, the shortest rows first; or, for matrix units that
// read them along k alone, inner dims that move outside of others, whose rows are padded then.
std::vector<Layout> other_layouts(const std::vector<int64_t>& shape, const Layout& dense,
                                  const MatrixOperand& operand, int64_t multiple) {
  std::vector<Layout> layouts;
  const int rank = static_cast<int>(shape.size());
  if (!along_k_alone(operand.dtype) || operand.major_k) {
    for (int inner = 1; inner < rank; ++inner)
      layouts.push_back(dense.padded(shape, inner, multiple));
    return layouts;
  }
  const std::vector<int> order = dense.order();
  for (int moved = 1; moved < rank; ++moved)
    for (int outer = rank - moved - 1; outer >= 0; --outer) {
      std::vector<int> turned = order;
      std::rotate(turned.begin() + outer, turned.end() - moved, turned.end());
      layouts.push_back(
          Layout::ordered(shape, turned).padded(shape, rank - moved - outer, multiple));
    }
  return layouts;
}

// The first of the other layouts of the operand's buffer in which its lines are whole vectors.
std::optional<PaddedBuffer> padded_operand(const Region& region, const Gemm& gemm, int input,
                                           const Target& target) {
  const MatrixOperand& operand = operand_of(gemm, input);
  const bool is_view = operand.load != Load::computed;
  const bool turned = is_view && along_k_alone(operand.dtype) && !operand.major_k;
  if (operand.load != Load::rows && !turned) return std::nullopt;
  const ir::Value* value = region.inputs[static_cast<size_t>(operand.view.buffer)];
  const std::vector<int64_t> shape = ir::const_shape(*value);
  const Layout& dense = region.layout(value);
  Region changed = region;
  for (const Layout& layout :
       other_layouts(shape, dense, operand, target.matrix_row_bytes / size_bytes(value->dtype()))) {
    if (2 * layout.elements > 3 * dense.elements) continue;
    changed.layouts[value] = layout;
    const std::optional<Gemm> product = product_of(changed, target);
    if (!product) continue;
    const MatrixOperand& changed_operand = operand_of(*product, input);
    if (changed_operand.load == Load::tiles && (!turned || changed_operand.major_k))
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

// Sets the layout of `value` wherever it stands; not at all where that changes a region's template,
// but copies and the like may turn what they write or read.
void set_layout(std::vector<Region>& regions, const PaddedBuffer& buffer, const Target& target) {
  std::vector<std::pair<Region*, Region>> changes;
  for (Region& region : regions) {
    if (!region.layouts.count(buffer.value)) continue;
    Region changed = region;
    changed.layouts[buffer.value] = buffer.layout;
    const Template* const now = template_of(changed, target);
    if (now != template_of(region, target) && now != &transpose_template()) return;
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
