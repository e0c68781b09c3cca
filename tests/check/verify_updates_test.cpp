// Buffers that a kernel reads and writes: which order of loads and stores is an update in place.
#include <string>

#include <gtest/gtest.h>

#include "scheduler/kernel_parse.h"
#include "support/error.h"

namespace tcc::sched {
namespace {

const std::string kHead = R"(kernel k grid 4 workgroup 64
  b0: in f32[256]
  b1: inout f32[256]
)";

std::string problem(const std::string& statements) {
  try {
    verify(parse_kernel(kHead + statements));
    return "";
  } catch (const InternalError& error) { return error.what(); }
}

TEST(VerifyUpdates, TextReadsBack) {
  const std::string text = kHead + R"(  let i < 256 = block*64+thread
  b1[i] = load(b1, i)
)";
  const Kernel kernel = parse_kernel(text);
  EXPECT_EQ(kernel.arguments[1].access, Argument::Access::read_write);
  EXPECT_EQ(to_string(parse_kernel(to_string(kernel))), to_string(kernel));
}

TEST(VerifyUpdates, AThreadMayReadWhatItStores) {
  EXPECT_EQ(problem(R"(  let i < 256 = block*64+thread
  b1[i] = (load(b1, i) + load(b0, i))
)"),
            "");
  EXPECT_EQ(problem(R"(  let i < 64 = thread
  array x: f32[4]
  x[0..4) = b1[i*4..]
  array y: f32[4]
  unroll v < 4
    y[v] = (x[v] * 2.0)
  b1[i*4..] = y[0..4)
)"),
            "");
  // The load comes before, the store stands in a block around it.
  EXPECT_EQ(problem(R"(  let i < 256 = block*64+thread
  var s: f32 = 0.0
  if ([i] < 200)
    s = load(b1, i)
  b1[i] = s
)"),
            "");
  EXPECT_EQ(problem(R"(  for e < 4
    let i < 256 = e*64+thread
    b1[i] = load(b1, i)
)"),
            "");
}

TEST(VerifyUpdates, AThreadMayNotReadWhatAnotherStores) {
  const std::string expected = "is read and not written afterwards by the same thread";
  for (const char* statements : {
           // The element is another one.
           "  let i < 256 = block*64+thread\n  b1[i] = load(b1, 255-i)\n",
           // The old value is gone.
           "  let i < 256 = block*64+thread\n  b1[i] = 0.0\n  var s: f32 = load(b1, i)\n",
           // It may not be stored at all.
           "  let i < 256 = block*64+thread\n  var s: f32 = load(b1, i)\n  if ([i] < 200)\n"
           "    b1[i] = s\n",
           // It is read again in the next round.
           "  let i < 256 = block*64+thread\n  for e < 4\n    b1[i] = 0.0\n"
           "    var s: f32 = load(b1, i)\n",
           // Part of the vector that is read is another thread's.
           "  let i < 63 = thread\n  array x: f32[4]\n  x[0..4) = b1[i*2..]\n"
           "  array y: f32[2]\n  b1[i*2..] = y[0..2)\n",
       })
    EXPECT_NE(problem(statements).find(expected), std::string::npos)
        << statements << " -> " << problem(statements);
}

}  // namespace
}  // namespace tcc::sched
