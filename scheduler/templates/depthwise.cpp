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
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "scheduler/cost.h"
#include "scheduler/templates/common.h"
#include "scheduler/templates/contraction_plan.h"
#include "scheduler/templates/depthwise_tile.h"
#include "scheduler/templates/grouped_convolution.h"
#include "scheduler/templates/product_candidate.h"
#include "scheduler/templates/rule_space.h"
#include "scheduler/vectorize.h"
#include "scheduler/work.h"
#include "support/checked.h"
#include "support/error.h"

namespace tcc::sched::template_depthwise {
namespace {

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
    const auto [block, thread] = places(kernel, tile);
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
  // The place of a workgroup, [image, plane, band, strip, channels], and of a thread in it, [band,
  // strip, channels]: neighbours in memory are computed by neighbours.
  std::pair<std::vector<SymInt>, std::vector<SymInt>> places(const Kernel& kernel,
                                                             const Tile& tile) const {
    const SymInt block = block_axis(kernel.grid), thread = thread_axis(kernel.workgroup);
    if (!plan_.by_rows)
      return {delinearize_ints(
                  block, {plan_.images, plan_.z.out, tile.tiles_y, tile.tiles_x, tile.chunks}),
              delinearize_ints(thread, {tile.bands, tile.strips, tile.groups})};
    const std::vector<SymInt> of_block =
                                  delinearize_ints(block, {plan_.images, tile.chunks, plan_.z.out,
                                                           tile.tiles_y, tile.tiles_x}),
                              of_thread =
                                  delinearize_ints(thread, {tile.groups, tile.bands, tile.strips});
    return {{of_block[0], of_block[2], of_block[3], of_block[4], of_block[1]},
            {of_thread[1], of_thread[2], of_thread[0]}};
  }

  // Workgroups of a unit whose threads have the registers that they need. A quarter of the unit's
  // registers is for a quarter of its warps, and they are given by eights. Kernels of groups of one
  // input in one plane get by with a few less: 3 x 3 in bf16 is estimated at 178, and runs with
  // 164. 3 x 3 x 3, estimated at 138, spills 48 words where it has 128.
  int64_t resident_workgroups(const Tile& tile) const {
    constexpr int64_t kParts = 4, kGiven = 8, kWarp = 32;
    const int64_t all = target().registers_per_unit, registers = tile.registers(plan_),
                  warps = ceil_div(tile.threads, kWarp);
    int64_t workgroups = all / (registers * tile.threads);
    while (workgroups > 1 && (plan_.inputs > 1 || plan_.z.taps > 1 || plan_.by_rows)) {
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
    // us, with 2 in 2 90 us, where the estimates were 78 and 81.
    const int64_t few = plan_.by_rows ? 4 : 8;
    const Costs costs(*this);
    const auto seconds = [&](const Tile& tile) { return costs.seconds(tile); };
    auto best =
        rules().fastest(seconds, [&](const Tile& tile) { return tile.strips * tile.bands <= few; });
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
      const bool by_rows = plan_.by_rows;
      const SymInt input = SymInt::axis("along", by_rows ? plan_.x.in : plan_.all_inputs()),
                   result = SymInt::axis("along", by_rows ? plan_.x.out : plan_.channels);
      Inliner inliner(of.region());
      const Expr pixel = inliner.value_at(
          node.inputs[0], by_rows ? of.index_of(0, 0, {0, 0, input}) : of.index_of(0, input, {}));
      computed_ = pixel->kind != ir::ExprNode::Kind::load;
      const Expr pixels[] = {pixel};
      const ElementWork brought = element_work(pixels, input);
      pixel_slots_ = brought.slots + (in_bytes_ < 4 ? 1 : 0);
      sectors_ = brought.scattered > 0 ? 32 / in_bytes_ : 1;
      std::vector<Expr> results;
      const std::vector<SymInt> at =
          by_rows ? of.index_of(0, 0, {0, 0, result}) : of.index_of(0, result, {});
      for (const Sink& sink : of.results_at(at, ir::read(ir::new_variable("sum", DType::f32))))
        results.push_back(sink.value);
      const ElementWork stored = element_work(results, result);
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
      Accesses taken;
      if (plan_.by_rows) {
        taken = accesses_of_rows(t, lines);
      } else {
        taken.pixels = pixels * loads(width, in_bytes_) * sectors_;
        taken.results = results * loads(vector, out_bytes_);
        taken.operands = results * loads(vector, in_bytes_) * result_reads_;
        taken.cycles = taken.pixels * pixel_cycles + taken.results * cycles(vector * out_bytes_) +
                       taken.operands * cycles(vector * in_bytes_);
      }
      const double pixel_loads = taken.pixels, result_stores = taken.results,
                   result_loads = taken.operands,
                   filter_loads = t.staged ? rows * terms * loads(vector, 4)
                                           : terms * loads(vector, filter_bytes_);
      const double products = count(t.products);
      double issued = products + pixels * width * pixel_slots_ + pixel_loads;
      // A run of pixels has one guard.
      const double looked_at =
          plan_.by_rows && !computed_ ? lines * (line - count(t.run(plan_)) + 1) : pixels;
      if (borders || computed_) issued += looked_at * (computed_ ? 4 : 1.5);
      issued += filter_loads + (t.staged || filter_bytes_ == 4 ? 0 : terms * vector);
      issued += results * vector * (result_slots_ + (out_bytes_ < 4 ? 0.5 : 0)) + result_stores +
                result_loads + results;
      const double code = t.rolled ? issued / count(plan_.y.taps * t.parts) : issued;
      issued += 60;
      double accesses = pixel_loads + filter_loads + result_stores + result_loads;
      double pipe = taken.cycles;
      // Threads with the same channels read the same words of shared memory.
      pipe += filter_loads *
              (t.staged ? std::max(1.0, std::min(vector, 4.0) * std::min(1.0, count(t.groups) / 32))
               : plan_.by_rows ? 1.5  // of one channel
                               : cycles(vector * filter_bytes_));
      LaunchCost cost;
      // The next row of a loop is asked for when the one before it is done.
      if (t.rolled && !plan_.by_rows) cost.stalls = kRowWait * lines;
      if (t.staged) {
        const double brought = std::ceil(terms * count(t.groups) / threads);
        issued += brought * (12 + 3 * vector);
        accesses += brought * (1 + vector);
        cost.shared_bytes = count(t.shared_bytes(plan_));
        cost.stalls += 1;
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
      cost.parallelism = std::min(
          8.0, plan_.by_rows ? vector * strip : kParallel * std::pow(issued / lines / 200, 0.15));
      cost.memory_bytes = bytes_;
      // Pixels that threads of a workgroup share are read once; caches move sectors of 32 bytes.
      const int64_t high = std::min(t.bands, t.all_bands) * t.rows,
                    wide = std::min(t.strips, t.all_strips) * t.strip;
      const double own = count(plan_.z.taps * plan_.y.covered(high) * plan_.x.covered(wide)),
                   channels = count(t.channels),
                   inputs = count(ceil_div(t.channels, plan_.outputs) * plan_.inputs),
                   brought = plan_.by_rows
                                 ? count(plan_.z.taps * plan_.y.covered(high)) * inputs *
                                       (count(plan_.x.covered(wide)) * in_bytes_ + 32) * sectors_
                                 : own * std::max(32.0, std::ceil(inputs * in_bytes_ / 32) * 32) *
                                       sectors_,
                   stored =
                       count(high * wide) * (plan_.by_rows ? channels * stored_by_rows(t)
                                                           : std::max(32.0, channels * out_bytes_)),
                   filter = terms * channels * filter_bytes_;
      cost.cache_bytes = (plan_.by_rows ? 1 : kCached) * workgroups * (brought + stored + filter);
      // Lines are on their way, of which neighbours ask for the same, and stores, which nothing
      // waits for.
      const double asked = threads * pixels * width * in_bytes_;
      cost.bytes_in_flight = std::max(4.0, (plan_.by_rows ? 2 : kLines) * line * width * in_bytes_ *
                                               std::min(1.0, brought / asked));
      cost.round_trips = 1 + 0.2 * lines;
      return predicted_seconds(cost, target_) + code * kFetch +
             (plan_.by_rows ? 0 : kBegin * side_by_side(cost));
    }

   private:
    // Workgroups that a unit begins one after the other.
    double side_by_side(const LaunchCost& cost) const {
      const double most = std::min<double>(target_.max_threads_per_unit,
                                           std::floor(target_.registers_per_unit / cost.registers));
      return std::min(std::max(1.0, std::floor(most / cost.threads)),
                      std::ceil(cost.workgroups / target_.compute_units));
    }

    // The accesses of a thread, and the cycles that the first cache has them for.
    struct Accesses {
      double pixels = 0, results = 0, operands = 0, cycles = 0;
    };
    // Neighbouring elements of a strip that a store of rows has.
    int64_t stored_vector(const Tile& t) const {
      return plan_.x.out % t.strip == 0 ? vector_of(t.strip, plan_.x.out, out_bytes_) : 1;
    }
    // The bytes that caches move for an element of rows. Stores of a warp that leave gaps between
    // lanes take a sector each: 64 x 144 x 56 x 56 in strips of 14 took 142 us on an H200.
    double stored_by_rows(const Tile& t) const {
      const int64_t vector = stored_vector(t);
      return vector == t.strip ? out_bytes_
                               : std::max(32.0 / static_cast<double>(vector), out_bytes_);
    }
    static int64_t vector_of(int64_t run, int64_t row, double bytes) {
      const auto most = static_cast<int64_t>(16 / bytes);
      return std::clamp<int64_t>(std::gcd(std::gcd(run, row), most), 1, most);
    }

    // Counts those of images by rows. A thread reads the run under the middle of its windows as
    // vectors, the pixels beside it and strips that reach over the image as elements. Lanes are a
    // strip apart.
    Accesses accesses_of_rows(const Tile& t, double lines) const {
      const auto count = [](int64_t n) { return static_cast<double>(n); };
      // An access of a warp takes a cycle for each line of the cache that it touches.
      const auto cycles = [](double elements, double apart, double bytes) {
        return std::clamp(std::max(elements, apart) * bytes / 4, 1.5, 32.0);
      };
      const int64_t run = t.run(plan_), line = plan_.x.used(t.strip);
      const int64_t pixel_vector = vector_of(run, plan_.x.in, in_bytes_);
      const double pixel_runs = count(run / pixel_vector),
                   beside = count(std::max<int64_t>(0, line - run)),
                   apart = count(t.strip * plan_.x.stride);
      Accesses taken;
      taken.pixels = lines * (pixel_runs + beside) * sectors_;
      taken.cycles = lines * sectors_ *
                     (pixel_runs * cycles(count(pixel_vector), apart, in_bytes_) +
                      beside * cycles(1, apart, in_bytes_));
      const int64_t vector = stored_vector(t);
      const double stores = count(t.rows * t.strip / vector),
                   step = cycles(count(vector), count(t.strip), out_bytes_);
      taken.results = stores;
      taken.operands = stores * result_reads_;
      taken.cycles += stores * step * (1 + result_reads_);
      return taken;
    }

    static constexpr double kIssue = 1.12;    // slots for an instruction: operands' banks meet
    static constexpr double kFetch = 0.5e-9;  // seconds until a new instruction has been fetched
    // These are a fit to 1049 configs of 3 x 3 and 7 x 7 in bf16 on an H200, channels innermost; of
    // images by rows few configs were measured, and their constants are older. Round trips
    // to memory for each row of a loop: 7 x 7 on 64 x 14 x 14 x 128 took 10.2 us in a loop and 9.5
    // without.
    static constexpr double kRowWait = 0.5;
    // Instructions of a thread that are on their way at once, where a row of pixels has 200: most
    // wait for pixels. Tiles of 178 registers and 352 threads a unit took 34.9 us where tiles of 88
    // and 704 took 30.6 (3 x 3 on 64 x 56 x 56 x 128).
    static constexpr double kParallel = 0.65;
    static constexpr double kCached = 0.6;   // the part of pixels and results that the caches move
    static constexpr double kLines = 3;      // lines and results of a thread on their way
    static constexpr double kBegin = 70e-9;  // seconds until a unit begins the next workgroup

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
    // Unrolled rows read the same taps, of which groups of several inputs have more than registers.
    if (tile.staged && plan_.inputs > 1) block.push_back(reload());
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
      if (plan_.by_rows && kind(begin) == 1) {  // inside in each row
        const Expr inside[] = {inside_of(z, plan_.z.in), inside_of(y, plan_.y.in)};
        const SymInt column = SymInt::axis("j", end - begin);
        append(block, pixels_at(at, at.input, {z, y, first + begin + column}, column,
                                ir::all_of(inside), line, begin));
        continue;
      }
      const SymInt column = SymInt::axis("j", end - begin) + begin, axis = column - begin;
      const Expr inside[] = {inside_of(z, plan_.z.in), inside_of(y, plan_.y.in),
                             inside_of(first + column, plan_.x.in)};
      const SymInt lane = SymInt::axis("v", tile.width),
                   input = at.input + mod(part, tile.input_parts) * tile.inputs + lane;
      append(block, each(axis, pixels_at(at, input, {z, y, first + column}, lane,
                                         ir::all_of(inside), line, column * tile.width)));
    }
    return line;
  }

  // Pixels along `lane`, of neighbouring channels or of a row, to the line from a place on.
  Block pixels_at(const Thread& at, const SymInt& input, const Pixel& pixel, const SymInt& lane,
                  const Expr& inside, const Variable& line, const SymInt& place) const {
    const ir::Value* image = plan_.node->inputs[0];
    const auto value = [&](const Pixel& of) {
      Inliner inliner(region());
      return ir::cast(inliner.value_at(image, index_of(at.image, input, of)), DType::f32);
    };
    const Expr plain = value(pixel);
    const bool is_vector = plain->kind == ir::ExprNode::Kind::load &&
                           (lane.is_const() || coefficient(plain->index, lane) == 1);
    if (is_vector) {  // not loaded where it is outside
      const int64_t count = lane.is_const() ? 1 : ir::extent_of(lane).value();
      const Variable loaded = ir::new_variable("x", DType::f32);
      const SymInt from = lane.is_const() ? plain->index : plain->index.substitute(lane, 0);
      Block block = {array(loaded, count), load_vector(loaded, plain->buffer, from, count)};
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
    // Strips that end where rows do are stored at once.
    const bool is_run = plan_.by_rows && plan_.x.out % tile.strip == 0;
    const std::vector<Sink> results = results_at(at, ir::element(sums, i * tile.vector + lane));
    TCC_CHECK(!results.empty(), "a result needs other elements of the convolution than its own");
    append(body, vectorize(results, is_run ? i : lane));
    body = guarded(inside, std::move(body));
    append(block, is_run ? std::move(body) : each(i, std::move(body)));
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
  std::vector<Parameter> parameters() const override { return parameters_from(all_fields()); }
  // Groups of several channels are products, too, which other templates compute. Where the pixels
  // of a row are neighbours, short rows may be faster element by element.
  bool is_compared(const Region& region) const override {
    if (region.anchor) return has_small_groups(*region.anchor);
    return !grouped_convolution(region, Innermost::channels) &&
           grouped_convolution(region, Innermost::pixels);
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
