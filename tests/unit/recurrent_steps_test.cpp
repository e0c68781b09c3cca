// Recurrent layers whose steps are launches of one kernel.
#include <gtest/gtest.h>

#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "runtime/program.h"
#include "tests/random_recurrent.h"

namespace tcc {
namespace {

TEST(RecurrentSteps, AgreeWithTheReference) {
  test::check_recurrent(test::Devices::software, "recurrent_steps", {}, 1, 8);
}

}  // namespace
}  // namespace tcc
