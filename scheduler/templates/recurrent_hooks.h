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
//   length(row) -> i32             the number of the row's steps, from 0 on
//   cell(direction, unit,          the next states, from the parts of each gate: the projection's
//        x[gates], p[gates],       and the product's
//        state[states],
//        next[states])
//   multiplied(direction, unit,    an element of what the second product of a step multiplies, from
//              x[gates],           the parts of the gates of the first one
//              p[gates],
//              state[states],
//              value[1])
//   store_out(direction, t, row,   an element of the output
//             unit, value[1])
//   store_last(direction, row,     the states behind the last step
//              unit, values[states])
//   rounded(value[1])              rounds to the weights' type
//
// Those of workgroups that share the hidden units:
//   load_h(half, direction, row,   CHUNK neighbours of h in a half of the exchanged memory; `part`
//          part, values[4])        counts chunks. Half 2 has what second products multiply
//   store_h(half, direction, row,  an element of h
//           unit, value[1])
//   load_states, store_states(     the states between launches
//     direction, row, unit,
//     values[states])
//   load_gates, store_gates(       the first gates' products between the launches of a step
//     direction, row, unit,
//     values[first gates])
//
// Those of quantized weights, which a launch is a step of:
//   load_range, store_range(       the least and the largest h of a workgroup and a half, and 0;
//     half, place, values[2])      `place` counts workgroups
//   joined(a[2], b[2], values[2])  the range of both
//   quantization(range[2],         the scale and the zero point
//                values[2])
//   quantized(value[1], of[2])     what h is a multiple of the scale of
// clang-format on
#pragma once

#include <utility>
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
  // The gates that are products of h. The others need them: they are a second product of the step.
  int64_t first_gates = 1;
  int64_t products() const { return first_gates < sizes.gates ? 2 : 1; }
  bool is_quantized() const { return sizes.weight_scale != nullptr; }
  const ir::Value *out = nullptr, *last[2] = {nullptr, nullptr};  // results; null: not stored
};
OrRefusal<RecurrentPlan> plan_recurrent(const Region& region);

// Memory between workgroups that share the hidden units of a layer, as arguments of the kernel.
struct RecurrentMemory {
  int h = -1;       // of the plan's dtype, [halves][directions][rows][width]
  int states = -1;  // f32, [directions][batch][hidden][states]; -1: none
  int gates = -1;   // f32, [directions][batch][hidden][first gates]; -1: none
  int ranges = -1;  // f32, [2][workgroups][2]; -1: none
  SymInt workgroups = 0;
  SymInt rows = 0;    // the batch, padded
  int64_t width = 0;  // the hidden size, padded

  // Two halves, and what a second product multiplies.
  static int64_t halves(const RecurrentPlan& plan) { return plan.products() + 1; }
  SymInt h_elements(const RecurrentPlan& plan) const {
    return halves(plan) * plan.sizes.directions * rows * width;
  }
};

class RecurrentHooks {
 public:
  // Both must outlive the hooks' making.
  RecurrentHooks(const Region& region, const RecurrentPlan& plan, RecurrentMemory memory = {})
      : region_(region), plan_(plan), memory_(memory) {}

  Hook load_x() const;
  Hook load_w() const;
  Hook initial() const;
  Hook length() const;
  Hook cell() const;
  Hook multiplied() const;
  Hook store_out() const;
  Hook store_last() const;
  Hook rounded() const;
  Hook load_h() const;
  Hook store_h() const;
  Hook load_states() const;
  Hook store_states() const;
  Hook load_gates() const;
  Hook store_gates() const;
  Hook load_range() const;
  Hook store_range() const;
  Hook joined() const;
  Hook quantization() const;
  Hook quantized() const;

 private:
  // Parameters of these names, which count directions, rows of the batch, hidden units and halves
  // of the exchanged memory.
  Hook hook(std::string name, const std::vector<std::string>& indices) const;

  // The place in the exchanged memory of hooks that begin with half, direction and row.
  SymInt place_of_h(const Hook& hook) const;
  SymInt place_of_element(const Hook& hook) const;
  // The next states (cell), or what follows from the first gates (multiplied).
  Hook hook_of_cell(const char* called, const char* result, bool is_multiplied) const;
  // A hook of a graph of scalars, whose inputs are the arrays' elements in order.
  Hook hook_of_graph(const char* called, const ir::Graph& graph,
                     const std::vector<std::pair<const char*, int64_t>>& arrays,
                     bool returns) const;
  // half, place and an array.
  Hook hook_of_range(const char* called, const char* array, bool written) const;
  // These load or store `count` values of each element of the states.
  Hook load_values(const char* name, int buffer, int64_t count) const;
  Hook store_values(const char* name, int buffer, int64_t count) const;

  const Region& region_;
  const RecurrentPlan& plan_;
  const RecurrentMemory memory_;
};

// Issue slots of a cell.
double cell_slots(const Region& region, const RecurrentPlan& plan);
// Predicts the time of the steps of an unrolled layer: one launch each for few rows, else two. No
// GPU was measured.
double unrolled_seconds(const RecurrentPlan& plan, const Target& target);
// Sets the defines that all forms of the device source have, and `more`. A workgroup has so many
// rows. Sizes that come at run time are numbers that the kernel gets (Kernel::counts).
void define_recurrent(Kernel& kernel, const RecurrentPlan& plan, int64_t rows,
                      const std::vector<std::pair<const char*, int64_t>>& more);

}  // namespace tcc::sched
