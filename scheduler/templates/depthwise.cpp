// Depthwise convolutions, and others in groups of few channels, of images whose channels are
// neighbours in memory. A thread has some neighbouring channels of a strip of results in some rows:
// of one group, or of several whole ones. It walks down the rows of pixels under its windows, reads
// each channel of its groups once, adds it to the sums of all windows that it is under, and stores
// a row of results when the last row of its windows has passed. The results of a thread are in one
// plane: of images of three dims it reads each row in all planes under its windows. Pixels come
// from memory through the first cache, which serves what neighbouring threads of a workgroup share;
// those beyond the borders are zeros that nothing loads. The filter is in registers, or as f32 in
// shared memory.
#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "scheduler/conv_dims.h"
#include "scheduler/cost.h"
#include "scheduler/templates/common.h"
#include "scheduler/templates/contraction_plan.h"
#include "scheduler/templates/grouped_convolution.h"
#include "scheduler/templates/product_candidate.h"
#include "scheduler/templates/rule_space.h"
#include "scheduler/vectorize.h"
#include "scheduler/work.h"
#include "support/checked.h"
#include "support/error.h"

namespace tcc::sched::template_depthwise {
namespace {

// The windows along one dim of the image.
struct Windows {
  int64_t in = 1, out = 1;
  int64_t taps = 1, stride = 1, dilation = 1, before = 0;

  // The pixels from the first to the last under `count` windows.
  int64_t covered(int64_t count) const { return (count - 1) * stride + (taps - 1) * dilation + 1; }
  // Whether the pixel at this distance from the first is under one of `count` windows.
  bool uses(int64_t count, int64_t pixel) const {
    for (int64_t tap = 0; tap < taps; ++tap) {
      const int64_t from = pixel - tap * dilation;
      if (from >= 0 && from % stride == 0 && from / stride < count) return true;
    }
    return false;
  }
  // The number of such pixels.
  int64_t used(int64_t count) const {
    if (stride == 1 && dilation == 1) return covered(count);
    int64_t pixels = 0;
    for (int64_t pixel = 0; pixel < covered(count); ++pixel) pixels += uses(count, pixel);
    return pixels;
  }
};

struct Plan {
  const ir::Node* node = nullptr;
  int64_t images = 1, channels = 1;  // of the results
  int64_t inputs = 1, outputs = 1;   // channels of a group
  Windows z, y, x;                   // of one dim: x; of two: y and x
  int64_t widest = 4;                // bytes of the widest element of the image or a result
  int64_t image_bytes = 4;           // of an element

  int64_t taps() const { return z.taps * y.taps * x.taps; }
  int64_t terms() const { return taps() * inputs; }  // of a sum
  int64_t all_inputs() const { return channels / outputs * inputs; }
};

// A config's values.
struct Choice {
  int64_t vector, channels, strip, rows, strips, bands, staged;
  int64_t inputs = 1;  // channels of a group that are read at once
};

constexpr int64_t kUnrolledProducts = 512;  // of a thread, whose rows of one window are unrolled
constexpr int64_t kLoopProducts = 1024;     // of an iteration over a window's rows and inputs

// The tile that a config makes.
struct Tile : Choice {
  Tile(const Plan& plan, const Choice& c)
      : Choice(c),
        groups(channels / vector),
        threads(groups * strips * bands),
        all_groups(plan.channels / vector),
        all_strips(ceil_div(plan.x.out, strip)),
        all_bands(ceil_div(plan.y.out, rows)),
        chunks(ceil_div(all_groups, groups)),
        tiles_x(ceil_div(all_strips, strips)),
        tiles_y(ceil_div(all_bands, bands)),
        workgroups(plan.images * plan.z.out * tiles_y * tiles_x * chunks),
        products(strip * rows * vector * plan.terms()),
        whole_groups(std::max<int64_t>(1, vector / plan.outputs)),
        width(whole_groups * inputs),
        input_parts(plan.inputs / inputs),
        parts(plan.z.taps * input_parts),
        rolled(rows == 1 && products > kUnrolledProducts) {}

  int64_t groups;   // vectors of channels of a workgroup
  int64_t threads;  // of a workgroup
  int64_t all_groups, all_strips, all_bands;
  int64_t chunks, tiles_x, tiles_y, workgroups;
  int64_t products;      // multiply-adds of a thread
  int64_t whole_groups;  // of the convolution, of a thread; 1 where it has a part of one
  int64_t width;         // neighbouring channels of a pixel that are read at once
  int64_t input_parts;   // of a group's inputs, one after the other,
  int64_t parts;         // in each plane of the windows
  bool rolled;           // a loop goes over the rows of a window, and over the parts

  // Multiply-adds of a thread of which there is code.
  int64_t unrolled(const Plan& plan) const {
    return rolled ? products / (plan.y.taps * parts) : products;
  }

  // Registers of a thread, about.
  int64_t registers(const Plan& plan) const {
    const int64_t live = std::min(rows,
                                  ceil_div((plan.y.taps - 1) * plan.y.dilation + 1, plan.y.stride)),
                  line = plan.x.used(strip) * width, taps = plan.x.taps * inputs * vector,
                  filter = staged ? std::min(taps, std::max(kStagedTaps, plan.x.taps * vector))
                                  : taps * parts * std::min(rows, plan.y.taps);
    // Registers of the next line, as it is loaded.
    const int64_t next = plan.inputs == 1
                             ? line * plan.widest / 4
                             : plan.x.used(strip) * ceil_div(width * plan.image_bytes, 4);
    return 28 + live * strip * vector + line + (rolled ? 0 : next) + filter;
  }
  int64_t shared_bytes(const Plan& plan) const { return staged ? plan.terms() * channels * 4 : 0; }

 private:
  static constexpr int64_t kStagedTaps = 32;  // that wait in registers
};

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

OrRefusal<Plan> plan_depthwise(const Region& region, const Target& target) {
  const OrRefusal<const ir::Node*> convolution = grouped_convolution(region);
  if (!convolution) return convolution.refusal();
  if (target.serial_workgroups) return Refusal{"shared memory is no faster on this device"};
  const ir::Node* node = *convolution;
  const ir::Value* result = node->outputs[0];
  const ir::Shape& shape = result->shape();
  Plan plan;
  plan.node = node;
  plan.images = shape[0].value();
  plan.channels = shape[1].value();
  plan.inputs = node->inputs[1]->shape()[1].value();
  plan.outputs = plan.channels / node->attr<int64_t>("groups");
  plan.x = windows_of(*node, shape.size() - 3);
  if (shape.size() > 3) plan.y = windows_of(*node, shape.size() - 4);
  if (shape.size() > 4) plan.z = windows_of(*node, 0);
  plan.image_bytes = size_bytes(node->inputs[0]->dtype());
  plan.widest = std::max<int64_t>(plan.image_bytes, size_bytes(result->dtype()));
  for (const ir::Value* output : region.outputs)
    plan.widest = std::max<int64_t>(plan.widest, size_bytes(output->dtype()));
  return plan;
}

struct DepthwiseCase {
  using Values = Choice;
  using Shape = Tile;
  Choice values() const { return {}; }
  Tile shape(const Choice& choice) const { return {plan, choice}; }

  Plan plan;
  Target target;
};

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

using DepthwiseRules = RuleSpace<DepthwiseCase>;

DepthwiseRules rules_of(const Plan& plan, const Target& target) {
  // A workgroup's channels: parts of them all, or whole sectors with a rest.
  constexpr int64_t kMost = 256;
  std::set<int64_t> channels;
  for (int64_t c = 1; c <= std::min(plan.channels, kMost); ++c) {
    const bool divides = plan.channels % c == 0, is_sector = c % 8 == 0;
    if (c == plan.channels || (divides && is_sector) || c == 32 || c == 64) channels.insert(c);
  }
  std::vector<Field<Choice>> fields = {
      {"vector", {1, 2, 4, 8}, "neighbouring channels of a thread", &Choice::vector},
      {"channels",
       {channels.begin(), channels.end()},
       "channels of a workgroup",
       &Choice::channels},
      {"strip", {1, 2, 4, 5, 7, 8, 14, 16}, "neighbouring pixels of a thread", &Choice::strip},
      {"rows", {1, 2, 4, 5, 7, 8, 14, 16}, "rows of a thread", &Choice::rows},
      {"strips", {1, 2, 4, 8}, "strips of a workgroup, side by side", &Choice::strips},
      {"bands", {1, 2, 4, 8}, "bands of rows of a workgroup", &Choice::bands},
      {"staged", {0, 1}, "1: the filter is in shared memory; 0: threads read it", &Choice::staged}};
  if (plan.inputs > 1) {
    std::vector<int64_t> inputs;
    for (const int64_t count : {1, 2, 4, 8, 16})
      if (plan.inputs % count == 0) inputs.push_back(count);
    fields.push_back(
        {"inputs", inputs, "channels of a group that are read at once", &Choice::inputs});
  }
  return {std::make_shared<const DepthwiseCase>(plan, target), std::move(fields), kValueRules,
          kRules};
}

class Depthwise : public RuledCandidate<DepthwiseCase> {
 public:
  using RuledCandidate::RuledCandidate;

  std::vector<LayoutWish> order_wishes() const override {
    return convolution_wishes(region(), *plan_.node, false);
  }

  KernelSequence lower(const Config& config) const override {
    const Plan& plan = plan_;
    const Tile tile = rules().shape(config);
    Kernel kernel = start_kernel(region());
    kernel.workgroup = static_cast<int>(tile.threads);
    kernel.grid = tile.workgroups;
    // Registers for rows that are asked for ahead take none of the other workgroups' place.
    const int64_t resident = resident_workgroups(tile);
    if (resident > 1 && resident * tile.threads <= target().max_threads_per_unit)
      kernel.resident = static_cast<int>(resident);
    const std::vector<SymInt> block = delinearize_ints(block_axis(kernel.grid),
                                                       {plan.images, plan.z.out, tile.tiles_y,
                                                        tile.tiles_x, tile.chunks}),
                              thread = delinearize_ints(thread_axis(kernel.workgroup),
                                                        {tile.bands, tile.strips, tile.groups});
    Thread at;
    at.filter = ir::new_variable("filter", DType::f32);
    if (tile.staged) {
      kernel.shared.push_back({at.filter, plan.terms() * tile.channels});
      stage_filter(kernel.body, tile, block[4], at.filter);
      kernel.body.push_back(barrier());
    }
    // Threads beyond the last band, strip or group have nothing to do.
    Block body;
    std::vector<Expr> inside;
    const auto name = [&](const char* hint, const SymInt& value, int64_t extent) {
      inside.push_back(ir::index_less(value, extent));
      const SymInt axis = SymInt::axis(hint, extent);
      if (!axis.is_const()) body.push_back(let_index(axis, value));
      return axis;
    };
    at.image = name("image", block[0], plan.images);
    at.z = block[1];
    at.y = name("band", block[2] * tile.bands + thread[0], tile.all_bands) * tile.rows;
    at.x = name("strip", block[3] * tile.strips + thread[1], tile.all_strips) * tile.strip;
    at.group = thread[2];
    const SymInt vector = name("group", block[4] * tile.groups + thread[2], tile.all_groups);
    at.channel = vector * tile.vector;
    at.input = plan.outputs > tile.vector
                   ? floordiv(vector, plan.outputs / tile.vector) * plan.inputs
                   : vector * (tile.whole_groups * plan.inputs);
    tile.rolled ? walk_rolled(body, tile, at) : walk(body, tile, at);
    append(kernel.body, guarded(inside, std::move(body)));
    return kernel;
  }

 private:
  // Workgroups of a unit whose threads have the registers that they need. A quarter of the unit's
  // registers is for a quarter of its warps, and they are given by eights. Kernels of groups of one
  // input in one plane get by with a few less: 3 x 3 in bf16 is estimated at 178, and runs with
  // 164. 3 x 3 x 3, estimated at 138, spills 48 words where it has 128.
  int64_t resident_workgroups(const Tile& tile) const {
    constexpr int64_t kParts = 4, kGiven = 8, kWarp = 32;
    const int64_t all = target().registers_per_unit, registers = tile.registers(plan_),
                  warps = ceil_div(tile.threads, kWarp);
    int64_t workgroups = all / (registers * tile.threads);
    while (workgroups > 1 && (plan_.inputs > 1 || plan_.z.taps > 1)) {
      const int64_t threads = ceil_div(workgroups * warps, kParts) * kParts * kWarp;
      if (all / threads / kGiven * kGiven >= registers) break;
      --workgroups;
    }
    return workgroups;
  }

  // The place of a thread: its first result, the first channel that it reads, its vector of
  // channels among those of the workgroup, and the filter in shared memory.
  struct Thread {
    SymInt image, z, y, x, channel, input, group;
    Variable filter;
  };

  Config make_default_config() const override {
    // Large workgroups took longer than estimated on an H200: 7 x 7 with 4 strips in 4 bands 104
    // us, with 2 in 2 90 us, where the estimates are 78 and 81.
    constexpr int64_t kFew = 4;
    const Costs costs(*this);
    const auto seconds = [&](const Tile& tile) { return costs.seconds(tile); };
    auto best =
        rules().fastest(seconds, [](const Tile& tile) { return tile.strips * tile.bands <= kFew; });
    if (!best) best = rules().fastest(seconds);
    TCC_CHECK(best, "no legal config of a depthwise convolution");
    return rules().config(best->values);
  }

  // The counts that estimates need.
  class Costs {
   public:
    explicit Costs(const Depthwise& of)
        : plan_(of.plan_), target_(of.target()), bytes_(region_bytes(of.region())) {
      const ir::Node& node = *plan_.node;
      plan_.node = nullptr;  // the model outlives the graph
      in_bytes_ = size_bytes(node.inputs[0]->dtype());
      filter_bytes_ = size_bytes(node.inputs[1]->dtype());
      const SymInt input = SymInt::axis("channel", plan_.all_inputs()),
                   channel = SymInt::axis("channel", plan_.channels);
      Inliner inliner(of.region());
      const Expr pixel = inliner.value_at(node.inputs[0], of.index_of(0, input, {}));
      computed_ = pixel->kind != ir::ExprNode::Kind::load;
      const Expr pixels[] = {pixel};
      const ElementWork brought = element_work(pixels, input);
      pixel_slots_ = brought.slots + (in_bytes_ < 4 ? 1 : 0);
      sectors_ = brought.scattered > 0 ? 32 / in_bytes_ : 1;
      std::vector<Expr> results;
      const std::vector<SymInt> at = of.index_of(0, channel, {});
      for (const Sink& sink : of.results_at(at, ir::read(ir::new_variable("sum", DType::f32))))
        results.push_back(sink.value);
      const ElementWork stored = element_work(results, channel);
      result_slots_ = stored.slots;
      result_reads_ = stored.contiguous + stored.scattered;
      for (const ir::Value* output : of.region().outputs) out_bytes_ += size_bytes(output->dtype());
    }

    double seconds(const Tile& t) const {
      const auto count = [](int64_t n) { return static_cast<double>(n); };
      const double vector = count(t.vector), strip = count(t.strip), rows = count(t.rows),
                   width = count(t.width), terms = count(plan_.terms()),
                   workgroups = count(t.workgroups), threads = count(t.threads),
                   warps = std::ceil(threads / 32);
      // These are of one thread.
      const double lines = count((t.rolled ? plan_.y.taps : plan_.y.used(t.rows)) * t.parts),
                   line = count(plan_.x.used(t.strip)), pixels = lines * line,
                   results = strip * rows;
      const auto loads = [&](double elements, double bytes) {
        return std::ceil(elements * bytes / 16);
      };
      // Lanes of several pixels read several lines of the cache.
      const auto cycles = [&](double bytes) {
        return std::max({1.5, 32 / count(t.groups), bytes / 4});
      };
      // Threads with parts of one group read the same pixels. Of wide groups each asks for a part.
      const double pixel_cycles = cycles(count(t.whole_groups * plan_.inputs) * in_bytes_ /
                                         count(std::max<int64_t>(1, plan_.outputs / t.vector)));
      const bool borders = plan_.z.before > 0 || plan_.y.before > 0 || plan_.x.before > 0;
      const double pixel_loads = pixels * loads(width, in_bytes_) * sectors_,
                   filter_loads = t.staged ? rows * terms * loads(vector, 4)
                                           : terms * loads(vector, filter_bytes_),
                   result_stores = results * loads(vector, out_bytes_),
                   result_loads = results * loads(vector, in_bytes_) * result_reads_;
      const double products = count(t.products);
      double issued = products + pixels * width * pixel_slots_ + pixel_loads;
      if (borders || computed_) issued += pixels * (computed_ ? 4 : 1.5);
      issued += filter_loads + (t.staged || filter_bytes_ == 4 ? 0 : terms * vector);
      issued += results * vector * (result_slots_ + (out_bytes_ < 4 ? 0.5 : 0)) + result_stores +
                result_loads + results;
      const double code = t.rolled ? issued / count(plan_.y.taps * t.parts) : issued;
      issued += 60;
      double accesses = pixel_loads + filter_loads + result_stores + result_loads;
      double pipe = pixel_loads * pixel_cycles + result_stores * cycles(vector * out_bytes_) +
                    result_loads * cycles(vector * in_bytes_);
      // Threads with the same channels read the same words of shared memory.
      pipe += filter_loads *
              (t.staged ? std::max(1.0, std::min(vector, 4.0) * std::min(1.0, count(t.groups) / 32))
                        : cycles(vector * filter_bytes_));
      LaunchCost cost;
      if (t.staged) {
        const double brought = std::ceil(terms * count(t.groups) / threads);
        issued += brought * (12 + 3 * vector);
        accesses += brought * (1 + vector);
        cost.shared_bytes = count(t.shared_bytes(plan_));
        cost.stalls = 1;
        cost.barriers = 1;
      }
      cost.workgroups = workgroups;
      cost.threads = threads;
      const double all = workgroups * warps * 32;
      cost.arithmetic = all * issued * kIssue;
      cost.accesses = all * accesses;
      cost.bank_cycles = workgroups * warps * std::max(0.0, pipe - accesses);
      cost.elements = cost.accesses * vector;
      cost.registers = count(t.registers(plan_));
      cost.parallelism = std::min(8.0, vector * strip);
      cost.memory_bytes = bytes_;
      // Pixels that threads of a workgroup share are read once; caches move sectors of 32 bytes.
      const int64_t high = std::min(t.bands, t.all_bands) * t.rows,
                    wide = std::min(t.strips, t.all_strips) * t.strip;
      const double own = count(plan_.z.taps * plan_.y.covered(high) * plan_.x.covered(wide)),
                   channels = count(t.channels),
                   inputs = count(ceil_div(t.channels, plan_.outputs) * plan_.inputs),
                   brought =
                       own * std::max(32.0, std::ceil(inputs * in_bytes_ / 32) * 32) * sectors_,
                   stored = count(high * wide) * std::max(32.0, channels * out_bytes_),
                   filter = terms * channels * filter_bytes_;
      cost.cache_bytes = workgroups * (brought + stored + filter);
      // Two lines are on their way, of which neighbours ask for the same.
      const double asked = threads * pixels * width * in_bytes_;
      cost.bytes_in_flight =
          std::max(4.0, 2 * line * width * in_bytes_ * std::min(1.0, brought / asked));
      cost.round_trips = 1 + 0.2 * lines;
      return predicted_seconds(cost, target_) + code * kFetch;
    }

   private:
    static constexpr double kIssue = 1.12;    // slots for an instruction: operands' banks meet
    static constexpr double kFetch = 0.5e-9;  // seconds until a new instruction has been fetched

    Plan plan_;
    Target target_;
    double bytes_, in_bytes_ = 4, filter_bytes_ = 4, out_bytes_ = 0;
    double pixel_slots_ = 0, sectors_ = 1, result_slots_ = 0, result_reads_ = 0;
    bool computed_ = false;
  };

  ShapeModel shape_model() const override {
    return [costs = Costs(*this)](const Tile& tile) { return costs.seconds(tile); };
  }

  static Expr inside_of(const SymInt& at, int64_t extent) {
    const Expr both[] = {ir::index_less(-1, at), ir::index_less(at, extent)};
    return ir::all_of(both);
  }
  static Block each(const SymInt& axis, Block body) {
    return axis.is_const() ? body : Block{loop(axis, std::move(body), true)};
  }

  std::vector<SymInt> index_of(const SymInt& outer, const SymInt& channel, const Pixel& at) const {
    return image_index(*plan_.node, outer, channel, at);
  }

  // Where the filter's weight is in shared memory: [term, quarter, vector, lane], so that threads
  // with neighbouring vectors read neighbouring words, at most four each.
  static SymInt staged_place(const Tile& tile, const SymInt& term, const SymInt& vector,
                             const SymInt& lane) {
    const int64_t words = std::min<int64_t>(tile.vector, 4);
    if (words == tile.vector) return (term * tile.groups + vector) * words + lane;
    return ((term * (tile.vector / words) + floordiv(lane, words)) * tile.groups + vector) * words +
           mod(lane, words);
  }

  // Brings the filter of the workgroup's channels to shared memory.
  void stage_filter(Block& block, const Tile& tile, const SymInt& chunk,
                    const Variable& filter) const {
    const int64_t all = plan_.terms() * tile.groups, steps = ceil_div(all, tile.threads);
    const SymInt step = SymInt::axis("step", steps), item = SymInt::axis("item", all),
                 number = step * tile.threads + thread_axis(tile.threads),
                 lane = SymInt::axis("v", tile.vector), term = floordiv(item, tile.groups),
                 group = mod(item, tile.groups);
    Block body;
    if (!item.is_const()) body.push_back(let_index(item, number));
    const SymInt channel =
        ir::min(chunk * tile.groups + group, tile.all_groups - 1) * tile.vector + lane;
    const Expr weight = tap_at(channel, floordiv(term, plan_.inputs), mod(term, plan_.inputs));
    append(body, vectorize({{-1, filter, staged_place(tile, term, group, lane), weight}}, lane));
    const Expr guards[] = {ir::index_less(number, all)};
    append(block, each(step, guarded(guards, std::move(body))));
  }

  // The weight of an input of the channel's group.
  Expr tap_at(const SymInt& channel, const SymInt& tap, const SymInt& input) const {
    Inliner inliner(region());
    const std::vector<SymInt> at =
        index_of(channel, input,
                 {floordiv(tap, plan_.y.taps * plan_.x.taps),
                  mod(floordiv(tap, plan_.x.taps), plan_.y.taps), mod(tap, plan_.x.taps)});
    return ir::cast(inliner.value_at(plan_.node->inputs[1], at), DType::f32);
  }

  // The plane of the windows that a part is in.
  static SymInt plane_of(const Tile& tile, const SymInt& part) {
    return floordiv(part, tile.input_parts);
  }

  // A row of the filter for the thread's channels, of a part of the inputs in a plane: [tap, input,
  // lane].
  Variable taps_of(Block& block, const Tile& tile, const Thread& at, const SymInt& r,
                   const SymInt& part) const {
    const SymInt k = SymInt::axis("k", plan_.x.taps), c = SymInt::axis("c", tile.inputs),
                 lane = SymInt::axis("v", tile.vector),
                 tap = (plane_of(tile, part) * plan_.y.taps + r) * plan_.x.taps + k,
                 input = mod(part, tile.input_parts) * tile.inputs + c;
    const Variable taps = ir::new_variable("taps", DType::f32);
    block.push_back(array(taps, plan_.x.taps * tile.inputs * tile.vector));
    const SymInt place = (k * tile.inputs + c) * tile.vector + lane;
    Block body;
    if (tile.staged)
      body = each(lane,
                  {set_element(taps, place,
                               ir::element(at.filter, staged_place(tile, tap * plan_.inputs + input,
                                                                   at.group, lane)))});
    else
      body = vectorize({{-1, taps, place, tap_at(at.channel + lane, tap, input)}}, lane);
    append(block, each(k, each(c, std::move(body))));
    return taps;
  }

  // The pixels of a row under the thread's windows, of a part of the inputs in a plane: [column,
  // lane], zeros beyond the borders.
  Variable line_of(Block& block, const Tile& tile, const Thread& at, const SymInt& row,
                   const SymInt& part) const {
    const Variable line = ir::new_variable("line", DType::f32);
    const int64_t covered = plan_.x.covered(tile.strip);
    block.push_back(array(line, covered * tile.width));
    const SymInt z = at.z * plan_.z.stride - plan_.z.before +
                     plane_of(tile, part) * plan_.z.dilation,
                 y = at.y * plan_.y.stride - plan_.y.before + row;
    const SymInt first = at.x * plan_.x.stride - plan_.x.before;
    // Columns that are under windows and that may be outside on the same sides are one loop.
    const auto kind = [&](int64_t column) {
      if (!plan_.x.uses(tile.strip, column)) return 0;
      const ir::Interval range = (first + column).range();
      return 1 + (range.lo < 0 ? 1 : 0) + (range.hi >= plan_.x.in ? 2 : 0);
    };
    for (int64_t begin = 0, end = 0; begin < covered; begin = end) {
      for (end = begin; end < covered && kind(end) == kind(begin);) ++end;
      if (kind(begin) == 0) continue;
      const SymInt column = SymInt::axis("j", end - begin) + begin, axis = column - begin;
      const Expr inside[] = {inside_of(z, plan_.z.in), inside_of(y, plan_.y.in),
                             inside_of(first + column, plan_.x.in)};
      append(block, each(axis, pixel_at(tile, at, part, {z, y, first + column}, ir::all_of(inside),
                                        line, column * tile.width)));
    }
    return line;
  }

  Block pixel_at(const Tile& tile, const Thread& at, const SymInt& part, const Pixel& pixel,
                 const Expr& inside, const Variable& line, const SymInt& place) const {
    const SymInt lane = SymInt::axis("v", tile.width);
    const ir::Value* image = plan_.node->inputs[0];
    const SymInt input = at.input + mod(part, tile.input_parts) * tile.inputs + lane;
    const auto value = [&](const Pixel& of) {
      const std::vector<SymInt> index = index_of(at.image, input, of);
      Inliner inliner(region());
      return ir::cast(inliner.value_at(image, index), DType::f32);
    };
    const Expr plain = value(pixel);
    const bool is_vector = plain->kind == ir::ExprNode::Kind::load &&
                           (lane.is_const() || coefficient(plain->index, lane) == 1);
    if (is_vector) {  // not loaded where it is outside
      const Variable loaded = ir::new_variable("x", DType::f32);
      const SymInt from = lane.is_const() ? plain->index : plain->index.substitute(lane, 0);
      Block block = {array(loaded, tile.width),
                     load_vector(loaded, plain->buffer, from, tile.width)};
      block.back().value = inside;
      append(block, each(lane, {set_element(line, place + lane, ir::element(loaded, lane))}));
      return block;
    }
    const auto clamped = [](const SymInt& i, int64_t extent) {
      return ir::min(ir::max(i, 0), extent - 1);
    };
    const Expr near = value(
        {clamped(pixel.z, plan_.z.in), clamped(pixel.y, plan_.y.in), clamped(pixel.x, plan_.x.in)});
    const Expr chosen = inside ? ir::select(inside, near, zero_of(DType::f32)) : near;
    return vectorize({{-1, line, place + lane, chosen}}, lane);
  }

  // sums[i] += line[i * stride + k * dilation, c] * taps[k, c], of all lanes: those of the results
  // of each of the groups, and of its inputs c.
  void add_products(Block& block, const Tile& tile, const Variable& sums, const Variable& line,
                    const Variable& taps) const {
    const int64_t outputs = tile.vector / tile.whole_groups;
    const SymInt i = SymInt::axis("i", tile.strip), k = SymInt::axis("k", plan_.x.taps),
                 c = SymInt::axis("c", tile.inputs), group = SymInt::axis("g", tile.whole_groups),
                 output = SymInt::axis("v", outputs), lane = group * outputs + output;
    const SymInt column = i * plan_.x.stride + k * plan_.x.dilation;
    const Expr product =
        ir::call(ir::Fn::fma, {ir::element(line, column * tile.width + group * tile.inputs + c),
                               ir::element(taps, (k * tile.inputs + c) * tile.vector + lane),
                               ir::element(sums, i * tile.vector + lane)});
    Block body = each(group, each(output, {set_element(sums, i * tile.vector + lane, product)}));
    append(block, each(k, each(c, each(i, std::move(body)))));
  }

  Variable new_sums(Block& block, const Tile& tile) const {
    const Variable sums = ir::new_variable("sums", DType::f32);
    const SymInt i = SymInt::axis("i", tile.strip * tile.vector);
    block.push_back(array(sums, tile.strip * tile.vector));
    append(block, each(i, {set_element(sums, i, zero_of(DType::f32))}));
    return sums;
  }

  // One row of results, by a loop over the rows of the windows, and over their parts.
  void walk_rolled(Block& block, const Tile& tile, const Thread& at) const {
    const Variable sums = new_sums(block, tile);
    const SymInt r = SymInt::axis("r", plan_.y.taps), part = SymInt::axis("part", tile.parts);
    Block body;
    const Variable line = line_of(body, tile, at, r * plan_.y.dilation, part),
                   taps = taps_of(body, tile, at, r, part);
    add_products(body, tile, sums, line, taps);
    for (const SymInt& axis : {part, r})
      if (!axis.is_const()) body = {loop(axis, std::move(body))};
    append(block, std::move(body));
    store_row(block, tile, at, 0, sums);
  }

  // All rows that the windows cover, from the top, and the parts of each; the next is asked for
  // before one is used.
  void walk(Block& block, const Tile& tile, const Thread& at) const {
    std::vector<std::pair<int64_t, int64_t>> used;  // rows, and their parts
    for (int64_t row = 0; row < plan_.y.covered(tile.rows); ++row)
      for (int64_t part = 0; part < tile.parts && plan_.y.uses(tile.rows, row); ++part)
        used.emplace_back(row, part);
    std::map<int64_t, Variable> sums;
    std::map<std::pair<int64_t, int64_t>, Variable> taps;
    const auto line_at = [&](size_t n) {
      return line_of(block, tile, at, used[n].first, used[n].second);
    };
    std::optional<Variable> next = line_at(0);
    for (size_t n = 0; n < used.size(); ++n) {
      const Variable line = *next;
      const auto [row, part] = used[n];
      if (n + 1 < used.size()) next = line_at(n + 1);
      for (int64_t i = 0; i < tile.rows; ++i) {
        const int64_t down = row - i * plan_.y.stride, r = down / plan_.y.dilation;
        if (down < 0 || down % plan_.y.dilation != 0 || r >= plan_.y.taps) continue;
        if (r == 0 && part == 0) sums.emplace(i, new_sums(block, tile));
        const std::pair key(r, part);
        if (tile.staged) taps.erase(key);
        if (!taps.contains(key)) taps.emplace(key, taps_of(block, tile, at, r, part));
        add_products(block, tile, sums.at(i), line, taps.at(key));
        if (r == plan_.y.taps - 1 && part == tile.parts - 1)
          store_row(block, tile, at, i, sums.at(i));
      }
    }
  }

  // Stores the results of a row from their sums: [pixel, lane].
  void store_row(Block& block, const Tile& tile, const Thread& thread, int64_t row,
                 const Variable& sums) const {
    const SymInt i = SymInt::axis("i", tile.strip), lane = SymInt::axis("v", tile.vector);
    Block body;
    std::vector<Expr> inside;
    // Within the image an index has its range.
    const auto bounded = [&](const char* hint, const SymInt& index, int64_t extent) {
      if (index.range().hi < extent) return index;
      inside.push_back(ir::index_less(index, extent));
      const SymInt axis = SymInt::axis(hint, extent);
      if (!axis.is_const()) body.push_back(let_index(axis, index));
      return axis;
    };
    const SymInt y = bounded("y", thread.y + row, plan_.y.out),
                 x = bounded("x", thread.x + i, plan_.x.out);
    const std::vector<SymInt> at = index_of(thread.image, thread.channel + lane, {thread.z, y, x});
    const std::vector<Sink> results = results_at(at, ir::element(sums, i * tile.vector + lane));
    TCC_CHECK(!results.empty(), "a result needs other elements of the convolution than its own");
    append(body, vectorize(results, lane));
    append(block, each(i, guarded(inside, std::move(body))));
  }

  std::vector<Sink> results_at(const std::vector<SymInt>& at, const Expr& sum) const {
    return convolution_results(region(), *plan_.node, at, sum);
  }

  const Plan& plan_ = rules().of().plan;
};

class DepthwiseTemplate : public Template {
 public:
  std::string_view name() const override { return "depthwise"; }
  int version() const override { return 2; }
  int specificity() const override { return 1; }
  // Groups of several channels are products, too, which other templates compute.
  bool is_compared(const Region& region) const override {
    return region.anchor && has_small_groups(*region.anchor);
  }

  Match match(const Region& region, const Target& target) const override {
    const OrRefusal<Plan> plan = plan_depthwise(region, target);
    if (!plan) return plan.refusal();
    DepthwiseRules rules = rules_of(*plan, target);
    if (!rules.has_legal()) return Refusal{"no tile fits into registers"};
    if (!has_own_results(region, *plan->node))
      return Refusal{"an output needs other elements of the convolution than its own"};
    return std::make_shared<const Depthwise>(*this, region, target, std::move(rules));
  }
};

const RegisterTemplate<DepthwiseTemplate> registered;

}  // namespace

}  // namespace tcc::sched::template_depthwise
