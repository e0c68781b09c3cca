// Each rule of kernel IR, broken.
#include <string>

#include <gtest/gtest.h>

#include "scheduler/kernel_parse.h"
#include "support/error.h"

namespace tcc::sched {
namespace {

const std::string kHead = R"(kernel k grid 4 workgroup 64 cluster 2
  b0: in f32[256]
  b1: out f32[256]
  b2: in f16[256]
  shared s: f32[64]
)";

// The message of verify for a kernel with these statements; "" when there is none.
std::string problem(const Kernel& kernel) {
  try {
    verify(kernel);
    return "";
  } catch (const InternalError& error) { return error.what(); }
}
std::string problem(const std::string& statements) {
  return problem(parse_kernel(kHead + statements));
}

void expect_problem(const std::string& statements, const std::string& expected) {
  EXPECT_NE(problem(statements).find(expected), std::string::npos)
      << statements << " -> " << problem(statements);
}

TEST(VerifyKernel, AcceptsWhatIsRight) {
  EXPECT_EQ(problem(R"(
  let i < 256 = block*64+thread
  var acc: f32 = 0.0
  array x: f32[4]
  for e < 4
    x[e] = load(b0, e)
    acc = (acc + x[e])
  if ([i] < 200)
    acc = reduce_sum[r < 3](load(b0, r+at{0..9: i64(acc)}))
  s[thread] = acc
  barrier
  reduce sum over 32 threads, stride 2: acc
  gather of: f32[2] = acc of the cluster
  acc = of[1]
  x[0..4) = b2[block*4..]
  b1[i] = acc
  b1[0..] = x[0..4)
)"),
            "");
}

TEST(VerifyKernel, AxesAreBoundWhereTheyAreUsed) {
  const Kernel whole = parse_kernel(kHead + "  for e < 4\n    b1[e] = load(b0, e)\n");
  Kernel kernel = whole;
  kernel.body = whole.body[0].body;
  EXPECT_NE(problem(kernel).find("the axis e is not bound here"), std::string::npos);
  // The axis is bound in only one of two places.
  kernel.body = whole.body;
  kernel.body.push_back(whole.body[0].body[0]);
  EXPECT_NE(problem(kernel).find("the axis e is not bound here"), std::string::npos);
  // In an extent, and in a reduction's body.
  const SymInt free = SymInt::axis("free", 4);
  kernel.body = {loop(SymInt::axis("i", free + 1), {})};
  EXPECT_NE(problem(kernel).find("the axis free is not bound here"), std::string::npos);
  const SymInt r = SymInt::axis("r", 4, ir::AxisRole::reduction);
  const Expr element = ir::load(0, DType::f32, r);
  kernel.body = {store(1, 0, ir::add(ir::reduce(ir::ReduceKind::sum, {r}, element), element))};
  EXPECT_NE(problem(kernel).find("the axis r is not bound here"), std::string::npos);
}

TEST(VerifyKernel, AxesAreBoundOnce) {
  const SymInt e = SymInt::axis("e", 4);
  Kernel kernel = parse_kernel(kHead);
  kernel.body = {loop(e, {loop(e, {})})};
  EXPECT_NE(problem(kernel).find("the axis e is bound twice"), std::string::npos);
  kernel.body = {let_index(e, 0), let_index(e, 1)};
  EXPECT_NE(problem(kernel).find("the axis e is bound twice"), std::string::npos);
  kernel.body = {loop(e, {}), loop(e, {})};  // one after the other
  EXPECT_EQ(problem(kernel), "");
}

TEST(VerifyKernel, AxesHaveOneRoleAndOneExtent) {
  Kernel kernel = parse_kernel(kHead);
  kernel.body = {loop(SymInt::axis("r", 4, ir::AxisRole::reduction), {})};
  EXPECT_NE(problem(kernel).find("bound as what it is not"), std::string::npos);
  const SymInt e = SymInt::axis("e", 4);
  kernel.body = {store(1, 0, ir::reduce(ir::ReduceKind::sum, {e}, ir::load(0, DType::f32, e)))};
  EXPECT_NE(problem(kernel).find("no axis of reductions"), std::string::npos);
  kernel.body = {store(1, thread_axis(32), ir::constant(DType::f32, 0))};
  EXPECT_NE(problem(kernel).find("the axis thread has extents 64 and 32"), std::string::npos);
}

TEST(VerifyKernel, VariablesAreDeclaredOnceWhereTheyAreUsed) {
  const Variable x = ir::new_variable("x", DType::f32);
  const Expr one = ir::constant(DType::f32, 1);
  Kernel kernel = parse_kernel(kHead);
  const auto expect = [&](Block body, const char* expected) {
    kernel.body = std::move(body);
    EXPECT_NE(problem(kernel).find(expected), std::string::npos) << problem(kernel);
  };
  expect({assign(x, one)}, "x is not declared here");
  expect({store(1, 0, ir::read(x))}, "x is not declared here");
  expect({declare(x, one), declare(x, one)}, "x is declared twice");
  expect({declare(x, one), array(x, 4)}, "x is declared twice");
  expect({loop(SymInt::axis("e", 4), {declare(x, one)}), assign(x, one)}, "x is not declared here");
  expect({branch(ir::index_less(thread_axis(64), 3), {declare(x, one)}, {assign(x, one)})},
         "x is not declared here");
  // In the value of an index.
  const SymInt at = SymInt::indirect("at", ir::cast(ir::read(x), DType::i64), {0, 9});
  expect({store(1, at, one)}, "x is not declared here");
  kernel.body = {loop(SymInt::axis("e", 4), {declare(x, one)}), declare(x, one)};
  EXPECT_EQ(problem(kernel), "");
}

TEST(VerifyKernel, DTypesAgree) {
  Kernel kernel = parse_kernel(kHead + "  var x: f32 = 1.0\n");
  Variable other = kernel.body[0].variable;
  other.dtype = DType::i32;
  kernel.body.push_back(store(1, 0, ir::read(other)));
  EXPECT_NE(problem(kernel).find("x is f32, and used as i32"), std::string::npos);
  expect_problem("  var x: f32 = 1\n", "x is f32, and its value i64");
  expect_problem("  var x: f32 = 1.0\n  x = 1:i32\n", "x is f32, and its value i32");
  expect_problem("  array x: f32[4]\n  x[0] = 1:i32\n", "x is f32, and its value i32");
  expect_problem("  b1[0] = 1:i32\n", "b1 is f32, and i32 is stored to it");
  expect_problem("  b1[0] = load(b0:i32, 0)\n", "b0 is f32, and read as i32");
  expect_problem("  if [thread]\n    barrier\n", "a condition is bool, and its value i64");
  expect_problem("  array x: i32[4]\n  x[0..4) = b0[0..]\n", "b0 is f32, and a vector of it i32");
}

TEST(VerifyKernel, ArraysAreNoVariables) {
  const Variable x = ir::new_variable("x", DType::f32);
  const Expr one = ir::constant(DType::f32, 1);
  Kernel kernel = parse_kernel(kHead);
  kernel.body = {array(x, 4), assign(x, one)};
  EXPECT_NE(problem(kernel).find("x is an array"), std::string::npos);
  kernel.body = {declare(x, one), set_element(x, 0, one)};
  EXPECT_NE(problem(kernel).find("x is not an array"), std::string::npos);
  expect_problem("  array x: f32[0]\n", "the array x is empty");
}

TEST(VerifyKernel, BuffersAreReadOrWritten) {
  expect_problem("  b0[0] = 1.0\n", "the input b0 is written");
  expect_problem("  b1[0] = load(b1, 0)\n", "the output b1 is read");
  expect_problem("  b9[0] = 1.0\n", "there is no buffer b9");
  expect_problem("  array x: f32[4]\n  x[0..4) = b1[0..]\n", "the output b1 is read");
  expect_problem("  array x: f32[4]\n  b0[0..] = x[0..4)\n", "the input b0 is written");
}

TEST(VerifyKernel, AccessesAreInBounds) {
  expect_problem("  b1[256] = 1.0\n", "b1[256] is outside of its 256 elements");
  expect_problem("  b1[thread-64] = 1.0\n", "b1[thread-64] is outside");
  expect_problem("  b1[thread*8] = 1.0\n", "b1[thread*8] reaches outside of its 256 elements");
  expect_problem("  for e < 300\n    b1[e] = 1.0\n", "b1[e] reaches outside");
  expect_problem("  b1[0] = load(b0, thread-1)\n", "b0[thread-1] reaches outside");
  expect_problem("  b1[0] = reduce_sum[r < 257](load(b0, r))\n", "b0[r] reaches outside");
  expect_problem("  s[thread+1] = 1.0\n", "s[thread+1] reaches outside of its 64 elements");
  expect_problem("  array x: f32[4]\n  b1[0] = x[4]\n", "x[4] is outside of its 4 elements");
  expect_problem("  array x: f32[8]\n  x[0..8) = b0[252..]\n", "b0[259] is outside");
  expect_problem("  array x: f32[4]\n  x[0..8) = b0[0..]\n", "a vector of 8 elements in x of 4");
  expect_problem("  array x: f32[99]\n  x[0..65) = b0[0..]\n", "a vector of 65 elements");
  // The range of a guarded index may reach further than its values.
  EXPECT_EQ(problem("  if ([thread] < 32)\n    b1[thread*8] = 1.0\n"), "");
  EXPECT_EQ(problem("  b1[0] = select(([thread] < 63), load(b0, thread*5), 0.0)\n"), "");
  EXPECT_EQ(problem("  if ([300] < 200)\n    b1[300] = 1.0\n"), "") << "it is never stored";
  // A condition on something else keeps no index in bounds, nor does one on another operand.
  expect_problem("  if ([block] < 2)\n    b1[thread*8] = 1.0\n", "b1[thread*8] reaches outside");
  expect_problem("  if ([thread] < 2)\n    b1[300] = 1.0\n", "b1[300] is outside");
  expect_problem("  if ([thread] < 2)\n    for e < 300\n      b1[e] = 1.0\n",
                 "b1[e] reaches outside");
  expect_problem("  b1[0] = (select(([thread] < 63), 1.0, 0.0) + load(b0, thread*5))\n",
                 "b0[thread*5] reaches outside");
  expect_problem("  b1[0] = select((load(b0, thread*5) < 1.0), 1.0, 0.0)\n",
                 "b0[thread*5] reaches outside");
  EXPECT_EQ(problem("  let i < 500 = thread*8\n  if ([i] < 256)\n    b1[thread*8] = 1.0\n"), "");
  expect_problem("  let i < 4 = thread+4\n", "the axis i is thread+4, outside of its extent");
}

TEST(VerifyKernel, ThreadsThatAreCombinedExist) {
  const std::string x = "  var x: f32 = 1.0\n";
  expect_problem(x + "  reduce sum over 128 threads, stride 1: x\n", "more than there are");
  expect_problem(x + "  reduce sum over 8 threads, stride 16: x\n", "more than there are");
  expect_problem(x + "  reduce sum over 6 threads, stride 1: x\n", "not a power of two");
  expect_problem(x + "  reduce argmax over 8 threads, stride 1: x\n", "1 variables are combined");
  expect_problem(x + "  scan sum over 8 threads, stride 1: x\n", "1 variables are combined");
}

TEST(VerifyKernel, AllThreadsReachExchanges) {
  const std::string x = "  var x: f32 = 1.0\n  let i < 32 = thread//2\n";
  const auto expect_apart = [&](const std::string& before, const std::string& statement) {
    expect_problem(x + before + "    " + statement + "\n", "is not reached by all threads");
  };
  for (const char* condition :
       {"  if ([thread] < 3)\n", "  if ([i] < 3)\n", "  for e < thread+1\n"}) {
    expect_apart(condition, "barrier");
    expect_apart(condition, "reduce sum over 32 threads, stride 1: x");
    expect_apart(condition, "gather of: f32[2] = x of the cluster");
  }
  EXPECT_EQ(problem(x + "  if ([block] < 3)\n    barrier\n"), "");
  EXPECT_EQ(problem(x + "  for e < block+1\n    barrier\n"), "");
  EXPECT_EQ(problem(x + "  if ([thread] < 3)\n    b1[0] = x\n  barrier\n"), "");
  Kernel kernel = parse_kernel(kHead + "  var x: f32 = 1.0\n");
  const Variable variable = kernel.body[0].variable;
  const Block apart = {assign(variable, ir::shuffle_xor(ir::read(variable), 1))};
  kernel.body.push_back(branch(ir::index_less(thread_axis(64), 3), apart));
  EXPECT_NE(problem(kernel).find("a shuffle is not reached"), std::string::npos);
  for (const Stmt& one : {cluster_arrive(), cluster_wait()}) {
    kernel.body.back() = branch(ir::index_less(thread_axis(64), 3), {one});
    EXPECT_NE(problem(kernel).find("of the cluster is not reached"), std::string::npos);
  }
}

TEST(VerifyKernel, ClustersAreWhole) {
  const std::string x = "  var x: f32 = 1.0\n";
  expect_problem(x + "  gather of: f32[4] = x of the cluster\n", "4 workgroups of a cluster of 2");
  Kernel kernel = parse_kernel(kHead);
  kernel.grid = 3;
  EXPECT_NE(problem(kernel).find("a cluster is not whole"), std::string::npos);
  kernel.grid = 4;
  kernel.arguments.clear();
  EXPECT_NE(problem(kernel).find("has no arguments"), std::string::npos);
}

TEST(VerifyKernel, HooksFollowTheRulesToo) {
  const std::string head = "kernel k grid 4 workgroup 64\n  b0: in f32[256]\n  source gemv\n";
  const auto of_hook = [&](const std::string& text) { return problem(parse_kernel(head + text)); };
  const std::string hook = "  hook load_a(at < 16, out_values: f32[4] out)\n";
  EXPECT_EQ(of_hook(hook + "    out_values[1] = load(b0, at*4)\n"), "");
  EXPECT_NE(of_hook(hook + "    barrier\n").find("k, load_a: a hook has a barrier"),
            std::string::npos);
  EXPECT_NE(of_hook(hook + "    return 1.0\n").find("nothing is to be returned"),
            std::string::npos);
  EXPECT_NE(of_hook(hook + "    out_values[4] = 1.0\n").find("is outside of its 4 elements"),
            std::string::npos);
  EXPECT_NE(of_hook("  hook epilogue(acc: f32[4] in)\n    acc[0] = 1.0\n")
                .find("the parameter acc is written"),
            std::string::npos);
  EXPECT_NE(of_hook("  hook line(at < 4): i64\n    return 1.0\n")
                .find("the result is i64, and its value f32"),
            std::string::npos);
  // Hooks are functions of the device source: they have no block and no thread.
  Kernel kernel = parse_kernel(head + hook);
  kernel.hooks[0].body = {let_index(SymInt::axis("i", 64), thread_axis(64))};
  EXPECT_NE(problem(kernel).find("the axis thread is not bound here"), std::string::npos);
}

}  // namespace
}  // namespace tcc::sched
