#include "scheduler/templates/product_candidate.h"

#include <algorithm>

#include "scheduler/layout.h"
#include "scheduler/templates/gemm.h"

namespace tcc::sched {
namespace {

using Load = MatrixOperand::Load;

// [O, C, *kernel] as [*kernel, C, O] in memory; bytes for matrix units, which read them along k
// alone, as [O, *kernel, C].
Layout packed_weight(const ir::Shape& shape, bool along_k) {
  std::vector<int> order;
  for (int d = 2; d < static_cast<int>(shape.size()); ++d) order.push_back(d);
  order.push_back(1);
  order.insert(along_k ? order.begin() : order.end(), 0);
  return Layout::ordered(shape, order);
}

// The operand of the plan that is the anchor's input number `input`.
const MatrixOperand& operand_of(const Gemm& gemm, int input) {
  return gemm.plan.a.input == input ? gemm.a : gemm.b;
}

// Other layouts of a buffer: its rows padded, the shortest rows first; or, for matrix units that
// read them along k alone, inner dims that move outside of others, whose rows are padded then.
std::vector<Layout> other_layouts(const ir::Shape& shape, const Layout& dense,
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
std::optional<LayoutWish> padded_operand(const Region& region, const Gemm& gemm, int input,
                                         const Target& target, std::string_view unit) {
  const MatrixOperand& operand = operand_of(gemm, input);
  const bool is_view = operand.load != Load::computed;
  const bool turned = is_view && along_k_alone(operand.dtype) && !operand.major_k;
  if (operand.load != Load::rows && !turned) return std::nullopt;
  const ir::Value* value = region.inputs[static_cast<size_t>(operand.view.buffer)];
  const ir::Shape& shape = value->shape();
  const Layout& dense = region.layout(value);
  Region changed = region;
  for (const Layout& layout :
       other_layouts(shape, dense, operand, target.matrix_row_bytes / size_bytes(value->dtype()))) {
    if (2 * layout.elements.usual() > 3 * dense.elements.usual()) continue;
    changed.layouts[value] = layout;
    const OrRefusal<Gemm> product = plan_gemm(changed, target, unit);
    if (!product) continue;
    const MatrixOperand& changed_operand = operand_of(*product, input);
    if (changed_operand.load == Load::tiles && (!turned || changed_operand.major_k))
      return LayoutWish{value, layout};
  }
  return std::nullopt;
}

}  // namespace

std::vector<LayoutWish> ProductCandidate::order_wishes() const {
  const ir::Node& anchor = *region().anchor;
  std::vector<LayoutWish> wishes;
  if (anchor.op_name() != "convolution") return wishes;
  auto wish = [&](const ir::Value* value) {
    if (!value->is_constant() && value->rank() >= 3)
      wishes.push_back({value, channels_last(value->shape())});
  };
  for (const ir::Value* value : region().outputs)
    if (value->shape() == anchor.outputs[0]->shape()) wish(value);
  if (region().slot_of_input(anchor.inputs[0]) >= 0) wish(anchor.inputs[0]);
  const ir::Value* weight = anchor.inputs[1];
  const bool along_k = along_k_alone(weight->dtype()) &&
                       std::ranges::any_of(target().matrix_units, [](const exec::MatrixUnit& unit) {
                         return unit.lines_along_k && size_bytes(unit.a) == 1;
                       });
  if (region().slot_of_input(weight) >= 0 && weight->is_constant())
    wishes.push_back({weight, packed_weight(weight->shape(), along_k)});
  return wishes;
}

std::vector<LayoutWish> ProductCandidate::row_wishes() const {
  std::vector<LayoutWish> wishes;
  const std::string_view unit = row_unit();
  if (target().matrix_row_bytes == 0 || unit.empty()) return wishes;
  Region changed = region();  // with the buffers found so far: both operands may be one buffer
  for (const int input : {0, 1}) {
    const OrRefusal<Gemm> gemm = plan_gemm(changed, target(), unit);
    if (!gemm) return wishes;
    if (auto wish = padded_operand(changed, *gemm, input, target(), unit)) {
      changed.layouts[wish->value] = wish->layout;
      wishes.push_back(*std::move(wish));
    }
  }
  return wishes;
}

}  // namespace tcc::sched
