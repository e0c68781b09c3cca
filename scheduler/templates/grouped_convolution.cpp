#include "scheduler/templates/grouped_convolution.h"

#include "ir/sizes.h"
#include "scheduler/dim_map.h"
#include "scheduler/inline.h"
#include "scheduler/templates/common.h"
#include "scheduler/templates/contraction_plan.h"
#include "support/error.h"

namespace tcc::sched {

OrRefusal<const ir::Node*> grouped_convolution(const Region& region, Innermost innermost) {
  const ir::Node* node = nullptr;
  for (const ir::Node* other : region.nodes) {
    if (other->op->kind == ir::OpKind::contraction) {
      if (node || !has_small_groups(*other))
        return Refusal{str(other->op_name(), " is no convolution in small groups alone"), true};
      node = other;
    } else if (other->op->kind != ir::OpKind::pointwise && other->op->kind != ir::OpKind::view) {
      return Refusal{str(other->op_name(), " is neither element-wise nor a view"), true};
    }
  }
  if (!node) return Refusal{"it has no convolution in groups", true};
  if (region.anchor && (region.anchor != node || is_depthwise(*node)))
    return Refusal{"it is anchored by more than elements", true};
  if (!open_dims(region).empty()) return Refusal{"sizes come at run time"};
  const ir::Value* result = node->outputs[0];
  const ir::Shape& shape = result->shape();
  if (shape.size() < 3 || shape.size() > 5)
    return Refusal{str("its images have ", shape.size() - 2, " dims, not one to three")};
  if (accumulator_dtype(result->dtype()) != DType::f32) return Refusal{"it sums up in no f32"};
  std::vector<SymInt> at;
  for (const SymInt& extent : shape) at.push_back(SymInt::axis("at", extent));
  for (const ir::Value* output : region.outputs) {
    const StoredThrough through = peel_views(region, output, result);
    const auto index = permuted_index(region, through.base, result, at);
    if (!index) return Refusal{"its results have other shapes"};
    const SymInt offset = region.layout(output).offset(through.output_index(*index));
    const bool channels = innermost == Innermost::channels;
    const SymInt& along = channels ? at[1] : at.back();
    if (along.is_const() || coefficient(offset, along) != 1)
      return Refusal{
          str(channels ? "channels" : "pixels of a row", " are no neighbours in its results")};
  }
  if (numel(result) == 0) return Refusal{"it has no elements"};
  return node;
}

std::vector<SymInt> image_index(const ir::Node& convolution, const SymInt& outer,
                                const SymInt& channel, const Pixel& at) {
  const int rank = convolution.outputs[0]->rank();
  if (rank == 3) return {outer, channel, at.x};
  if (rank == 4) return {outer, channel, at.y, at.x};
  return {outer, channel, at.z, at.y, at.x};
}

std::vector<Sink> convolution_results(const Region& region, const ir::Node& convolution,
                                      const std::vector<SymInt>& at, const Expr& sum) {
  const ir::Value* result = convolution.outputs[0];
  Inliner inliner(region, Inliner::Lacking::is_noted);
  inliner.bind(result, [&](std::span<const SymInt> index) -> Expr {
    for (size_t d = 0; d < at.size(); ++d)
      if (!(index[d] == at[d])) return nullptr;
    const bool rounds = region.strict_rounding && is_low_precision(result->dtype());
    return rounds ? ir::cast(ir::cast(sum, result->dtype()), DType::f32) : sum;
  });
  std::vector<Sink> sinks;
  for (const ir::Value* output : region.outputs) {
    const StoredThrough through = peel_views(region, output, result);
    const std::vector<SymInt> index = permuted_index(region, through.base, result, at).value();
    sinks.push_back({region.slot_of_output(output),
                     {},
                     region.layout(output).offset(through.output_index(index)),
                     inliner.value_at(through.base, index)});
  }
  return inliner.asked_elsewhere() ? std::vector<Sink>() : sinks;
}

bool has_own_results(const Region& region, const ir::Node& convolution) {
  std::vector<SymInt> at;
  for (const SymInt& extent : convolution.outputs[0]->shape())
    at.push_back(SymInt::axis("at", extent));
  return !convolution_results(region, convolution, at,
                              ir::read(ir::new_variable("sum", DType::f32)))
              .empty();
}

}  // namespace tcc::sched
