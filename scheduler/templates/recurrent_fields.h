// The values of configs that all kernels of recurrent layers have: how the threads of a workgroup
// share the products of a step, and where the weights stay.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/templates/recurrent_forms.h"
#include "scheduler/templates/rule_space.h"

namespace tcc::sched {

struct RecurrentValues {
  int64_t rows, threads, shares, thread_columns, thread_rows, weights;
};

// The parameters of all these but the rows and threads. `Values` is derived from RecurrentValues.
// `sum` names what threads share, and `more` follows the text of the weights.
template <class Values>
std::vector<Field<Values>> sharing_fields(const std::string& sum, const std::string& more = "") {
  return {{"shares", {1, 2, 4, 8, 16, 32}, "threads that share " + sum, &Values::shares},
          {"thread_columns",
           {1, 2, 4, 8},
           "columns of the weights that a thread multiplies at once",
           &Values::thread_columns},
          {"thread_rows",
           {1, 2, 4, 8},
           "rows of the state that it multiplies at once",
           &Values::thread_rows},
          {"weights",
           {kInShared, kInRegisters, kInMemory},
           "the weights stay in shared memory (0) or registers (1), or are read at each step (2)" +
               more,
           &Values::weights}};
}

}  // namespace tcc::sched
