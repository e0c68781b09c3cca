// Depthwise convolutions of images whose channels are neighbours in memory. A workgroup brings the
// pixels that its windows cover to shared memory once, as f32, with zeros beyond the borders. A
// thread has one channel of a strip of pixels of a row, whose windows share what it reads. Sums go
// back through shared memory, so that results are computed and stored in vectors.
#include <algorithm>

#include "scheduler/cost.h"
#include "scheduler/templates/common.h"
#include "scheduler/templates/contraction_plan.h"
#include "scheduler/templates/product_candidate.h"
#include "scheduler/vectorize.h"
#include "scheduler/work.h"
#include "support/checked.h"
#include "support/error.h"

namespace tcc::sched {
namespace {

// The windows along one dim of the image.
struct Windows {
  int64_t in = 1, out = 1;
  int64_t taps = 1, stride = 1, dilation = 1, before = 0;

  // The pixels under `count` windows.
  int64_t covered(int64_t count) const { return (count - 1) * stride + (taps - 1) * dilation + 1; }
};

struct Plan {
  const ir::Node* node = nullptr;
  int64_t images = 1, channels = 1;
  Windows y, x;
  int64_t vector = 4;  // channels of 16 bytes
};

// The tile that a config makes.
struct Tile {
  Tile(const Plan& plan, const Config& c)
      : channels(c["channels"]),
        rows(c["rows"]),
        strip(c["strip"]),
        strips(c["strips"]),
        columns(strip * strips),
        in_rows(plan.y.covered(rows)),
        in_columns(plan.x.covered(columns)),
        threads(channels * rows * strips),
        window(plan.x.covered(strip)),
        tiles_y(ceil_div(plan.y.out, rows)),
        tiles_x(ceil_div(plan.x.out, columns)),
        workgroups(plan.images * tiles_y * tiles_x * (plan.channels / channels)),
        pixels(in_rows * in_columns),
        taps(plan.y.taps * plan.x.taps),
        groups(channels / plan.vector),
        pitch(channels + groups) {}
  int64_t channels, rows, strip, strips, columns;
  int64_t in_rows, in_columns;
  int64_t threads;
  int64_t window;  // pixels that a strip's windows cover in a row
  int64_t tiles_y, tiles_x, workgroups;
  int64_t pixels, taps;
  int64_t groups;  // vectors of a pixel's channels
  // Elements from one pixel to the next in shared memory: neighbouring vectors of neighbouring
  // pixels begin in different banks.
  int64_t pitch;

  int64_t shared_bytes() const { return (pixels + taps) * pitch * 4; }
};

int64_t entry(const ir::Node& node, std::string_view attribute, size_t at) {
  const std::vector<int64_t> values = node.ints(std::string(attribute));
  return values.size() == 1 ? values[0] : values[at];
}

Windows windows_of(const ir::Node& node, size_t d) {
  Windows windows;
  windows.in = node.inputs[0]->shape()[d + 2].value();
  windows.out = node.outputs[0]->shape()[d + 2].value();
  windows.taps = node.inputs[1]->shape()[d + 2].value();
  windows.stride = entry(node, "stride", d);
  windows.dilation = entry(node, "dilation", d);
  windows.before = entry(node, "padding", 2 * d);
  return windows;
}

OrRefusal<Plan> plan_depthwise(const Region& region, const Target& target) {
  if (region.anchor) return Refusal{"it is anchored by more than elements", true};
  const ir::Node* node = nullptr;
  for (const ir::Node* other : region.nodes) {
    if (other->op->kind == ir::OpKind::contraction) {
      if (node || !is_depthwise(*other))
        return Refusal{str(other->op_name(), " is no depthwise convolution alone"), true};
      node = other;
    } else if (other->op->kind != ir::OpKind::pointwise && other->op->kind != ir::OpKind::view) {
      return Refusal{str(other->op_name(), " is neither element-wise nor a view"), true};
    }
  }
  if (!node) return Refusal{"it has no depthwise convolution", true};
  if (!open_dims(region).empty()) return Refusal{"sizes come at run time"};
  if (target.serial_workgroups) return Refusal{"shared memory is no faster on this device"};
  const ir::Value* result = node->outputs[0];
  const ir::Shape& shape = result->shape();
  if (shape.size() != 4) return Refusal{"its images have other than two dims"};
  if (accumulator_dtype(result->dtype()) != DType::f32) return Refusal{"it sums up in no f32"};
  std::vector<SymInt> at;
  for (const SymInt& extent : shape) at.push_back(SymInt::axis("at", extent));
  for (const ir::Value* output : region.outputs) {
    const StoredThrough through = peel_views(region, output, result);
    if (through.base->shape() != shape) return Refusal{"its results have other shapes"};
    const SymInt offset = region.layout(output).offset(through.output_index(at));
    if (at[1].is_const() || coefficient(offset, at[1]) != 1)
      return Refusal{"channels are no neighbours in its results"};
  }
  Plan plan;
  plan.node = node;
  plan.images = shape[0].value();
  plan.channels = shape[1].value();
  plan.y = windows_of(*node, 0);
  plan.x = windows_of(*node, 1);
  int64_t widest = 2;
  for (const ir::Value* output : region.outputs)
    widest = std::max<int64_t>(widest, size_bytes(output->dtype()));
  plan.vector = 16 / widest;
  if (plan.channels % plan.vector != 0) return Refusal{"its channels are no whole vectors"};
  if (numel(result) == 0) return Refusal{"it has no elements"};
  return plan;
}

class Depthwise : public Candidate {
 public:
  Depthwise(const Template& by, const Region& region, const Target& target, const Plan& plan)
      : Candidate(by, region, target), plan_(plan) {}

  std::vector<LayoutWish> order_wishes() const override {
    return convolution_wishes(region(), *plan_.node, false);
  }

  KernelSequence lower(const Config& config) const override {
    const Region& region = this->region();
    const Plan& plan = plan_;
    const Tile tile(plan, config);
    Kernel kernel = start_kernel(region);
    kernel.workgroup = static_cast<int>(tile.threads);
    kernel.grid = tile.workgroups;
    const std::vector<SymInt> block =
        delinearize_ints(block_axis(kernel.grid),
                         {plan.images, tile.tiles_y, tile.tiles_x, plan.channels / tile.channels});
    const SymInt thread = thread_axis(kernel.workgroup);
    const auto name = [&](const char* hint, const SymInt& value, int64_t extent) {
      const SymInt axis = SymInt::axis(hint, extent);
      if (!axis.is_const()) kernel.body.push_back(let_index(axis, value));
      return axis;
    };
    const SymInt image = name("image", block[0], plan.images),
                 tile_y = name("tile_y", block[1], tile.tiles_y),
                 tile_x = name("tile_x", block[2], tile.tiles_x),
                 chunk = name("chunk", block[3], plan.channels / tile.channels);
    const SymInt y0 = tile_y * tile.rows, x0 = tile_x * tile.columns, c0 = chunk * tile.channels;
    const Variable pixels = ir::new_variable("pixels", DType::f32),
                   filter = ir::new_variable("filter", DType::f32);
    kernel.shared.push_back({pixels, tile.pixels * tile.pitch});
    kernel.shared.push_back({filter, tile.taps * tile.pitch});
    Inliner inliner(region);
    bring(kernel.body, tile, tile.taps, thread, [&](const SymInt& tap, const SymInt& channel) {
      const std::vector<SymInt> at = {c0 + channel, SymInt(0), floordiv(tap, plan.x.taps),
                                      mod(tap, plan.x.taps)};
      return Sink{-1, filter, tap * tile.pitch,
                  ir::cast(inliner.value_at(plan.node->inputs[1], at), DType::f32)};
    });
    bring(kernel.body, tile, tile.pixels, thread, [&](const SymInt& pixel, const SymInt& channel) {
      const SymInt y = y0 * plan.y.stride - plan.y.before + floordiv(pixel, tile.in_columns),
                   x = x0 * plan.x.stride - plan.x.before + mod(pixel, tile.in_columns);
      const std::vector<SymInt> at = {image, c0 + channel, clamped(y, plan.y.in),
                                      clamped(x, plan.x.in)};
      const Expr value = ir::cast(inliner.value_at(plan.node->inputs[0], at), DType::f32);
      const Expr inside[] = {inside_of(y, plan.y.in), inside_of(x, plan.x.in)};
      const Expr valid = ir::all_of(inside);  // null: always
      return Sink{-1, pixels, pixel * tile.pitch,
                  valid ? ir::select(valid, value, zero_of(DType::f32)) : value};
    });
    kernel.body.push_back(barrier());
    sum_up(kernel.body, tile, thread, pixels, filter);
    kernel.body.push_back(barrier());
    store_results(kernel.body, tile, thread, {image, y0, x0, c0}, pixels);
    return kernel;
  }

 private:
  ConfigSpace make_space() const override {
    const Plan& plan = plan_;
    const Target& target = this->target();
    ConfigSpace space;
    std::vector<int64_t> channels;
    for (int64_t c = plan.vector; c <= std::min<int64_t>(plan.channels, 128); c += plan.vector)
      if (plan.channels % c == 0) channels.push_back(c);
    if (channels.empty()) channels.push_back(plan.vector);
    space.parameters = {
        {"channels", channels, "channels of a workgroup"},
        {"strip", {1, 2, 4, 5, 7, 8, 10, 14, 16}, "neighbouring pixels of a thread"},
        {"strips", {1, 2, 3, 4, 7, 8}, "strips of a workgroup's row"},
        {"rows", {1, 2, 3, 4, 5, 7, 8, 14, 16}, "rows of a workgroup"},
    };
    space.constraints = {
        {"a workgroup has at least 32 threads, and no more than the device allows",
         [plan, most = target.max_workgroup_size](const Config& c) {
           const Tile tile(plan, c);
           return tile.threads >= 32 && tile.threads <= most && tile.threads % 32 == 0;
         }},
        {"tiles do not reach over the image by as much as a strip or a row",
         [plan](const Config& c) {
           const Tile tile(plan, c);
           return tile.columns - tile.strip < plan.x.out && tile.strip < 2 * plan.x.out &&
                  tile.rows < 2 * plan.y.out;
         }},
        {"pixels and filter fit into shared memory",
         [plan, bytes = target.static_shared_bytes()](const Config& c) {
           return Tile(plan, c).shared_bytes() <= bytes;
         }},
        {"a strip and its windows fit into registers",
         [plan](const Config& c) {
           const Tile tile(plan, c);
           return tile.strip + tile.window + plan.x.taps <= 64;
         }},
    };
    return space;
  }

  Config make_default_config() const override {
    std::optional<Config> best;
    double least = 0;
    own_space().enumerate([&](const Config& config) {
      const double seconds = estimate(config);
      if (!best || seconds < least) {
        best = config;
        least = seconds;
      }
      return true;
    });
    TCC_CHECK(best, "no legal config of a depthwise convolution");
    return *best;
  }

  CostModel make_cost_model() const override {
    const Plan& plan = plan_;
    const Region& region = this->region();
    const double bytes = region_bytes(region), slots = region_slots(region);
    const auto in_bytes = static_cast<double>(size_bytes(plan.node->inputs[0]->dtype()));
    double out_bytes = 0;
    for (const ir::Value* output : region.outputs) out_bytes += size_bytes(output->dtype());
    return [=, target = target()](const Config& c) {
      const Tile tile(plan, c);
      const auto workgroups = static_cast<double>(tile.workgroups),
                 channels = static_cast<double>(tile.channels),
                 vector = static_cast<double>(plan.vector),
                 pixels = static_cast<double>(tile.pixels + tile.taps),
                 results = static_cast<double>(tile.rows * tile.columns),
                 taps_y = static_cast<double>(plan.y.taps),
                 taps_x = static_cast<double>(plan.x.taps);
      LaunchCost cost;
      cost.workgroups = workgroups;
      cost.threads = static_cast<double>(tile.threads);
      cost.shared_bytes = static_cast<double>(tile.shared_bytes());
      const double threads = workgroups * cost.threads;
      const double reads = taps_y * (static_cast<double>(tile.window) + taps_x);
      const double moved = workgroups * channels * (pixels + results);
      cost.accesses =
          threads * (reads + static_cast<double>(tile.strip)) + moved * (1 + 1 / vector);
      cost.elements = cost.accesses;
      cost.arithmetic = threads * (taps_y * taps_x * static_cast<double>(tile.strip) + 3 * taps_y) +
                        moved * (2 + 12 / vector) + slots;
      cost.memory_bytes = bytes;
      // Caches move sectors of 32 bytes.
      cost.cache_bytes = workgroups * (pixels * std::max(32.0, channels * in_bytes) +
                                       results * std::max(32.0, channels * out_bytes));
      // Lanes that have different strips meet in some banks.
      const double strips = std::max(0.0, 32 / channels - 1);
      cost.bank_cycles = threads / 32 * reads * strips / 2;
      const double steps = std::ceil(pixels * channels / vector / cost.threads);
      cost.registers = 24 + static_cast<double>(tile.strip + tile.window + plan.x.taps);
      cost.bytes_in_flight = 16 * std::min(steps, 4.0);
      cost.round_trips = 1 + steps / 4;
      cost.stalls = 1;
      cost.barriers = 2;
      return predicted_seconds(cost, target);
    };
  }

  static SymInt clamped(const SymInt& at, int64_t extent) {
    return ir::min(ir::max(at, 0), extent - 1);
  }
  static Expr inside_of(const SymInt& at, int64_t extent) {
    const Expr both[] = {ir::index_less(-1, at), ir::index_less(at, extent)};
    return ir::all_of(both);
  }

  // The place of channel `group * vector + lane` among those of a pixel in shared memory: lanes are
  // apart, so that threads with neighbouring vectors store to different banks.
  static SymInt place(const Tile& tile, const SymInt& group, const SymInt& lane) {
    return lane * tile.groups + group;
  }

  // Calls `body` with the number of an item and its vector of channels, for all of `count` items'.
  template <class Body>
  void for_vectors(Block& block, const Tile& tile, int64_t count, const SymInt& thread,
                   const Body& body) const {
    constexpr int64_t kUnrolled = 4;
    const int64_t groups = tile.groups, all = count * groups, steps = ceil_div(all, tile.threads),
                  rounds = ceil_div(steps, kUnrolled);
    const SymInt round = SymInt::axis("round", rounds),
                 step = SymInt::axis("s", std::min(steps, kUnrolled)),
                 number = (round * std::min(steps, kUnrolled) + step) * tile.threads + thread;
    const SymInt item = SymInt::axis("item", all);
    Block inner;
    if (!item.is_const()) inner.push_back(let_index(item, number));
    append(inner, body(floordiv(item, groups), mod(item, groups)));
    const Expr guard = ir::index_less(number, all);
    const Expr guards[] = {guard};
    inner = guarded(guards, std::move(inner));
    if (!step.is_const()) inner = {loop(step, std::move(inner), true)};
    if (!round.is_const()) inner = {loop(round, std::move(inner))};
    append(block, std::move(inner));
  }

  // Stores the values of sinks to shared memory, whose offset is that of the item.
  template <class Value>
  void bring(Block& block, const Tile& tile, int64_t count, const SymInt& thread,
             const Value& value) const {
    for_vectors(block, tile, count, thread, [&](const SymInt& item, const SymInt& group) {
      const SymInt lane = SymInt::axis("v", plan_.vector);
      Sink sink = value(item, group * plan_.vector + lane);
      sink.offset = sink.offset + place(tile, group, lane);
      return vectorize({sink}, lane);
    });
  }

  void sum_up(Block& block, const Tile& tile, const SymInt& thread, const Variable& pixels,
              const Variable& filter) const {
    const Plan& plan = plan_;
    const SymInt channel = mod(thread, tile.channels), strip = floordiv(thread, tile.channels),
                 row = floordiv(strip, tile.strips), first = mod(strip, tile.strips) * tile.strip;
    const Variable sums = ir::new_variable("sums", DType::f32),
                   line = ir::new_variable("line", DType::f32),
                   taps = ir::new_variable("taps", DType::f32);
    const SymInt i = SymInt::axis("i", tile.strip), k = SymInt::axis("k", plan.x.taps),
                 r = SymInt::axis("r", plan.y.taps), j = SymInt::axis("j", tile.window);
    const auto each = [](const SymInt& axis, Block body) {
      return axis.is_const() ? body : Block{loop(axis, std::move(body), true)};
    };
    block.push_back(array(sums, tile.strip));
    append(block, each(i, {set_element(sums, i, zero_of(DType::f32))}));
    Block of_row;
    of_row.push_back(array(line, tile.window));
    const SymInt at =
        (row * plan.y.stride + r * plan.y.dilation) * tile.in_columns + first * plan.x.stride + j;
    append(of_row, each(j, {set_element(line, j, ir::element(pixels, at * tile.pitch + channel))}));
    of_row.push_back(array(taps, plan.x.taps));
    append(
        of_row,
        each(k, {set_element(taps, k,
                             ir::element(filter, (r * plan.x.taps + k) * tile.pitch + channel))}));
    const Expr product =
        ir::call(ir::Fn::fma, {ir::element(line, i * plan.x.stride + k * plan.x.dilation),
                               ir::element(taps, k), ir::element(sums, i)});
    append(of_row, each(k, each(i, {set_element(sums, i, product)})));
    append(block, r.is_const() ? of_row : Block{loop(r, std::move(of_row))});
    // The sums take the place of the pixels, which all threads have read.
    block.push_back(barrier());
    append(block,
           each(i, {set_element(pixels, (row * tile.columns + first + i) * tile.pitch + channel,
                                ir::element(sums, i))}));
  }

  struct Corner {
    SymInt image, y, x, channel;
  };
  void store_results(Block& block, const Tile& tile, const SymInt& thread, const Corner& corner,
                     const Variable& pixels) const {
    const Plan& plan = plan_;
    for_vectors(block, tile, tile.rows * tile.columns, thread,
                [&](const SymInt& item, const SymInt& group) {
                  const SymInt lane = SymInt::axis("v", plan.vector);
                  const SymInt raw_y = corner.y + floordiv(item, tile.columns),
                               raw_x = corner.x + mod(item, tile.columns);
                  const SymInt y = SymInt::axis("y", plan.y.out), x = SymInt::axis("x", plan.x.out);
                  const std::vector<SymInt> at = {
                      corner.image, corner.channel + group * plan.vector + lane, y, x};
                  Block body;
                  if (!y.is_const()) body.push_back(let_index(y, raw_y));
                  if (!x.is_const()) body.push_back(let_index(x, raw_x));
                  const Expr sum =
                      ir::element(pixels, item * tile.pitch + place(tile, group, lane));
                  append(body, vectorize(results_at(at, sum), lane));
                  const Expr inside[] = {ir::index_less(raw_y, plan.y.out),
                                         ir::index_less(raw_x, plan.x.out)};
                  return guarded(inside, std::move(body));
                });
  }

 public:
  // Returns the values that the outputs store at the index of the convolution's element that is
  // `sum`; nothing where they need other elements, too.
  std::vector<Sink> results_at(const std::vector<SymInt>& at, const Expr& sum) const {
    const Region& region = this->region();
    const ir::Value* result = plan_.node->outputs[0];
    Inliner inliner(region);
    inliner.bind(result, [&](std::span<const SymInt> index) -> Expr {
      for (size_t d = 0; d < at.size(); ++d)
        if (!(index[d] == at[d])) return nullptr;
      const bool rounds = region.strict_rounding && is_low_precision(result->dtype());
      return rounds ? ir::cast(ir::cast(sum, result->dtype()), DType::f32) : sum;
    });
    std::vector<Sink> sinks;
    for (const ir::Value* output : region.outputs) {
      const StoredThrough through = peel_views(region, output, result);
      sinks.push_back({region.slot_of_output(output),
                       {},
                       region.layout(output).offset(through.output_index(at)),
                       inliner.value_at(through.base, at)});
    }
    return inliner.asked_elsewhere() ? std::vector<Sink>() : sinks;
  }

 private:
  Plan plan_;
};

class DepthwiseTemplate : public Template {
 public:
  std::string_view name() const override { return "depthwise"; }
  int version() const override { return 1; }
  int specificity() const override { return 1; }

  Match match(const Region& region, const Target& target) const override {
    const OrRefusal<Plan> plan = plan_depthwise(region, target);
    if (!plan) return plan.refusal();
    auto candidate = std::make_shared<const Depthwise>(*this, region, target, *plan);
    std::vector<SymInt> at;
    for (const SymInt& extent : plan->node->outputs[0]->shape())
      at.push_back(SymInt::axis("at", extent));
    if (candidate->results_at(at, ir::read(ir::new_variable("sum", DType::f32))).empty())
      return Refusal{"an output needs other elements of the convolution than its own"};
    if (candidate->space().size() == 0) return Refusal{"no tile fits into shared memory"};
    return candidate;
  }
};

const RegisterTemplate<DepthwiseTemplate> registered;

}  // namespace

}  // namespace tcc::sched
