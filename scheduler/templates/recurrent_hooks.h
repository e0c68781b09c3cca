// The hooks of backends/device/common/recurrent.inc. In device sources (TCC_BUFFERS comes first;
// indices are in range, and arrays are of f32, with one element for each state but for the gates'
// arrays):
//
// clang-format off
//   load_x(direction, t, row,      the projection of all gates of a hidden unit
//          unit, values[gates])
//   load_w(direction, row, part,   W_VECTOR neighbouring weights of row [gate][unit]; `part` counts
//          values[W_VECTOR])       vectors along it
//   initial(direction, row, unit,  the states before the first step
//           values[states])
//   length(row) -> i32             the number of the row's steps, from 0 to all of them
//   cell(direction, unit,          the next states, from the parts of each gate: the projection's
//        x[gates], p[gates],       and the product's
//        state[states],
//        next[states])
//   store_out(direction, t, row,   an element of the output
//             unit, value[1])
//   store_last(direction, row,     the states behind the last step
//              unit, values[states])
//   rounded(value[1])              rounds to the weights' type
// clang-format on
#pragma once

#include <vector>

#include "ir/recurrent.h"
#include "scheduler/kernel.h"
#include "scheduler/refusal.h"
#include "scheduler/region.h"

namespace tcc::sched {

// A region that is the steps of a layer, with the views before it.
struct RecurrentPlan {
  const ir::Node* node = nullptr;
  ir::RecurrentSteps sizes;
  DType dtype = DType::f32;  // of weights, projection and results
  int64_t w_vector = 1;      // of weights: it divides the hidden size
  const ir::Value *out = nullptr, *last[2] = {nullptr, nullptr};  // results; null: not stored
};
OrRefusal<RecurrentPlan> plan_recurrent(const Region& region);

class RecurrentHooks {
 public:
  // Both must outlive the hooks' making.
  RecurrentHooks(const Region& region, const RecurrentPlan& plan) : region_(region), plan_(plan) {}

  Hook load_x() const;
  Hook load_w() const;
  Hook initial() const;
  Hook length() const;
  Hook cell() const;
  Hook store_out() const;
  Hook store_last() const;
  Hook rounded() const;

 private:
  // Parameters of these names, which count directions, rows of the batch and hidden units.
  Hook hook(std::string name, const std::vector<std::string>& indices) const;

  const Region& region_;
  const RecurrentPlan& plan_;
};

// Issue slots of a cell.
double cell_slots(const Region& region, const RecurrentPlan& plan);

}  // namespace tcc::sched
