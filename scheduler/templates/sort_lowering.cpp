// Sorting by merging. A thread sorts its items in registers; then runs are merged in pairs through
// shared memory until one is left: every thread finds by bisection (on the "merge path") where its
// items of the merged run begin in both, and merges them one by one. Merging is stable, any length
// of a run will do, and no more is merged than is kept. Runs in memory are merged the same way: a
// workgroup finds its part of the result by bisection in memory, and merges that part.
#include "scheduler/templates/sort_lowering.h"

#include <algorithm>
#include <utility>

#include "scheduler/templates/common.h"
#include "support/checked.h"
#include "support/error.h"

namespace tcc::sched {
namespace {

using ir::Fn;

Expr both(const Expr& a, const Expr& b) { return ir::call(Fn::logical_and, {a, b}); }
Expr either(const Expr& a, const Expr& b) { return ir::call(Fn::logical_or, {a, b}); }
Expr less(const Expr& a, const Expr& b) { return ir::call(Fn::lt, {a, b}); }
Expr at_least(const Expr& a, int64_t least) {
  return ir::call(Fn::maximum, {a, ir::constant_int(DType::i32, least)});
}
Expr smaller(const Expr& a, const Expr& b) { return ir::call(Fn::minimum, {a, b}); }

// Steps until a bisection among `n` + 1 places has found one.
int64_t bisection_steps(int64_t n) {
  int64_t steps = 1;
  while ((int64_t{1} << steps) <= n) ++steps;
  return steps;
}

class SortLowering {
 public:
  SortLowering(const Region& region, const SortPlan& plan, const Config& config, bool unroll)
      : region_(region),
        plan_(plan),
        inliner_(region),
        threads_(config["threads"]),
        items_(config["items"]),
        tile_(threads_ * items_),
        key_(ir::new_variable("key", plan.key)),
        place_(ir::new_variable("place", DType::i32)),
        keys_(ir::new_variable("keys", plan.key)),
        places_(ir::new_variable("places", DType::i32)),
        item_(SymInt::axis("item", items_)),
        unroll_(unroll) {}

  Kernel run() {
    Kernel kernel = start_kernel(region_);
    if (plan_.steps > 1) add_workspaces(kernel);
    kernel.workgroup = static_cast<int>(threads_);
    kernel.shared = {{keys_, tile_}};
    if (plan_.carries_places()) kernel.shared.push_back({places_, tile_});
    body_ = &kernel.body;
    if (plan_.rows.is(0) || plan_.keep == 0) return kernel;  // nothing to store
    plan_.sorted > 0 ? merge_runs(kernel) : sort_runs(kernel);
    return kernel;
  }

  // The buffers of the sequence that are the kernel's arguments.
  const std::vector<int>& buffers() const { return buffers_; }

 private:
  // The kernel of a step reads the region's inputs, or what the step before it has left, and writes
  // the outputs, or, where it is not the last one, workspaces: keys and places, in two halves that
  // steps read and write in turn.
  void add_workspaces(Kernel& kernel) {
    const auto inputs = static_cast<int>(region_.inputs.size()),
               all = static_cast<int>(kernel.arguments.size());
    first_slot_ = plan_.step > 0 ? inputs : 0;
    const int end = plan_.may_be_last() ? all : inputs;
    const std::vector<Argument> slots = std::exchange(kernel.arguments, {});
    for (int k = first_slot_; k < end; ++k) {
      kernel.arguments.push_back(slots[static_cast<size_t>(k)]);
      buffers_.push_back(k);
    }
    const int each = plan_.carries_places() ? 2 : 1;
    const auto add = [&](int64_t half, Argument::Access access) {
      const auto first = static_cast<int>(kernel.arguments.size());
      for (int k = 0; k < each; ++k) {
        kernel.arguments.push_back(
            {k == 0 ? plan_.key : DType::i32, access, plan_.rows * plan_.stride, 16});
        buffers_.push_back(all + static_cast<int>(half) * each + k);
      }
      return first;
    };
    if (plan_.step > 0) from_ = add((plan_.step - 1) % 2, Argument::Access::read);
    if (!plan_.is_last()) to_ = add(plan_.step % 2, Argument::Access::write);
  }

  int slot_of_output(const ir::Value* value) const {
    return region_.slot_of_output(value) - first_slot_;
  }

  // A name for a value that is an index from here on.
  SymInt let(const std::string& name, const SymInt& value, const SymInt& extent) {
    if (value.is_const()) return value;
    const SymInt axis = SymInt::axis(name, extent);
    if (!axis.is_const()) body_->push_back(let_index(axis, value));
    return axis;
  }

  std::vector<SymInt> index_of(const SymInt& row, const SymInt& position) const {
    std::vector<SymInt> index = ir::delinearize(row, plan_.row_shape);
    index.insert(index.begin() + static_cast<std::ptrdiff_t>(plan_.dim), position);
    return index;
  }

  static Variable i32_variable(const char* name) { return ir::new_variable(name, DType::i32); }

  // The key of an element of x: rounded where a stored one would be.
  Expr key_at(const SymInt& row, const SymInt& position) {
    if (from_ >= 0) return ir::load(from_, plan_.key, row * plan_.stride + position);
    const Expr value = inliner_.value_at(plan_.x, index_of(row, position));
    if (plan_.x->dtype() == plan_.key) return value;
    return ir::cast(ir::cast(value, plan_.x->dtype()), plan_.key);
  }

  Expr place_at(const SymInt& row, const SymInt& position) {
    if (from_ >= 0) return ir::load(from_ + 1, DType::i32, row * plan_.stride + position);
    if (!plan_.given) return index_number(position);
    return ir::cast(inliner_.value_at(plan_.given, index_of(row, position)), DType::i32);
  }

  bool has_given_places() const { return from_ >= 0 || plan_.given; }

  // A place in [0, extent) that was computed.
  SymInt place(const Expr& value, int64_t extent) {
    return SymInt::indirect("spot", value, {0, extent - 1});
  }
  SymInt place_in_row(const Expr& value) { return place(value, plan_.extent.range().hi); }

  // Returns whether b, which stands behind a, must come before it.
  Expr comes_before(const Expr& b, const Expr& a) const {
    const Expr& low = plan_.descending ? a : b;
    const Expr& high = plan_.descending ? b : a;
    const Expr lower = less(low, high);
    if (!is_float(plan_.key)) return lower;
    const Expr low_nan = ir::call(Fn::isnan, {low}), high_nan = ir::call(Fn::isnan, {high});
    return either(lower, both(high_nan, ir::call(Fn::logical_not, {low_nan})));
  }

  Expr key(const SymInt& item) const { return ir::element(key_, item); }
  Expr own_place(const SymInt& item) const { return ir::element(place_, item); }
  Expr shared_key(const Expr& at) { return ir::element(keys_, place(at, tile_)); }
  Expr shared_place(const Expr& at) { return ir::element(places_, place(at, tile_)); }

  void declare_registers() {
    body_->push_back(array(key_, items_));
    if (plan_.carries_places()) body_->push_back(array(place_, items_));
  }

  // Registers to their places in shared memory, from `first` on, once all have read what was there.
  void share_registers(const SymInt& first) {
    body_->push_back(barrier());
    Block block = {set_element(keys_, first + item_, key(item_))};
    if (plan_.carries_places())
      block.push_back(set_element(places_, first + item_, own_place(item_)));
    body_->push_back(loop(item_, std::move(block), unroll_));
    body_->push_back(barrier());
  }

  // The items of two sorted runs in shared memory (`a_length` elements at `a`, `b_length` at `b`)
  // that are the `diagonal`-th and following of the merged run, into registers.
  Block merge_items(const SymInt& a, const SymInt& a_length, const SymInt& b,
                    const SymInt& b_length, const SymInt& diagonal, int64_t longest) {
    const Variable low = i32_variable("low"), high = i32_variable("high"),
                   middle = i32_variable("middle");
    Block block = {declare(low, at_least(index_number(diagonal - b_length), 0)),
                   declare(high, smaller(index_number(diagonal), index_number(a_length)))};
    const Expr mid = ir::read(middle), zero_based = index_number(diagonal - 1);
    Block step = {
        declare(middle, ir::call(Fn::shift_right, {ir::add(ir::read(low), ir::read(high)),
                                                   ir::constant_int(DType::i32, 1)})),
        branch(comes_before(shared_key(ir::add(index_number(b), ir::sub(zero_based, mid))),
                            shared_key(ir::add(index_number(a), mid))),
               {assign(high, mid)}, {assign(low, ir::add(mid, ir::constant_int(DType::i32, 1)))})};
    block.push_back(loop(SymInt::axis("step", bisection_steps(longest)),
                         {branch(less(ir::read(low), ir::read(high)), std::move(step))}));
    append(block, merge_serially(a, a_length, b, b_length, diagonal, low));
    return block;
  }

  Block merge_serially(const SymInt& a, const SymInt& a_length, const SymInt& b,
                       const SymInt& b_length, const SymInt& diagonal, const Variable& low) {
    const Expr last = ir::constant_int(DType::i32, tile_ - 1);
    const Variable i = i32_variable("i"), j = i32_variable("j"), from = i32_variable("from"),
                   a_key = ir::new_variable("a_key", plan_.key),
                   b_key = ir::new_variable("b_key", plan_.key),
                   take = ir::new_variable("take", DType::boolean);
    // i and j are places in shared memory.
    const Expr iv = ir::read(i), jv = ir::read(j), fv = ir::read(from);
    const Expr ka = ir::read(a_key), kb = ir::read(b_key);
    const Expr taken = ir::read(take);
    Block block = {declare(i, ir::add(index_number(a), ir::read(low))),
                   declare(j, ir::add(index_number(b + diagonal),
                                      ir::sub(ir::constant_int(DType::i32, 0), ir::read(low)))),
                   declare(a_key, shared_key(smaller(iv, last))),
                   declare(b_key, shared_key(smaller(jv, last)))};
    const Expr a_left = less(iv, index_number(a + a_length)),
               b_left = less(jv, index_number(b + b_length));
    Block step = {declare(take, either(ir::call(Fn::logical_not, {a_left}),
                                       both(b_left, comes_before(kb, ka)))),
                  set_element(key_, item_, ir::select(taken, kb, ka))};
    if (plan_.carries_places())
      step.push_back(
          set_element(place_, item_, shared_place(smaller(ir::select(taken, jv, iv), last))));
    const Expr one = ir::constant_int(DType::i32, 1);
    append(step, {declare(from, smaller(ir::add(ir::select(taken, jv, iv), one), last)),
                  branch(taken, {assign(j, ir::add(jv, one)), assign(b_key, shared_key(fv))},
                         {assign(i, ir::add(iv, one)), assign(a_key, shared_key(fv))})});
    block.push_back(loop(item_, std::move(step), unroll_));
    return block;
  }

  // Stores the sorted elements, which lie in shared memory from `first` on, to the outputs, by
  // `lane` of `lanes` threads.
  void store_sorted(const SymInt& row, const SymInt& first, const SymInt& position,
                    const SymInt& length, const SymInt& lane, int64_t lanes, const Expr& is_mine) {
    const SymInt p = item_ * lanes + lane;
    const Expr conditions[] = {ir::index_less(p, length), is_mine};
    const Expr inside = ir::all_of(conditions);
    const auto all = [&](Block stores) {
      if (inside) stores = {branch(inside, std::move(stores))};
      return loop(item_, std::move(stores), unroll_);
    };
    Block stores;
    const auto to = index_of(row, position + p);
    if (plan_.values)
      stores.push_back(store(slot_of_output(plan_.values), region_.layout(plan_.values).offset(to),
                             ir::element(keys_, first + p)));
    if (plan_.indices)
      stores.push_back(store(slot_of_output(plan_.indices),
                             region_.layout(plan_.indices).offset(to),
                             ir::cast(ir::element(places_, first + p), plan_.index)));
    if (to_ < 0) return body_->push_back(all(std::move(stores)));
    // The row is sorted, or goes on to the next step.
    const SymInt between = row * plan_.stride + position + p;
    Block more = {store(to_, between, ir::element(keys_, first + p))};
    if (plan_.carries_places())
      more.push_back(store(to_ + 1, between, ir::element(places_, first + p)));
    if (!plan_.may_be_last()) return body_->push_back(all(std::move(more)));
    body_->push_back(branch(ir::index_less(plan_.extent, plan_.run + 1), {all(std::move(stores))},
                            {all(std::move(more))}));
  }

  // ---- runs that are not sorted yet

  void sort_runs(Kernel& kernel) {
    const int64_t row_threads = std::min(
        threads_, power_of_two_at_least(ceil_div(std::max<int64_t>(plan_.run, 1), items_)));
    TCC_CHECK(row_threads * items_ >= plan_.run, "a run of ", plan_.run, " does not fit ",
              row_threads, " threads of ", items_);
    const int64_t slots = threads_ / row_threads;
    const SymInt lines = plan_.rows * plan_.runs;
    // Rows that turn out to be empty have no runs.
    kernel.grid = blocks_of(lines, slots) * ir::min(plan_.extent, 1) * plan_.needed;
    const SymInt thread = thread_axis(threads_),
                 raw = block_axis(kernel.grid) * slots + floordiv(thread, row_threads);
    const SymInt lane = let("lane", mod(thread, row_threads), row_threads);
    // Threads past the last run repeat it, since all must arrive at barriers, and write nothing.
    const SymInt line = let("line", ir::min(raw, lines - 1), lines);
    const SymInt row = floordiv(line, plan_.runs), run = mod(line, plan_.runs);
    const SymInt length =
        let("length", ir::min(plan_.run, plan_.extent - run * plan_.run), plan_.run + 1);
    const SymInt base = let("base", floordiv(thread, row_threads) * (row_threads * items_), tile_);

    const SymInt p = item_ * row_threads + lane;
    const SymInt from = run * plan_.run + ir::min(p, length - 1);
    Block loads = {set_element(keys_, base + p, key_at(row, from))};
    if (plan_.carries_places() && has_given_places())
      loads.push_back(set_element(places_, base + p, place_at(row, from)));
    append(*body_, {loop(item_, std::move(loads), unroll_), barrier()});
    declare_registers();
    const SymInt mine = lane * items_ + item_;
    Block reads = {set_element(key_, item_, ir::element(keys_, base + mine))};
    if (plan_.carries_places())
      reads.push_back(set_element(place_, item_,
                                  has_given_places() ? ir::element(places_, base + mine)
                                                     : index_number(run * plan_.run + mine)));
    body_->push_back(loop(item_, std::move(reads), unroll_));
    sort_registers(lane, length);
    share_registers(base + lane * items_);
    for (int64_t width = items_; width < plan_.run; width *= 2) {
      merge_round(width, base, lane, length);
      share_registers(base + lane * items_);
    }
    const SymInt kept = ir::min(length, plan_.keep);
    store_sorted(row, base, run * plan_.keep, kept, lane, row_threads, ir::index_less(raw, lines));
  }

  // Odd-even transposition: neighbours change places, in as many rounds as there are items.
  void sort_registers(const SymInt& lane, const SymInt& length) {
    const auto pairs_from = [&](int64_t first) {
      const int64_t pairs = (items_ - first) / 2;
      const SymInt pair = SymInt::axis(first == 0 ? "even" : "odd", std::max<int64_t>(pairs, 1));
      const SymInt left = pair * 2 + first, right = left + 1;
      const Variable left_key = ir::new_variable("left_key", plan_.key),
                     left_place = i32_variable("left_place");
      Block swap = {declare(left_key, key(left)), set_element(key_, left, key(right)),
                    set_element(key_, right, ir::read(left_key))};
      if (plan_.carries_places())
        append(swap,
               {declare(left_place, own_place(left)), set_element(place_, left, own_place(right)),
                set_element(place_, right, ir::read(left_place))});
      const Expr conditions[] = {ir::index_less(lane * items_ + right, length),
                                 comes_before(key(right), key(left))};
      Block block;
      if (pairs > 0)
        block.push_back(loop(pair, {branch(ir::all_of(conditions), std::move(swap))}, unroll_));
      return block;
    };
    Block round = pairs_from(0);
    append(round, pairs_from(1));
    if (items_ > 1)
      body_->push_back(
          loop(SymInt::axis("round", ceil_div(items_, int64_t{2})), std::move(round), unroll_));
  }

  // Runs of `width` elements become runs of twice as many.
  void merge_round(int64_t width, const SymInt& base, const SymInt& lane, const SymInt& length) {
    const int64_t group = 2 * width / items_, wanted = std::min(width, plan_.keep);
    const SymInt start = let("start", floordiv(lane, group) * (2 * width), tile_);
    const auto length_from = [&](const char* name, const SymInt& first) {
      return let(name, ir::max(ir::min(length - first, wanted), 0), wanted + 1);
    };
    const SymInt a_length = length_from("a_length", start),
                 b_length = length_from("b_length", start + width);
    const SymInt raw = mod(lane, group) * items_;
    const SymInt diagonal = let("diagonal", ir::min(raw, a_length + b_length), 2 * wanted + 1);
    Block merge =
        merge_items(base + start, a_length, base + start + width, b_length, diagonal, wanted);
    // Threads whose items are not kept have nothing to do.
    const Expr useful = ir::index_less(raw, plan_.keep);
    if (ir::is_true(useful))
      append(*body_, std::move(merge));
    else
      body_->push_back(branch(useful, std::move(merge)));
  }

  // ---- pairs of sorted runs

  void merge_runs(Kernel& kernel) {
    const SymInt longest =
        plan_.extent.is_const() ? SymInt(plan_.keep) : ir::min(plan_.keep, plan_.extent);
    const SymInt parts = ir::max(ir::ceildiv(longest, tile_), 1);
    const SymInt lines = plan_.rows * plan_.runs;
    kernel.grid = lines * parts * plan_.needed;
    const SymInt block = block_axis(kernel.grid), thread = thread_axis(threads_);
    const SymInt line = let("line", floordiv(block, parts), lines);
    const SymInt row = floordiv(line, plan_.runs), run = mod(line, plan_.runs);
    const SymInt a = let("a", run * plan_.run, plan_.extent);
    const auto length_from = [&](const char* name, const SymInt& first) {
      return let(name, ir::max(ir::min(plan_.extent - first, plan_.sorted), 0), plan_.sorted + 1);
    };
    const SymInt a_length = length_from("a_length", a),
                 b_length = length_from("b_length", a + plan_.sorted);
    const SymInt all = ir::min(a_length + b_length, plan_.keep);
    const SymInt first = let("first", ir::min(mod(block, parts) * tile_, all), plan_.keep + 1);
    const SymInt last = let("last", ir::min(first + tile_, all), plan_.keep + 1);
    // This part begins and ends here in the first run; the rest of the part is from the second run.
    const Variable begin = bisect_in_memory(row, a, a_length, b_length, first),
                   end = bisect_in_memory(row, a, a_length, b_length, last);
    const SymInt a_first = place(ir::read(begin), plan_.sorted + 1),
                 a_last = place(ir::read(end), plan_.sorted + 1);
    const SymInt from_a = let("from_a", a_last - a_first, tile_ + 1),
                 from_b = let("from_b", last - first - from_a, tile_ + 1);

    const SymInt p = item_ * threads_ + thread;
    const Expr in_a = ir::index_less(p, from_a);
    const SymInt from = place_in_row(
        at_least(smaller(ir::select(in_a, index_number(a + a_first + p),
                                    index_number(a + plan_.sorted + first - a_first + p - from_a)),
                         index_number(plan_.extent - 1)),
                 0));
    Block loads = {set_element(keys_, p, key_at(row, from))};
    if (plan_.carries_places()) loads.push_back(set_element(places_, p, place_at(row, from)));
    append(*body_, {loop(item_, std::move(loads), unroll_), barrier()});
    declare_registers();
    const SymInt diagonal = let("diagonal", ir::min(thread * items_, last - first), tile_ + 1);
    append(*body_, merge_items(0, from_a, from_a, from_b, diagonal, tile_));
    share_registers(thread * items_);
    store_sorted(row, 0, run * plan_.keep + first, last - first, thread, threads_, nullptr);
  }

  // A variable with the number of elements of the first run among the `diagonal` first.
  Variable bisect_in_memory(const SymInt& row, const SymInt& a, const SymInt& a_length,
                            const SymInt& b_length, const SymInt& diagonal) {
    const Variable low = i32_variable("low"), high = i32_variable("high"),
                   middle = i32_variable("middle");
    append(*body_, {declare(low, at_least(index_number(diagonal - b_length), 0)),
                    declare(high, smaller(index_number(diagonal), index_number(a_length)))});
    const Expr mid = ir::read(middle);
    const auto key_of = [&](const Expr& at) { return key_at(row, place_in_row(at)); };
    Block step = {
        declare(middle, ir::call(Fn::shift_right, {ir::add(ir::read(low), ir::read(high)),
                                                   ir::constant_int(DType::i32, 1)})),
        branch(comes_before(key_of(ir::sub(index_number(a + plan_.sorted + diagonal - 1), mid)),
                            key_of(ir::add(index_number(a), mid))),
               {assign(high, mid)}, {assign(low, ir::add(mid, ir::constant_int(DType::i32, 1)))})};
    body_->push_back(loop(SymInt::axis("step", bisection_steps(plan_.sorted)),
                          {branch(less(ir::read(low), ir::read(high)), std::move(step))}));
    return low;
  }

  const Region& region_;
  const SortPlan& plan_;
  Inliner inliner_;
  int64_t threads_, items_, tile_;
  Variable key_, place_;    // a thread's items, in registers
  Variable keys_, places_;  // the workgroup's, in shared memory
  SymInt item_;
  bool unroll_;
  // Several steps have workspaces that are read and written; the last is the first argument's slot.
  int from_ = -1, to_ = -1, first_slot_ = 0;
  std::vector<int> buffers_;
  Block* body_ = nullptr;
};

}  // namespace

KernelSequence lower_sort(const Region& region, std::span<const SortPlan> steps,
                          const Config& config, const Target& target) {
  KernelSequence sequence;
  for (const SortPlan& step : steps) {
    SortLowering lowering(region, step, config, !target.indexed_registers);
    Kernel kernel = lowering.run();
    if (steps.size() == 1) return kernel;
    kernel.bytes = {1, step.bytes()};
    sequence.launches.push_back({std::move(kernel), lowering.buffers()});
  }
  const SortPlan& plan = steps.front();
  for (const auto& [keys, places] : {std::pair{"keys", "places"}, {"more_keys", "more_places"}}) {
    sequence.workspaces.push_back({keys, plan.key, plan.rows * plan.stride, false});
    if (plan.carries_places())
      sequence.workspaces.push_back({places, DType::i32, plan.rows * plan.stride, false});
    if (steps.size() == 2) break;  // one half is enough
  }
  return sequence;
}

}  // namespace tcc::sched
