// Depthwise convolutions of stride 1 on the matrix units of sm_80 and later (mma.sync), where a row
// of a filter is a band of a matrix: the loops are backends/device/cuda/depthwise_sm80.cu.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "backends/device/common/depthwise_sm80_shape.h"
#include "scheduler/conv_dims.h"
#include "scheduler/cost.h"
#include "scheduler/device_sources.h"
#include "scheduler/strided_view.h"
#include "scheduler/templates/common.h"
#include "scheduler/templates/contraction_plan.h"
#include "scheduler/templates/grouped_convolution.h"
#include "scheduler/templates/kernel_parameters.h"
#include "scheduler/templates/product_candidate.h"
#include "scheduler/templates/rule_space.h"
#include "scheduler/work.h"
#include "support/checked.h"

namespace tcc::sched::template_depthwise_sm80 {
namespace {

using kernels::ChannelView;
using kernels::DepthwiseSm80;
using kernels::WindowDim;
namespace sm80 = kernels::depthwise_sm80;

constexpr int64_t kMostRows = 16;  // of a filter, whose matrices are in registers

// The parameters of the region, without a config's.
struct Plan {
  const ir::Node* node = nullptr;
  DepthwiseSm80 kernel;
  int64_t alignment = 2;  // of the image's vectors, in bytes
};

WindowDim window_of(const ConvDim& dim) {
  return {dim.image, dim.places(), dim.kernel, dim.before};
}

OrRefusal<ChannelView> view_of(const Region& region, const ir::Value* value, DType dtype,
                               const char* what) {
  const OrRefusal<StridedView> memory = strided_view(region, value);
  if (!memory) return memory.refusal();
  if (memory->dtype != dtype)
    return Refusal{str("the ", what, " is in memory as ", tcc::name(memory->dtype))};
  const std::vector<int64_t>& strides = memory->strides;
  const auto is_near = [](int64_t stride) {
    return stride >= 0 && stride <= std::numeric_limits<int32_t>::max();
  };
  if (!is_near(memory->offset) || !std::ranges::all_of(strides, is_near))
    return Refusal{str("elements of the ", what, " are 2^31 elements apart")};
  return ChannelView{
      memory->buffer, memory->offset, strides[0], strides[1], strides.size() == 4 ? strides[2] : 0,
      strides.back()};
}

OrRefusal<Plan> plan_of(const Region& region, const Target& target) {
  if (!target.has_matrix_unit("mma")) return Refusal{"the target has no mma", true};
  const OrRefusal<const ir::Node*> convolution = grouped_convolution(region, Innermost::channels);
  if (!convolution) return convolution.refusal();
  const ir::Node* node = *convolution;
  if (node->outputs[0]->rank() > 4) return Refusal{"its images have more than two dims"};
  if (!is_depthwise(*node)) return Refusal{"its groups have several channels"};
  const DType dtype = node->inputs[0]->dtype();
  if (size_bytes(dtype) != 2 || node->inputs[1]->dtype() != dtype ||
      !target.multiplies("mma", dtype, dtype, DType::f32))
    return Refusal{str("mma units do not multiply ", tcc::name(dtype), " with ",
                       tcc::name(node->inputs[1]->dtype()))};
  std::vector<ConvDim> dims = conv_dims(*node);
  for (const ConvDim& dim : dims)
    if (dim.stride != 1 || dim.dilation != 1) return Refusal{"its windows have strides or holes"};
  Plan plan;
  plan.node = node;
  DepthwiseSm80& d = plan.kernel;
  d.element = element_of(dtype);
  const ir::Shape& shape = node->outputs[0]->shape();
  d.images = shape[0].value();
  d.channels = shape[1].value();
  d.x = window_of(dims.back());
  if (dims.size() == 2) d.y = window_of(dims.front());
  if (d.x.taps > sm80::kMostTaps || d.y.taps > kMostRows)
    return Refusal{str("its windows are larger than ", kMostRows, " x ", sm80::kMostTaps)};
  const OrRefusal<ChannelView> image = view_of(region, node->inputs[0], dtype, "image");
  if (!image) return image.refusal();
  const OrRefusal<ChannelView> filter = view_of(region, node->inputs[1], dtype, "filter");
  if (!filter) return filter.refusal();
  if (image->channel != 1) return Refusal{"channels are no neighbours in its image"};
  d.image = *image;
  // A filter's outer dim are the channels.
  d.filter = *filter;
  d.filter.channel = filter->outer;
  d.filter.outer = 0;
  d.vector = sm80::kGroup;
  for (const int64_t step : {d.channels, d.image.offset, d.image.outer, d.image.y, d.image.x})
    d.vector = std::gcd(d.vector, step);
  plan.alignment = d.vector * 2;
  return plan;
}

struct DepthwiseSm80Case {
  using Values = DepthwiseSm80;
  using Shape = DepthwiseSm80;
  Values values() const { return plan.kernel; }
  Shape shape(const Values& values) const { return values; }

  Plan plan;
  Target target;
};

constexpr int64_t kReserved = 1024;  // bytes of shared memory of each workgroup

// Bytes of the first cache of a unit that has so many workgroups. Their shared memory is taken from
// it in steps, and the rest of its memory is left as well.
int64_t first_cache_bytes(const DepthwiseSm80& d, const Target& target, int64_t workgroups) {
  constexpr int64_t kStep = 32 << 10, kRest = 28 << 10;
  const int64_t shared = workgroups * (sm80::shared_bytes(d) + kReserved);
  return kRest + (target.shared_bytes + kReserved - shared) / kStep * kStep;
}

// Workgroups that share a unit.
int64_t resident_workgroups(const DepthwiseSm80& d, const Target& target) {
  const int64_t threads = sm80::threads(d);
  return std::min<int64_t>({(target.shared_bytes + kReserved) / (sm80::shared_bytes(d) + kReserved),
                            target.registers_per_unit / (threads * sm80::registers(d)),
                            target.max_threads_per_unit / threads, 32});
}

constexpr Rule<DepthwiseSm80, DepthwiseSm80Case> kRules[] = {
    {"a workgroup has no more channels than there are, and one for each warp",
     [](const auto& d, const auto&) {
       return d.block_channels < d.channels + sm80::kGroup && sm80::jobs(d) >= d.warps;
     }},
    {"tiles do not reach over the image by two rows or eight columns",
     [](const auto& d, const auto&) { return d.rows < d.y.out + 2 && d.columns < d.x.out + 8; }},
    {"a workgroup has no more tiles than there are, and several where one has not eight strips",
     [](const auto& d, const auto&) {
       return d.parts == 1 || (d.parts <= sm80::tiles(d) && sm80::turns(d) == 1);
     }},
    {"pixels fit into shared memory",
     [](const auto& d, const auto& of) { return sm80::shared_bytes(d) <= of.target.shared_bytes; }},
    {"workgroups and tiles, those after the last one of a workgroup too, are numbers of 32 bits",
     [](const auto& d, const auto&) {
       return std::max(sm80::workgroups(d), sm80::tiles(d) + d.parts) <=
              std::numeric_limits<int32_t>::max();
     }},
};

using DepthwiseSm80Rules = RuleSpace<DepthwiseSm80Case>;

std::vector<Field<DepthwiseSm80>> all_fields() {
  using D = DepthwiseSm80;
  return {
      {"block_channels", {8, 16, 24, 32, 48, 64}, "channels of a workgroup", &D::block_channels},
      {"rows", {2, 4, 6, 8, 10, 14, 16, 20, 28}, "rows of a tile", &D::rows},
      {"columns", {8, 16, 24, 32, 40, 48, 56, 64}, "columns of a tile", &D::columns},
      {"parts", {1, 2, 3, 4, 8}, "tiles of a workgroup", &D::parts},
      {"warps", {2, 4, 8}, "warps of a workgroup", &D::warps}};
}

DepthwiseSm80Rules rules_of(Plan plan, const Target& target) {
  return {
      std::make_shared<const DepthwiseSm80Case>(std::move(plan), target), all_fields(), {}, kRules};
}

class DepthwiseSm80Candidate : public RuledCandidate<DepthwiseSm80Case> {
 public:
  using RuledCandidate::RuledCandidate;

  std::vector<LayoutWish> order_wishes() const override {
    return convolution_wishes(region(), *plan_.node, false);
  }

  KernelSequence lower(const Config& config) const override {
    const DepthwiseSm80 d = rules().shape(config);
    Kernel kernel = start_kernel(region());
    kernel.source = "depthwise_sm80";
    kernel.workgroup = static_cast<int>(sm80::threads(d));
    kernel.grid = sm80::workgroups(d);
    kernel.resident = static_cast<int>(std::max<int64_t>(1, resident_workgroups(d, target())));
    kernel.shared_bytes = sm80::shared_bytes(d);
    kernel.parameters = parameters_of(d, "DepthwiseSm80", "common/depthwise_sm80_shape.h");
    Argument& image = kernel.arguments[static_cast<size_t>(d.image.buffer)];
    image.needed = std::max(image.needed, plan_.alignment);
    kernel.hooks = {epilogue(d)};
    return kernel;
  }

 private:
  // epilogue(image, y, x, group, acc[8]): stores what follows from the sums of eight neighbouring
  // channels.
  Hook epilogue(const DepthwiseSm80& d) const {
    Hook hook;
    hook.name = "epilogue";
    const int64_t groups = ceil_div(d.channels, sm80::kGroup);
    hook.parameters = {Hook::index_parameter("image", d.images), passed_index("y", d.y.out),
                       passed_index("x", d.x.out), passed_index("group", groups),
                       Hook::array_parameter("acc", DType::f32, sm80::kGroup, false)};
    std::vector<SymInt> at;
    const int64_t extents[] = {d.images, d.y.out, d.x.out, groups};
    for (size_t i = 0; i < 4; ++i) {
      at.push_back(SymInt::axis("at", extents[i]));
      if (!at[i].is_const()) hook.body.push_back(let_index(at[i], hook.parameters[i].axis));
    }
    // As many channels at once as divide them.
    const int64_t width = std::gcd(d.channels, sm80::kGroup);
    const SymInt part = SymInt::axis("part", sm80::kGroup / width), lane = SymInt::axis("v", width),
                 first = part * width, number = at[3] * sm80::kGroup + first;
    Block body;
    SymInt channel = number;
    std::vector<Expr> inside;
    if (!part.is_const()) {
      inside.push_back(ir::index_less(number, d.channels));
      const SymInt own = SymInt::axis("first", d.channels / width);
      body.push_back(let_index(own, floordiv(number, width)));
      channel = own * width;
    }
    append(body, vectorize(convolution_results(
                               region(), *plan_.node,
                               image_index(*plan_.node, at[0], channel + lane, {0, at[1], at[2]}),
                               ir::element(hook.parameters[4].array, first + lane)),
                           lane));
    body = guarded(inside, std::move(body));
    append(hook.body, part.is_const() ? std::move(body) : Block{loop(part, std::move(body), true)});
    return hook;
  }

  ShapeModel shape_model() const override {
    const ir::Node& node = *plan_.node;
    const SymInt channel = SymInt::axis("channel", plan_.kernel.channels);
    std::vector<Expr> results;
    for (const Sink& sink : convolution_results(region(), node, image_index(node, 0, channel, {}),
                                                ir::read(ir::new_variable("sum", DType::f32))))
      results.push_back(sink.value);
    const ElementWork work = element_work(results, channel);
    double out_bytes = 0;
    for (const ir::Value* output : region().outputs) out_bytes += size_bytes(output->dtype());
    return [=, target = target(), bytes = region_bytes(region())](const DepthwiseSm80& d) {
      return seconds(d, target, bytes, work, out_bytes);
    };
  }

  static double seconds(const DepthwiseSm80& d, const Target& target, double bytes,
                        const ElementWork& results, double out_bytes) {
    const auto count = [](int64_t n) { return static_cast<double>(n); };
    constexpr double kProducts = 1381, kLanes = 128;  // a cycle, of a unit: of mma.sync, and of FMA
    constexpr double kSector = 32;
    // Cycles of a warp alone: of a step, of the matrices of a filter, and of a result of a thread.
    constexpr double kStep = 60, kMatrices = 250, kResult = 130;
    // These three are a fit to 986 configs of 7 x 7 in bf16 on an H200: pixels and results take so
    // much longer between the last-level cache and a unit than predicted_seconds() has for others,
    // a thread has as many bytes on their way, averaged over its phases, and all of a unit together
    // fill this share of its first cache. 64 x 56 x 56 x 128 in 14 rows of 32 channels leaves 28
    // KiB there and takes 64.9 us, in 8 rows 60 KiB and 55.5 us.
    constexpr double kLonger = 1.35, kInFlight = 48, kFilled = 0.6;
    const double threads = count(sm80::threads(d)), workgroups = count(sm80::workgroups(d)),
                 groups = count(sm80::groups(d)), steps = count(sm80::steps(d)),
                 live = count(sm80::live(d)), jobs = count(sm80::jobs(d));
    // Turns of all threads over lines of so many items.
    const auto turns = [&](int64_t lines, int64_t items) {
      return count(ceil_div(lines, sm80::lines_at_once(d, items)) * sm80::pieces(d, items));
    };
    const int64_t pairs = sm80::line_bytes(d) / 4 * sm80::groups(d),
                  lines_of_pixels = d.parts * 2 * sm80::steps(d);
    const double brought = threads * turns(lines_of_pixels, pairs),
                 stored = threads * turns(d.parts * d.rows,
                                          std::min<int64_t>(d.columns, d.x.out) * sm80::groups(d)),
                 filter = count(d.block_channels * d.y.taps),
                 waits = count(sm80::waits(d, lines_of_pixels, pairs) * sm80::pieces(d, pairs));
    const double loads = 2 * count(sm80::kGroup / d.vector),
                 stores = std::max(1.0, 8 * out_bytes / 16),
                 reads = count(results.contiguous + results.scattered);
    // Lines of the cache that a warp's vectors of neighbouring groups are in.
    const double lines = 32 / groups;
    const double products = 2 * live * 2048 / kProducts * kLanes / 32;
    LaunchCost cost;
    cost.workgroups = workgroups;
    cost.threads = threads;
    cost.registers = count(sm80::registers(d));
    // predicted_seconds() takes a unit's shared memory for four times that of kernels that ask for
    // no more than others.
    cost.shared_bytes = count(sm80::shared_bytes(d) + kReserved) *
                        count(4 * target.static_shared_bytes()) /
                        count(target.shared_bytes + kReserved);
    cost.arithmetic =
        workgroups * (brought * (40 + 4 * loads) + filter * (20 + 3 * count(d.x.taps)) +
                      32 * jobs * (50 + 8 * live + steps * (8 + products)) +
                      stored * (40 + 8 * results.slots + stores + reads));
    cost.accesses =
        workgroups * (brought * (8 + loads) + filter * count(2 * d.x.taps + 2) +
                      32 * jobs * (8 * live + steps * 5) + stored * (8 + stores + reads));
    cost.bank_cycles =
        workgroups / 32 *
        (brought * loads * (std::max(count(d.vector) / 2, lines) - 1) + 32 * jobs * steps * 3 +
         stored * (stores + reads) * (std::max(4.0, lines) - 1));
    cost.elements = cost.accesses;
    cost.memory_bytes = bytes;
    const auto sectors = [&](double bytes_of_channel) {  // of the workgroup's channels of a pixel
      const double all = count(d.block_channels) * bytes_of_channel;
      return all + std::fmod(kSector - std::fmod(all, kSector), kSector);
    };
    cost.cache_bytes = kLonger * workgroups * count(d.parts) *
                       (std::min(count(d.rows + d.y.taps - 1), count(d.y.in)) *
                            std::min(count(d.columns + d.x.taps - 1), count(d.x.in)) * sectors(2) +
                        count(d.rows * std::min<int64_t>(d.columns, d.x.out)) * sectors(out_bytes));
    const int64_t of_unit = std::min(std::max<int64_t>(1, resident_workgroups(d, target)),
                                     ceil_div(sm80::workgroups(d), target.compute_units));
    cost.bytes_in_flight =
        std::min(kInFlight, kFilled * count(first_cache_bytes(d, target, of_unit)) /
                                (count(of_unit) * threads));
    cost.parallelism = 1;
    cost.stalls = 1;
    // The two barriers wait for the steps and results of a warp alone: without more the least
    // launches are estimated at 4.96 us, and take 4.8 (7 x 7 on 14 x 14 x 128).
    cost.round_trips = 1 + waits +
                       (std::ceil(jobs / count(d.warps)) * (steps * kStep + kMatrices) +
                        stored / threads * kResult) /
                           (700e-9 * target.clock());
    return predicted_seconds(cost, target);
  }

  const Plan& plan_ = rules().of().plan;
};

class DepthwiseSm80Template : public Template {
 public:
  std::string_view name() const override { return "depthwise_sm80"; }
  int version() const override { return 1; }
  int specificity() const override { return 1; }
  std::vector<Parameter> parameters() const override { return parameters_from(all_fields()); }
  std::string_view unit() const override { return "mma"; }

  Match match(const Region& region, const Target& target) const override {
    OrRefusal<Plan> plan = plan_of(region, target);
    if (!plan) return plan.refusal();
    if (!has_device_source(target, name())) return lacks_source(target, name());
    if (!has_own_results(region, *plan->node))
      return Refusal{"an output needs other elements of the convolution than its own"};
    DepthwiseSm80Rules rules = rules_of(*std::move(plan), target);
    if (!rules.has_legal()) return Refusal{"no tile of it fits into shared memory"};
    return std::make_shared<const DepthwiseSm80Candidate>(*this, region, target, std::move(rules));
  }
};

const RegisterTemplate<DepthwiseSm80Template> registered;

}  // namespace
}  // namespace tcc::sched::template_depthwise_sm80
