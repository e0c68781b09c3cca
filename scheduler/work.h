// Counts the instructions, serial loops and reads of an element. Partition, the default
// configs and the cost models (scheduler/cost.h) all count with it, and it counts with one table of
// instructions (ir::FnInfo::slots).
#pragma once

#include <span>
#include <vector>

#include "ir/expr.h"
#include "scheduler/region.h"

namespace tcc::sched {

struct Work {
  double slots = 0;       // issue slots
  double iterations = 1;  // of the longest nest of serial loops
  // A thread computes one such element at a time. Vectors of elements would save few instructions
  // and leave fewer threads that wait at the same time.
  bool is_long() const;
};

// The work of one element of some expressions, when neighbouring threads take neighbouring values
// of an axis. Parts that the expressions share count once. A load in a serial loop counts once for
// each iteration.
struct ElementWork : Work {
  double contiguous = 0;  // loads of neighbouring elements
  double scattered = 0;   // loads of elements that are not neighbours
  double shared = 0;      // loads of the same element
  double bytes = 0;       // of the contiguous and scattered loads' elements, together
  double held = 0;        // loaded elements that a thread holds at once: loops hold one iteration's
  double held_bytes = 0;  // of these
};
ElementWork element_work(std::span<const ir::Expr> values, const SymInt& axis);

// Instructions of one element in a kernel's text: those of all paths, also of rare ones, as of the
// reduction of large angles. Unrolled loops have so many for each element, which compilers take
// long for. Parts that the expressions share count once.
double text_slots(std::span<const ir::Expr> values);

// The work of one element of a node's results once its operands' elements are there.
struct OpWork : Work {
  std::vector<double> reads;  // elements of each operand
};
OpWork op_work(const ir::Node& node);

// Loading an element that another kernel stored takes about as long as so many issue slots, with
// its address and with what is left of the wait. What takes less is computed again instead.
inline constexpr double kLoadSlots = 16;

// Issue slots of the region's pointwise ops and reductions together.
double region_slots(const Region& region);

}  // namespace tcc::sched
