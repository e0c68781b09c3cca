#include "scheduler/templates/depthwise_tile.h"

#include <bit>
#include <utility>
#include <vector>

#include "scheduler/conv_dims.h"
#include "scheduler/templates/common.h"
#include "scheduler/templates/grouped_convolution.h"

namespace tcc::sched::template_depthwise {
namespace {

// The windows along dim `d` of the convolution's dims.
Windows windows_of(const ir::Node& node, size_t d) {
  const ConvDim dim = conv_dims(node)[d];
  Windows windows;
  windows.in = dim.image;
  windows.out = node.outputs[0]->shape()[d + 2].value();
  windows.taps = dim.kernel;
  windows.stride = dim.stride;
  windows.dilation = dim.dilation;
  windows.before = dim.before;
  return windows;
}

}  // namespace

OrRefusal<Plan> plan_depthwise(const Region& region, const Target& target) {
  OrRefusal<const ir::Node*> convolution = grouped_convolution(region, Innermost::channels);
  bool by_rows = false;
  if (!convolution && !convolution.refusal().other_kind) {
    OrRefusal<const ir::Node*> of_rows = grouped_convolution(region, Innermost::pixels);
    by_rows = static_cast<bool>(of_rows);
    if (by_rows) convolution = std::move(of_rows);
  }
  if (!convolution) return convolution.refusal();
  if (target.serial_workgroups) return Refusal{"shared memory is no faster on this device"};
  const ir::Node* node = *convolution;
  const ir::Value* result = node->outputs[0];
  const ir::Shape& shape = result->shape();
  Plan plan;
  plan.node = node;
  plan.by_rows = by_rows;
  plan.images = shape[0].value();
  plan.channels = shape[1].value();
  plan.inputs = node->inputs[1]->shape()[1].value();
  plan.outputs = plan.channels / node->attr<int64_t>("groups");
  if (by_rows && plan.inputs > 1)
    return Refusal{"its groups have several channels, which are no neighbours in its results"};
  plan.x = windows_of(*node, shape.size() - 3);
  if (shape.size() > 3) plan.y = windows_of(*node, shape.size() - 4);
  if (shape.size() > 4) plan.z = windows_of(*node, 0);
  plan.image_bytes = size_bytes(node->inputs[0]->dtype());
  plan.widest = std::max<int64_t>(plan.image_bytes, size_bytes(result->dtype()));
  for (const ir::Value* output : region.outputs)
    plan.widest = std::max<int64_t>(plan.widest, size_bytes(output->dtype()));
  return plan;
}

namespace {

constexpr Rule<Choice, DepthwiseCase> kValueRules[] = {
    {"vectors are at most 16 bytes, and the channels of a workgroup are whole vectors",
     [](const auto& c, const auto& of) {
       return of.plan.channels % c.vector == 0 && c.channels % c.vector == 0 &&
              (c.vector == 1 || c.vector * of.plan.widest <= 16);
     }},
    {"a vector is a part of a group, or some whole ones, whose inputs are read at once",
     [](const auto& c, const auto& of) {
       const int64_t outputs = of.plan.outputs;
       if (outputs % c.vector == 0) return true;
       return c.vector % outputs == 0 && c.inputs == of.plan.inputs;
     }},
    {"inputs that are read at once are at most 16 bytes",
     [](const auto& c, const auto& of) {
       const int64_t width = std::max<int64_t>(1, c.vector / of.plan.outputs) * c.inputs;
       return width == 1 || (std::has_single_bit(static_cast<uint64_t>(width)) &&
                             width * of.plan.image_bytes <= 16);
     }},
};
constexpr Rule<Tile, DepthwiseCase> kRules[] = {
    {"a workgroup has at least 32 threads, and no more than the device allows",
     [](const auto& t, const auto& of) {
       const int64_t most = std::min<int64_t>(512, of.target.max_workgroup_size);
       const bool all = t.chunks * t.tiles_x * t.tiles_y == 1;
       return t.threads <= most && (t.threads >= 32 || all);
     }},
    {"tiles do not reach over the image by as much as a strip or a row",
     [](const auto& t, const auto& of) {
       return t.strip < 2 * of.plan.x.out && t.rows < 2 * of.plan.y.out &&
              (t.strips == 1 || t.strips / 2 < t.all_strips) &&
              (t.bands == 1 || t.bands / 2 < t.all_bands);
     }},
    {"the filter fits into shared memory, and is needed there by more than one row",
     [](const auto& t, const auto& of) {
       return t.shared_bytes(of.plan) <= of.target.static_shared_bytes();
     }},
    {"sums, a line of pixels and the filter fit into registers",
     [](const auto& t, const auto& of) {
       return t.registers(of.plan) <= 200 || t.strip * t.rows * t.vector == 1;
     }},
    {"unrolled products are no more than 4096",
     [](const auto& t, const auto& of) {
       return t.products <= 4096 ||
              (t.rolled &&
               t.unrolled(of.plan) <= (of.plan.inputs == 1 ? kUnrolledProducts : kLoopProducts)) ||
              t.strip * t.rows * t.vector == 1;
     }},
};

}  // namespace

std::vector<Field<Choice>> all_fields() {
  return {
      {"vector", {1, 2, 4, 8}, "neighbouring channels of a thread", &Choice::vector},
      {"channels", {}, "channels of a workgroup", &Choice::channels},
      {"strip", {1, 2, 4, 5, 7, 8, 14, 16}, "neighbouring pixels of a thread", &Choice::strip},
      {"rows", {1, 2, 4, 5, 7, 8, 14, 16}, "rows of a thread", &Choice::rows},
      {"strips",
       {1, 2, 4, 7, 8, 14, 16, 32},
       "strips of a workgroup, side by side",
       &Choice::strips},
      {"bands", {1, 2, 4, 8}, "bands of rows of a workgroup", &Choice::bands},
      {"staged", {0, 1}, "1: the filter is in shared memory; 0: threads read it", &Choice::staged},
      {"inputs", {1, 2, 4, 8, 16}, "channels of a group that are read at once", &Choice::inputs},
  };
}

DepthwiseRules rules_of(const Plan& plan, const Target& target) {
  std::vector<Field<Choice>> fields = all_fields();
  std::vector<int64_t>& channels = values_of(fields, "channels");
  if (plan.by_rows) {
    // A thread has one channel, and reads its filter.
    for (const int64_t count : {1, 2, 3, 4, 6, 8, 12, 16, 32, 64})
      if (count <= plan.channels) channels.push_back(count);
    values_of(fields, "vector") = {1};
    values_of(fields, "staged") = {0};
    leave_out(fields, "inputs");
  } else {
    // A workgroup's channels: parts of them all, or whole sectors with a rest.
    constexpr int64_t kMost = 256;
    for (int64_t c = 1; c <= std::min(plan.channels, kMost); ++c) {
      const bool divides = plan.channels % c == 0, is_sector = c % 8 == 0;
      if (c == plan.channels || (divides && is_sector) || c == 32 || c == 64) channels.push_back(c);
    }
    std::erase_if(values_of(fields, "strips"), [](int64_t count) {
      return count > 8 || !std::has_single_bit(static_cast<uint64_t>(count));
    });
    if (plan.inputs > 1)
      std::erase_if(values_of(fields, "inputs"),
                    [&](int64_t count) { return plan.inputs % count != 0; });
    else
      leave_out(fields, "inputs");
  }
  return {std::make_shared<const DepthwiseCase>(plan, target), std::move(fields), kValueRules,
          kRules};
}

}  // namespace tcc::sched::template_depthwise
