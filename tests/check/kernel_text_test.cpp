// Kernel text is read as it is written, and refused with its place where it is wrong.
#include <string>

#include <gtest/gtest.h>

#include "ir/bit_cast.h"
#include "scheduler/kernel_names.h"
#include "scheduler/kernel_parse.h"
#include "support/error.h"

namespace tcc::sched {
namespace {

void expect_same(const std::string& text) { EXPECT_EQ(to_string(parse_kernel(text)), text); }

TEST(KernelText, IsReadAsWritten) {
  expect_same(
      R"(kernel softmax_kernel grid 4 workgroup 64 cluster 2 resident 2 shared_bytes 1024 begins_alone lanes wide
  b0: in f32[256]
  b1: out f16[256] align 4
  b2: in i64[16] align 8 needed 8
  shared s: f32[64]
  shared counts: u64[1]
  let row < 8 = min((thread//32)+block*2, 6)
  var best: f32 = -inf
  var place: i64 = 256
  var flag: bool = true
  array x: f32[4]
  x[0..4) = b0[row*4..] early
  for e < 4
    unroll v < 4
      x[v] = (x[v] + (exp(#1=load(b0, e*4-row+v+8)) + #1))
  if (([row] < 3) && flag)
    best = select((best < 1.5), 1.2676506002282294e+30, nan)
  else
    best = -fma(best, 0.5, 3.0)
  reduce argmax over 8 threads, stride 2: best place
  scan sum over 4 threads, stride 1: best best
  gather all: f32[2] = best of the cluster
  best = reduce_max[r < 3, r1 < 5](load(b0, at{0..15: load(b2, at1{0..15: place}+row)}*16+r*5+r1))
  flag = ((#1=exp(best) == 1.0) || (#1 < 0.5))
  best = (load(b0, at) / all[1])
  s[thread] = best
  b1[((row*8+thread)%64)] = shuffle_xor16(best)
  barrier
  reload
  exchange counts[0] expects 8 bytes
  exchange counts[0] sends best to all[rank] of 2
  exchange counts[0] waits
  cluster arrive
  cluster wait
  for _ < 1
    b1[0..] = x[0..4)
    b1[4..] = x[0..4) where ([row] < 3)
)");
}

TEST(KernelText, OfSizesThatComeAtRunTime) {
  expect_same(R"(kernel sums size n size r grid ((r+31)//32) workgroup 32 wide
  b0: in f32[n*r]
  b1: out f32[r]
  if ([block*32+thread] < [r])
    var sum: f32 = 0.0
    for c < n
      sum = (sum + load(b0, block*n*32+c+n*thread))
    b1[block*32+thread] = sum
)");
}

TEST(KernelText, OfDeviceSources) {
  expect_same(R"(kernel matmul_kernel grid 12 workgroup 128
  b0: in f32[256]
  b1: out f32[256]
  source contraction
  parameters common/gemm_sm90_shape.h GemmSm90
  set product.a.load = Load::tiles
  define BLOCK_M = 64
  define TYPE = "s32"
  hook load_a(batch < 1, at < 32, k < 8, out_values: f32[4] out)
    let m < 30 = min(29, at)
    out_values[0] = load(b0, k+m*8)
  hook line(at < 4): i64
    return [at*64]
)");
}

// A part that is used more than once is written once: the text of a DAG is as long as the DAG.
TEST(KernelText, OfDeepExpressionsIsShort) {
  Kernel kernel = parse_kernel("kernel k grid 1 workgroup 1\n  b0: in f32[1]\n  b1: out f32[1]\n");
  Expr e = ir::load(0, DType::f32, 0);
  for (int i = 0; i < 60; ++i) e = ir::mul(e, e);
  kernel.body = {store(1, 0, e)};
  const std::string text = to_string(kernel);
  EXPECT_LT(text.size(), 2000u);
  expect_same(text);
}

TEST(KernelText, NamesAreUniqueAndNotReserved) {
  Kernel kernel = parse_kernel("kernel k grid 2 workgroup 2\n  b0: out f32[64]\n");
  const Expr one = ir::constant(DType::f32, 1);
  const auto variable = [](const char* name) { return ir::new_variable(name, DType::f32); };
  const SymInt i = SymInt::axis("i", 4), j = SymInt::axis("i", 4);
  const Variable x = variable("x"), y = variable("x"), z = variable("x1"), b = variable("b0"),
                 t = variable("thread"), word = variable("float");
  kernel.body = {loop(i, {loop(j, {store(0, i * 4 + j, one)})})};
  for (const Variable& v : {x, y, z, b, t, word}) kernel.body.push_back(declare(v, one));
  const KernelNames names(kernel, nullptr, {"float"});
  EXPECT_EQ(names.of(*i.as_atom()), "i");
  EXPECT_EQ(names.of(*j.as_atom()), "i1");
  EXPECT_EQ(names.of(x), "x");
  EXPECT_EQ(names.of(y), "x1");
  EXPECT_EQ(names.of(z), "x1_1");
  EXPECT_EQ(names.of(b), "b0_1");
  EXPECT_EQ(names.of(t), "thread1");
  EXPECT_EQ(names.of(word), "float1");
  EXPECT_THROW(names.of(variable("x")), InternalError);
  EXPECT_EQ(KernelNames(kernel).fresh("x"), "x2");
}

// The same statements, made later, have the same text.
TEST(KernelText, DoesNotDependOnWhatWasMadeBefore) {
  const auto text = [] {
    Kernel kernel = parse_kernel("kernel k grid 2 workgroup 2\n  b0: out f32[64]\n");
    const SymInt a = SymInt::axis("i", 4), b = SymInt::axis("i", 4);
    kernel.body = {loop(a, {loop(b, {store(0, b * 4 + a, ir::constant(DType::f32, 1))})})};
    return to_string(kernel);
  };
  const std::string first = text();
  for (int round = 0; round < 300; ++round) ASSERT_EQ(text(), first);
}

void expect_error(const std::string& text, const std::string& expected) {
  try {
    parse_kernel(text);
    ADD_FAILURE() << "accepts " << text;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_input);
    EXPECT_NE(std::string(error.what()).find(expected), std::string::npos) << error.what();
  }
}

TEST(KernelText, ErrorsNameTheLine) {
  const std::string head = "kernel k grid 1 workgroup 32\n  b0: in f32[8]\n  b1: out f32[8]\n";
  const auto expect = [&](const std::string& line, const std::string& error) {
    expect_error(head + "  barrier\n" + line + "\n", error);
  };
  expect_error("", "kernel text is empty");
  expect_error("kernal k", "line 1, column 1: expected 'kernel'");
  expect_error("kernel k grid -1", "line 1");
  expect_error("kernel k grid 1 workgroup 32 wider", "expected 'wide'");
  expect_error("kernel k grid 1 workgroup 32\n  b1: in f32[8]\n", "buffers are numbered");
  expect_error("kernel k grid 1 workgroup 32\n  b0: in f33[8]\n", "line 2");
  expect("  b1[0] = load(b0, i)", "line 5, column 19: no index i");
  expect("  b1[0] = x", "no variable x");
  expect("  b1[0] = load(b7, 0)", "no such buffer");
  expect("  b1[0] = nothing(1.0)", "no function nothing");
  expect("  b1[0] = exp(1.0, 2.0)", "line 5");
  expect("  b1[0] = (1.0 + 2:i32)", "line 5");
  expect("  b1[0] = (1.0 ? 2.0)", "expected an operator");
  expect("  b1[0] = #3", "no #3");
  expect("  b1[0] = 1.0 2.0", "there is more than expected");
  expect("  b1[0//0] = 1.0", "the divisor is not positive");
  expect("  b1[9999999999999999999] = 1.0", "the number is too large");
  expect("  b1[4611686018427387904*4] = 1.0", "line 5");
  expect("  let i < 0-3 = 1", "the extent is negative");
  expect("  reduce median over 4 threads, stride 1:", "no reduction median");
  expect("  jump", "expected a statement");
  expect("      barrier", "indented more");
  expect("   barrier", "not indented by two spaces");
  expect("barrier", "expected a hook");
}

TEST(KernelText, HostileTextIsRefusedQuickly) {
  const std::string head = "kernel k grid 1 workgroup 32\n  b0: out f32[8]\n";
  const std::string deep(100000, '(');
  expect_error(head + "  b0[0] = " + deep, "nested more than");
  expect_error(head + "  b0[" + deep + "] = 1.0", "nested more than");
  expect_error(head + "  b0[0] = " + std::string(100000, '-') + "x", "nested more than");
  expect_error(head + "  b0[0] = " + std::string(100000, '!') + "x", "nested more than");
  std::string loops = head;
  for (int depth = 1; depth < 200; ++depth)
    loops += std::string(2 * static_cast<size_t>(depth), ' ') + "if true\n";
  expect_error(loops, "at most 64");
  expect_error(std::string(size_t{1} << 25, 'x'), "the limit is");
  std::string product = "1";
  for (int i = 0; i < 60; ++i) product += "*(thread+" + std::to_string(i) + ")";
  expect_error(head + "  b0[" + product + "] = 1.0", "line 3");
}

}  // namespace
}  // namespace tcc::sched
