// A workgroup has a group of boxes, which it takes tile by tile. A tile lies in shared memory, each
// thread has some boxes of it, and all threads walk it in order: a box that is still there when its
// turn comes is kept, and each thread tests its own later boxes against it. Boxes that are kept
// move to the beginning of the tile's memory. Then threads test the boxes of the tiles behind
// against them, and leave in memory which ones are gone. A barrier comes with each kept box and
// with each tile, and none with boxes that are gone.
#include "scheduler/templates/suppress_lowering.h"

#include <algorithm>
#include <array>
#include <limits>

#include "scheduler/templates/common.h"
#include "scheduler/vectorize.h"
#include "support/checked.h"

namespace tcc::sched {
namespace {

using ir::Fn;

constexpr int64_t kLongestRun = 16;

Expr both_hold(const Expr& a, const Expr& b) { return ir::call(Fn::logical_and, {a, b}); }
Expr is_above(const Expr& a, const Expr& b) { return ir::call(Fn::gt, {a, b}); }
Expr lesser(const Expr& a, const Expr& b) { return ir::call(Fn::minimum, {a, b}); }
Expr greater(const Expr& a, const Expr& b) { return ir::call(Fn::maximum, {a, b}); }
Expr i32_number(int64_t value) { return ir::constant_int(DType::i32, value); }
Expr as_flag(const Expr& condition) { return ir::cast(condition, DType::i32); }
Expr is_set(const Expr& flag) { return ir::call(Fn::ne, {flag, i32_number(0)}); }
Expr is_clear(const Expr& flag) { return ir::call(Fn::eq, {flag, i32_number(0)}); }

class SuppressLowering {
 public:
  SuppressLowering(const Region& region, const SuppressPlan& plan, const SuppressShape& shape)
      : region_(region),
        plan_(plan),
        inliner_(region),
        threads_(shape.threads),
        items_(shape.items),
        tile_(shape.tile()),
        run_(shape.run()),
        at_once_(shape.at_once),
        tiles_(ir::ceildiv(plan.boxes, tile_)),
        shared_(box_variables("tile")),
        alive_(ir::new_variable("alive", DType::i32)),
        threshold_(ir::new_variable("threshold", plan.dtype)),
        count_(ir::new_variable("count", DType::i32)) {}

  KernelSequence run() {
    Kernel kernel = start_kernel(region_);
    kernel.workgroup = static_cast<int>(threads_);
    if (plan_.is_empty()) return kernel;
    kernel.grid = plan_.groups;
    for (const Variable& part : shared_.corners())
      kernel.shared.push_back({part, tile_ + at_once_});
    kernel.shared.push_back({alive_, tile_});
    group_ = ir::delinearize(block_axis(kernel.grid), plan_.group_shape);
    const ir::Value* threshold = plan_.node->inputs[2];
    kernel.body.push_back(declare(
        threshold_, ir::cast(inliner_.value_at(threshold, std::vector<SymInt>(static_cast<size_t>(
                                                              threshold->rank()))),
                             plan_.dtype)));
    // Boxes that kept ones of earlier tiles exclude.
    const bool has_more = tiles_.range().hi > 1;
    const SymInt flags = plan_.groups * tiles_ * tile_;
    if (has_more) {
      gone_ = static_cast<int>(kernel.arguments.size());
      kernel.arguments.push_back({DType::i32, Argument::Access::read_write, flags, 16});
    }
    const SymInt tile = SymInt::axis("tile", has_more ? tiles_ : ir::min(tiles_, 1));
    kernel.body.push_back(loop(tile, of_tile(kernel, tile)));
    KernelSequence sequence(std::move(kernel));
    if (has_more) sequence.workspaces.push_back({"gone", DType::i32, flags, true});
    return sequence;
  }

 private:
  // The lower corner, the upper one and the area.
  struct Box {
    std::array<Variable, 2> low, high;
    Variable area;
    // Those that are in shared memory.
    std::array<Variable, 4> corners() const { return {low[0], low[1], high[0], high[1]}; }
  };

  // A box of a thread: its place, the name of that place in the group, and whether it is there.
  struct Own {
    Box box;
    Variable there;
    SymInt place, clamped;
    SymInt in_tile;
  };

  Box box_variables(const std::string& name) const {
    const auto part = [&](const char* what) { return ir::new_variable(name + what, plan_.dtype); };
    return {{part("_low"), part("_low")}, {part("_high"), part("_high")}, part("_area")};
  }

  Expr zero() const { return ir::constant(plan_.dtype, 0); }
  Expr infinity() const {
    return ir::constant(plan_.dtype, std::numeric_limits<double>::infinity());
  }
  Expr minus_infinity() const {
    return ir::constant(plan_.dtype, -std::numeric_limits<double>::infinity());
  }
  Expr area_of(const Box& box) const {
    return ir::mul(ir::sub(ir::read(box.high[0]), ir::read(box.low[0])),
                   ir::sub(ir::read(box.high[1]), ir::read(box.low[1])));
  }
  Expr is_inside(const Own& own) const { return ir::index_less(own.place, plan_.boxes); }

  // The thread's boxes of a tile; `block` gets the names of their places.
  std::vector<Own> own_boxes(const SymInt& tile, Block& block) const {
    std::vector<Own> all;
    for (int64_t item = 0; item < items_; ++item) {
      Own own;
      own.box = box_variables("own");
      own.there = ir::new_variable("there", DType::i32);
      own.in_tile = thread_axis(threads_) + item * threads_;
      own.place = tile * tile_ + own.in_tile;
      own.clamped = SymInt::axis("place", plan_.boxes);
      if (!own.clamped.is_const())
        block.push_back(let_index(own.clamped, ir::min(own.place, plan_.boxes - 1)));
      all.push_back(std::move(own));
    }
    return all;
  }

  std::vector<SymInt> index_of(const SymInt& place) const {
    std::vector<SymInt> index = group_;
    index.push_back(place);
    return index;
  }

  // The place of an own box's flag in memory.
  SymInt flag_of(const Own& own) const {
    return block_axis(plan_.groups) * (tiles_ * tile_) + own.place;
  }

  Expr is_there(const Own& own) {
    Expr there = inliner_.value_at(plan_.node->inputs[1], index_of(own.clamped));
    if (const Expr inside = is_inside(own); !ir::is_true(inside)) there = both_hold(inside, there);
    if (gone_ >= 0) there = both_hold(there, is_clear(ir::load(gone_, DType::i32, flag_of(own))));
    return as_flag(there);
  }

  // Loads a box. One without an area, or with NaN, overlaps nothing: it becomes an empty one at
  // infinity, so that tests need not ask.
  Block load_box(const Own& own) {
    const Variable raw = ir::new_variable("raw", plan_.dtype);
    const SymInt part = SymInt::axis("part", 4);
    std::vector<SymInt> index = index_of(own.clamped);
    index.push_back(part);
    Sink sink;
    sink.array = raw;
    sink.offset = part;
    sink.value = inliner_.value_at(plan_.node->inputs[0], index);
    Block block = {array(raw, 4)};
    append(block, vectorize({sink}, part));
    Expr corners[2][2];
    for (int d = 0; d < 2; ++d) {
      const Expr a = ir::element(raw, d), b = ir::element(raw, d + 2);
      const Expr half = ir::mul(b, ir::constant(plan_.dtype, 0.5));
      corners[0][d] = plan_.center ? ir::sub(a, half) : lesser(a, b);
      corners[1][d] = plan_.center ? ir::add(a, half) : greater(a, b);
    }
    const Variable area = ir::new_variable("area", plan_.dtype),
                   has_area = ir::new_variable("has_area", DType::boolean);
    append(block, {declare(area, ir::mul(ir::sub(corners[1][0], corners[0][0]),
                                         ir::sub(corners[1][1], corners[0][1]))),
                   declare(has_area, is_above(ir::read(area), zero()))});
    const Expr has = ir::read(has_area);
    for (int d = 0; d < 2; ++d) {
      block.push_back(assign(own.box.low[d], ir::select(has, corners[0][d], infinity())));
      block.push_back(assign(own.box.high[d], ir::select(has, corners[1][d], minus_infinity())));
    }
    block.push_back(assign(own.box.area, ir::select(has, ir::read(area), zero())));
    return block;
  }

  Block declare_box(const Box& box) const {
    Block block;
    for (const Variable& part : box.corners()) block.push_back(declare(part, zero()));
    block.push_back(declare(box.area, zero()));
    return block;
  }

  // A box in shared memory, as variables.
  Box shared_box(const SymInt& at, Block& block) const {
    Box box = box_variables("kept");
    const auto from = shared_.corners(), to = box.corners();
    for (size_t k = 0; k < from.size(); ++k)
      block.push_back(declare(to[k], ir::element(from[k], at)));
    block.push_back(declare(box.area, area_of(box)));
    return box;
  }

  // Does `then` where `own` overlaps `kept` too much.
  Block where_overlaps(const Box& own, const Box& kept, Block then) const {
    Variable sides[2];
    Block block;
    for (size_t d = 0; d < 2; ++d) {
      sides[d] = ir::new_variable("side", plan_.dtype);
      block.push_back(
          declare(sides[d], ir::sub(lesser(ir::read(own.high[d]), ir::read(kept.high[d])),
                                    greater(ir::read(own.low[d]), ir::read(kept.low[d])))));
    }
    const Variable common = ir::new_variable("common", plan_.dtype);
    const Expr all = ir::sub(ir::add(ir::read(own.area), ir::read(kept.area)), ir::read(common));
    const Expr above = is_above(ir::div(ir::read(common), all), ir::read(threshold_));
    block.push_back(branch(
        both_hold(is_above(ir::read(sides[0]), zero()), is_above(ir::read(sides[1]), zero())),
        {declare(common, ir::mul(ir::read(sides[0]), ir::read(sides[1]))),
         branch(both_hold(is_above(ir::read(common), zero()), above), std::move(then))}));
    return block;
  }

  Block of_tile(Kernel& kernel, const SymInt& tile) {
    Block block;
    const std::vector<Own> own = own_boxes(tile, block);
    for (const Own& one : own) {
      append(block, declare_box(one.box));
      append(block, load_box(one));
      block.push_back(declare(one.there, is_there(one)));
    }
    if (gone_ >= 0) block.push_back(barrier());  // the tile before has been read
    for (const Own& one : own) {
      const auto from = one.box.corners(), to = shared_.corners();
      for (size_t k = 0; k < from.size(); ++k)
        block.push_back(set_element(to[k], one.in_tile, ir::read(from[k])));
      // Boxes without an area exclude no other.
      block.push_back(set_element(alive_, one.in_tile,
                                  as_flag(both_hold(is_set(ir::read(one.there)),
                                                    is_above(ir::read(one.box.area), zero())))));
    }
    append(block, {barrier(), declare(count_, i32_number(0)), walk(tile, own)});
    for (const Own& one : own) {
      Block stores = {store(region_.slot_of_output(plan_.keep),
                            region_.layout(plan_.keep).offset(index_of(one.clamped)),
                            is_set(ir::read(one.there)))};
      const Expr inside = is_inside(one);
      if (ir::is_true(inside))
        append(block, std::move(stores));
      else
        block.push_back(branch(inside, std::move(stores)));
    }
    if (gone_ < 0) return block;
    for (const Own& one : own)
      block.push_back(store(gone_, flag_of(one), as_flag(is_clear(ir::read(one.there)))));
    const SymInt turn = SymInt::axis("turn", ceil_div(at_once_, threads_)),
                 pad = turn * threads_ + thread_axis(threads_);
    Block empty;
    for (int d = 0; d < 2; ++d) {
      empty.push_back(set_element(shared_.low[d], kept_place() + pad, infinity()));
      empty.push_back(set_element(shared_.high[d], kept_place() + pad, minus_infinity()));
    }
    append(block, {loop(turn, {branch(ir::index_less(pad, at_once_), std::move(empty))}), barrier(),
                   branch(is_above(ir::read(count_), i32_number(0)), behind(tile))});
    return block;
  }

  SymInt kept_place() const { return SymInt::indirect("kept", ir::read(count_), {0, tile_}); }

  // The boxes of the tile in their order.
  Stmt walk(const SymInt& tile, const std::vector<Own>& own) {
    const SymInt boxes = ir::min(plan_.boxes - tile * tile_, tile_);
    const SymInt run = SymInt::axis("run", ir::min(ir::ceildiv(boxes, run_), tile_ / run_)),
                 step = SymInt::axis("step", run_), at = run * run_ + step;
    Block turn;
    const Box kept = shared_box(at, turn);
    for (const Own& one : own) {
      const Expr later = ir::index_less(at, one.in_tile);
      turn.push_back(branch(both_hold(is_set(ir::read(one.there)), later),
                            where_overlaps(one.box, kept,
                                           {assign(one.there, i32_number(0)),
                                            set_element(alive_, one.in_tile, i32_number(0))})));
    }
    // It moves to the others that are kept. No thread reads that place any more.
    const SymInt thread = thread_axis(threads_);
    Block moves;
    const auto from = kept.corners(), to = shared_.corners();
    for (size_t k = 0; k < from.size(); ++k)
      moves.push_back(set_element(to[k], kept_place(), ir::read(from[k])));
    if (gone_ >= 0) {
      const Expr conditions[] = {ir::index_less(thread, 1),
                                 ir::call(Fn::lt, {ir::read(count_), index_number(at)})};
      turn.push_back(branch(ir::all_of(conditions), std::move(moves)));
      turn.push_back(assign(count_, ir::add(ir::read(count_), i32_number(1))));
    }
    turn.push_back(barrier());
    // A thread may read flags of a run while others, one turn ahead, clear later ones of it. That
    // turn's own flag stays set, and flags before it do not change: all threads agree.
    Expr any = ir::element(alive_, run * run_);
    for (int64_t k = 1; k < run_; ++k)
      any = ir::call(Fn::bitwise_or, {any, ir::element(alive_, run * run_ + k)});
    Block steps = {loop(step, {branch(is_set(ir::element(alive_, at)), std::move(turn))})};
    return loop(run, {branch(is_set(any), std::move(steps))});
  }

  // Tests the boxes of the tiles behind.
  Block behind(const SymInt& tile) {
    const SymInt rest = SymInt::axis("rest", tiles_), further = SymInt::axis("further", rest);
    Block block;
    const std::vector<Own> own = own_boxes(tile + 1 + further, block);
    Expr any = i32_number(0);
    for (const Own& one : own) {
      block.push_back(declare(one.there, is_there(one)));
      any = ir::call(Fn::bitwise_or, {any, ir::read(one.there)});
    }
    Block tests;
    for (const Own& one : own) {
      append(tests, declare_box(one.box));
      append(tests, load_box(one));
    }
    const SymInt parts = SymInt::axis("parts", ceil_div(tile_, at_once_) + 1),
                 some = SymInt::axis("some", parts);
    tests.push_back(let_index(parts, ir::ceildiv(kept_place(), at_once_)));
    Block of_some;
    for (int64_t k = 0; k < at_once_; ++k) {
      const Box kept = shared_box(some * at_once_ + k, of_some);
      for (const Own& one : own)
        of_some.push_back(
            branch(is_set(ir::read(one.there)),
                   where_overlaps(one.box, kept, {assign(one.there, i32_number(0))})));
    }
    tests.push_back(loop(some, std::move(of_some)));
    block.push_back(branch(is_set(any), std::move(tests)));
    for (const Own& one : own)
      block.push_back(store(gone_, flag_of(one), as_flag(is_clear(ir::read(one.there)))));
    return {let_index(rest, tiles_ - 1 - tile), loop(further, std::move(block))};
  }

  const Region& region_;
  const SuppressPlan& plan_;
  Inliner inliner_;
  int64_t threads_, items_, tile_, run_, at_once_;
  SymInt tiles_;
  std::vector<SymInt> group_;
  // In shared memory: the tile's boxes, of which the first `count_` are those that were kept, and
  // whether each is still there.
  Box shared_;
  Variable alive_;
  Variable threshold_, count_;
  int gone_ = -1;  // the workspace's argument
};

}  // namespace

int64_t SuppressShape::run() const { return std::min(tile(), kLongestRun); }

int64_t SuppressShape::iterations(int64_t boxes) const {
  const int64_t all = ceil_div(boxes, tile());
  const int64_t walked = tile() / run() * (1 + run());
  const int64_t further = all > 1 ? 1 + at_once + (all - 1) * (2 + tile() / at_once) : 0;
  return all * (1 + walked + further);
}

KernelSequence lower_suppress(const Region& region, const SuppressPlan& plan,
                              const SuppressShape& shape) {
  return SuppressLowering(region, plan, shape).run();
}

}  // namespace tcc::sched
