// The passes of legalize, one by one, on kernel text.
#include "tests/check/check_kernel.h"
#include "tests/expect_error.h"

namespace tcc::sched {
namespace {

using test::after;
using test::expect_pass;

Target shuffling(bool shuffles) {
  Target target = target_by_name("cuda:sm_90a");
  target.subgroup_size = 32;
  target.subgroup_shuffle = shuffles;
  return target;
}

TEST(Legalize, PassesAreNamedOnce) {
  std::set<std::string_view> names;
  for (const KernelPass& pass : legalize_passes())
    EXPECT_TRUE(names.insert(pass.name).second) << pass.name;
  EXPECT_GE(names.size(), 7u);
}

TEST(Legalize, CallsBackAfterEachPass) {
  const Kernel kernel = parse_kernel(
      "kernel k grid 1 workgroup 32\n  b0: out f32[32]\n"
      "  b0[thread] = 1.0\n");
  std::vector<std::string_view> called;
  legalize(kernel, shuffling(true),
           [&](std::string_view pass, const Kernel&) { called.push_back(pass); });
  ASSERT_EQ(called.size(), legalize_passes().size());
  EXPECT_EQ(called.front(), "lower-exchanges");
  EXPECT_EQ(called.back(), "check-limits");
}

constexpr std::string_view kSum = R"(kernel k grid 1 workgroup 64
  b0: in f32[64]
  b1: out f32[64]
  var sum: f32 = load(b0, thread)
  reduce sum over 4 threads, stride 16: sum
  b1[thread] = sum
)";

TEST(LowerExchanges, ShufflesWithinASubgroup) {
  // Stride 16 is a bit of the lane, stride 32 is one of the subgroup's number.
  expect_pass("lower-exchanges", shuffling(true), kSum,
              R"(kernel k grid 1 workgroup 64 lanes
  b0: in f32[64]
  b1: out f32[64]
  shared exchange: f32[64]
  var sum: f32 = load(b0, thread)
  var other: f32 = shuffle_xor16(sum)
  sum = (sum + other)
  exchange[thread] = sum
  barrier
  sum = exchange[-(thread//32)*32+thread]
  unroll _ < 1
    sum = (sum + exchange[32-(thread//32)*32+thread])
  b1[thread] = sum
)");
}

TEST(LowerExchanges, GoesThroughSharedMemoryWithoutShuffles) {
  expect_pass("lower-exchanges", shuffling(false), kSum,
              R"(kernel k grid 1 workgroup 64
  b0: in f32[64]
  b1: out f32[64]
  shared exchange: f32[64]
  var sum: f32 = load(b0, thread)
  exchange[thread] = sum
  barrier
  sum = exchange[-(thread//16)*16+thread]
  unroll x < 3
    sum = (sum + exchange[16-(thread//16)*16+thread+x*16])
  b1[thread] = sum
)");
}

TEST(LowerExchanges, OneArrayServesAllExchangesOfALoop) {
  const Kernel kernel = after("lower-exchanges", R"(kernel k grid 1 workgroup 64
  b0: in f32[64]
  b1: out f32[64]
  for e < 3
    var sum: f32 = load(b0, thread)
    reduce sum over 2 threads, stride 1: sum
    reduce max over 2 threads, stride 2: sum
    b1[thread] = sum
)",
                              shuffling(false));
  EXPECT_EQ(kernel.shared.size(), 1u) << to_string(kernel);
}

TEST(LowerExchanges, SaysWhatAClusterExpectsBeforeAnythingIsSent) {
  expect_pass("lower-exchanges", shuffling(true), R"(kernel k grid 4 workgroup 32 cluster 2
  b0: in f32[4]
  b1: out f32[4]
  var x: f32 = load(b0, block)
  gather all: f32[2] = x of the cluster
  b1[block] = all[1]
)",
              R"(kernel k grid 4 workgroup 32 cluster 2
  b0: in f32[4]
  b1: out f32[4]
  shared all: f32[2]
  shared exchanges: u64[1]
  exchange exchanges[0] expects 8 bytes
  cluster arrive
  var x: f32 = load(b0, block)
  cluster wait
  exchange exchanges[0] sends x to all[rank] of 2
  exchange exchanges[0] waits
  b1[block] = all[1]
)");
}

TEST(DropStoredRounding, LeavesItToTheStore) {
  expect_pass("drop-stored-rounding", shuffling(true), R"(kernel k grid 1 workgroup 32
  b0: in f32[32]
  b1: out f16[32]
  b1[thread] = f32(f16(load(b0, thread)))
)",
              R"(kernel k grid 1 workgroup 32
  b0: in f32[32]
  b1: out f16[32]
  b1[thread] = load(b0, thread)
)");
}

// An array that is read elsewhere keeps its rounding.
TEST(DropStoredRounding, KeepsWhatIsReadAgain) {
  const std::string_view text = R"(kernel k grid 1 workgroup 32
  b0: in f32[32]
  b1: out f16[2]
  array y: f32[2]
  unroll v < 2
    y[v] = f32(f16(load(b0, v)))
  b1[0..] = y[0..2)
  y[0] = y[1]
)";
  expect_pass("drop-stored-rounding", shuffling(true), text, text);
}

TEST(MoveBits, CopiesBitsOfWhatIsNotComputedWith) {
  expect_pass("move-bits", shuffling(true), R"(kernel k grid 1 workgroup 32
  b0: in f16[64]
  b1: out f16[64]
  array x: f32[2]
  x[0..2) = b0[thread*2..]
  array y: f32[2]
  unroll v < 2
    y[v] = x[v]
  b1[thread*2..] = y[0..2)
)",
              R"(kernel k grid 1 workgroup 32
  b0: in f16[64]
  b1: out f16[64]
  array x: u16[2]
  x[0..2) = b0[thread*2..]
  array y: u16[2]
  unroll v < 2
    y[v] = x[v]
  b1[thread*2..] = y[0..2)
)");
}

TEST(ChooseIndexWidth, WidensWhatLeaves32Bits) {
  const auto is_wide = [](const std::string& elements, const std::string& index) {
    return after("choose-index-width",
                 "kernel k grid 1024 workgroup 64\n  b0: out f32[" + elements + "]\n  b0[" + index +
                     "] = 1.0\n",
                 shuffling(true))
        .wide_index;
  };
  EXPECT_FALSE(is_wide("100000", "block*64+thread"));
  EXPECT_TRUE(is_wide("3000000000", "block*64+thread"));
  // A product that is divided again.
  EXPECT_TRUE(is_wide("200000", "((block*9000000+thread)//9000001)"));
}

constexpr std::string_view kGrid = R"(kernel k grid 7 workgroup 64
  b0: out f32[7]
  b0[block] = 1.0
)";

TEST(SplitGrid, GuardsWhatIsBeyondTheWork) {
  Target target = shuffling(true);
  target.max_grid = {4, 4, 1};
  const Kernel kernel = after("split-grid", kGrid, target);
  EXPECT_EQ(kernel.launch, (std::array<SymInt, 2>{4, 2}));
  EXPECT_EQ(to_string(kernel), R"(kernel k grid 8 workgroup 64
  b0: out f32[7]
  if ([block] < 7)
    let block1 < 7 = block
    b0[block1] = 1.0
)");
}

TEST(SplitGrid, LeavesGridsThatFit) {
  const Kernel kernel = after("split-grid", kGrid, shuffling(true));
  EXPECT_EQ(kernel.launch, (std::array<SymInt, 2>{7, 1}));
  EXPECT_EQ(to_string(kernel), kGrid);
}

TEST(SplitGrid, OfSizesAtRunTimeHasOneRowWhereThatFits) {
  const auto launch = [](const char* grid, int64_t n) {
    Target target = shuffling(true);
    target.max_grid = {5, 4, 1};
    const Kernel kernel = after(
        "split-grid",
        str("kernel k size n grid ", grid, "\n  b0: out f32[2*n]\n  b0[block] = 1.0\n"), target);
    std::array<int64_t, 2> counts{};
    for (size_t i = 0; i < 2; ++i)
      counts[i] = kernel.launch[i].evaluate([&](const ir::Atom&) { return std::optional(n); });
    return counts;
  };
  using Counts = std::array<int64_t, 2>;
  EXPECT_EQ(launch("n workgroup 64", 0), (Counts{0, 0}));
  EXPECT_EQ(launch("n workgroup 64", 1), (Counts{1, 1}));
  EXPECT_EQ(launch("n workgroup 64", 5), (Counts{5, 1}));
  EXPECT_EQ(launch("n workgroup 64", 6), (Counts{5, 2}));
  EXPECT_EQ(launch("n workgroup 64", 16), (Counts{5, 4}));
  // The workgroups of a cluster have neighbouring numbers in one row.
  EXPECT_EQ(launch("2*n workgroup 64 cluster 2", 2), (Counts{4, 1}));
  EXPECT_EQ(launch("2*n workgroup 64 cluster 2", 3), (Counts{4, 2}));
}

// Arithmetic that takes longer than moving the bytes piles up where workgroups are placed unevenly.
TEST(ChooseBeginning, OfArithmeticIsAlone) {
  const auto alone = [](double bytes, double flops, int resident, bool overlaps,
                        std::string_view grid = "grid 1 workgroup 32") {
    Target target = shuffling(true);
    target.overlapping_launches = overlaps;
    target.compute_units = 132;
    Kernel kernel = parse_kernel(str("kernel k ", grid, "\n  b0: out f32[64]\n"));
    kernel.bytes = bytes;
    kernel.flops = flops;
    kernel.resident = resident;
    for (const KernelPass& pass : legalize_passes())
      if (pass.name == "choose-beginning") pass.run(kernel, target);
    return kernel.begins_alone;
  };
  EXPECT_TRUE(alone(11e6, 600e6, 0, true));    // 128 x 3072 x 768 in f32
  EXPECT_FALSE(alone(11e6, 600e6, 1, true));   // its workgroups take an SM each
  EXPECT_FALSE(alone(11e6, 600e6, 0, false));  // nothing begins early
  EXPECT_FALSE(alone(64e6, 32e6, 0, true));    // a product of one row
  EXPECT_FALSE(alone(25e6, 40e6, 0, true));    // a layer norm
  // Long ones of one round, but not of several.
  EXPECT_TRUE(alone(1e9, 1e6, 0, true, "grid 264 workgroup 128"));
  EXPECT_TRUE(alone(1e9, 1e6, 0, true, "grid 528 workgroup 512"));
  EXPECT_FALSE(alone(1e9, 1e6, 0, true, "grid 529 workgroup 512"));
  EXPECT_TRUE(alone(1e9, 1e6, 1, true, "grid 64 workgroup 256"));
  EXPECT_FALSE(alone(1e9, 1e6, 1, true, "grid 133 workgroup 256"));
  EXPECT_FALSE(alone(1e9, 1e6, 1, false, "grid 64 workgroup 256"));
}

TEST(CheckLimits, OfWorkgroupsThatWaitForEachOther) {
  const auto legal = [](int64_t grid, const char* target) {
    return legalize(
        parse_kernel(str("kernel k grid ", grid, " workgroup 32 cooperative\n  b0: out f32[64]\n")),
        target_by_name(target));
  };
  EXPECT_TRUE(legal(108, "cuda:sm_80").begins_alone);
  EXPECT_ERROR_KIND(legal(109, "cuda:sm_80"), ErrorKind::device, "has 108 units");
  EXPECT_ERROR_KIND(legal(1, "vulkan"), ErrorKind::device, "wait for each other");
}

TEST(FindRequirements, OfAccessesAndWideIntegers) {
  const auto required = [](const std::string& text) {
    return after("find-requirements", "kernel k grid 1 workgroup 32\n" + text, shuffling(true))
        .requirements;
  };
  const Requirements vector = required(R"(  b0: in f16[256]
  b1: out f32[256]
  array x: f32[8]
  x[0..8) = b0[thread*8..]
  array y: f32[2]
  b1[thread*2..] = y[0..2)
)");
  EXPECT_EQ(vector.alignments, (std::vector<int>{16, 8}));
  EXPECT_EQ(vector.vector_words, (std::set<int>{2, 4}));
  EXPECT_FALSE(vector.int64);
  // An offset of 2 elements is one of 4 bytes; b1 is accessed element by element.
  const Requirements odd = required(R"(  b0: in f16[256] align 4
  b1: out f32[256]
  array x: f32[4]
  x[0..4) = b0[thread*4..]
  b1[thread..] = x[0..4)
)");
  EXPECT_EQ(odd.alignments, (std::vector<int>{4, 4}));
  EXPECT_EQ(odd.vector_words, (std::set<int>{1}));

  const auto wide = [&](const std::string& value) {
    return required("  b0: in f32[64]\n  b1: out f32[64]\n  b1[0] = " + value + "\n").int64;
  };
  EXPECT_FALSE(wide("select(([thread] < 3), 1.0, 2.0)"));  // indices are compared as they are
  EXPECT_FALSE(wide("f32([thread])"));
  EXPECT_FALSE(wide("rand_uniform(7, 9, [thread])"));
  EXPECT_TRUE(wide("f32(i64(load(b0, 0)))"));
  EXPECT_TRUE(wide("f32(([thread] * i64(load(b0, 0))))"));
  EXPECT_TRUE(wide("load(b0, at{0..63: i64(load(b0, 0))})"));
  EXPECT_TRUE(required("  b0: out i64[64]\n  b0[0] = 1\n").int64);
}

// They are names of sections of the device math library and of extensions of dialects.
TEST(FindRequirements, OfFunctionsAndExtensions) {
  using Names = std::set<std::string>;
  const auto required = [](const std::string& text) {
    return after("find-requirements", "kernel k grid 1 workgroup 32\n" + text, shuffling(true))
        .requirements;
  };
  const auto functions = [&](const std::string& value) {
    return required("  b0: in f32[64]\n  b1: out f32[64]\n  b1[0] = " + value + "\n").functions;
  };
  EXPECT_EQ(functions("(load(b0, 0) + 1.0)"), Names{});
  EXPECT_EQ(functions("exp(load(b0, 0))"), Names{"exp_f32"});
  EXPECT_EQ(functions("maximum(load(b0, 0), erf(load(b0, 1)))"), (Names{"erf_f32", "max_f32"}));
  EXPECT_EQ(functions("f32(bf16(load(b0, 0)))"), (Names{"bf16_to_f32", "f32_to_bf16"}));
  EXPECT_EQ(functions("rand_uniform(7, 9, [thread])"), Names{"uniform_f32"});
  EXPECT_EQ(functions("load(b0, (-thread)//3+11)"), Names{"floordiv_i32"});
  EXPECT_EQ(functions("load(b0, thread//3)"), Names{});  // never negative
  EXPECT_EQ(functions("f32(i32(load(b0, 0)))"), Names{"f32_to_i32"});
  EXPECT_EQ(functions("(load(b0, 0) * 0.0)"), Names{"hidden_zero_f32"});

  const Requirements bytes = required(R"(  b0: in f16[256]
  b1: out i8[256]
  array x: f32[8]
  x[0..8) = b0[thread*8..]
  b1[thread] = i8(x[0])
)");
  EXPECT_EQ(bytes.functions, (Names{"f16_to_f32", "f32_to_i8"}));
  EXPECT_EQ(bytes.extensions, (Names{"storage16", "storage8"}));
  EXPECT_EQ(required("  b0: out f32[64]\n  b0[0] = 1.0\n").extensions, Names{});
  EXPECT_EQ(after("find-requirements",
                  "kernel k grid 1 workgroup 32 lanes\n  b0: out f32[64]\n  b0[0] = 1.0\n",
                  shuffling(true))
                .requirements.extensions,
            Names{"lanes"});
}

TEST(CheckLimits, NamesTheLimit) {
  const auto message = [](const std::string& text, Target target) -> std::string {
    try {
      legalize(parse_kernel(text), target);
      return "";
    } catch (const Error& error) { return error.what(); }
  };
  Target target = target_by_name("vulkan:mali");
  target.max_workgroup_size = 128;
  target.shared_bytes = 4096;
  target.max_grid = {16, 2, 1};
  target.int64 = false;
  const std::string rest = "\n  b0: out f32[4096]\n";
  const auto expect = [&](const std::string& text, const std::string& part) {
    EXPECT_NE(message(text, target).find(part), std::string::npos) << message(text, target);
  };
  expect("kernel k grid 1 workgroup 256" + rest, "needs workgroups of 256 threads");
  expect("kernel k grid 40 workgroup 32" + rest, "needs 40 workgroups");
  expect("kernel k grid 1 workgroup 32" + rest + "  shared s: f32[2000]\n",
         "needs 8000 bytes of shared memory");
  expect("kernel k grid 4 workgroup 32 cluster 4" + rest, "needs clusters of 4 workgroups");
  expect("kernel k grid 1 workgroup 32\n  b0: out f32[3000000000]\n", "need 64-bit integers");
  EXPECT_EQ(message("kernel k grid 32 workgroup 32" + rest, target), "");
}

TEST(Legalize, SizesAtRunTimeAreArgumentsOfWideKernels) {
  const std::string text =
      "kernel k size n grid (n+31)//32 workgroup 32\n"
      "  b0: out f32[n]\n"
      "  if ([block*32+thread] < [n])\n"
      "    for i < n\n"
      "      for j < 3\n"
      "        b0[block*32+thread] = 1.0\n";
  Target target = target_by_name("cuda:sm_80");
  target.max_loop_iterations = 100;
  const Kernel kernel = legalize(parse_kernel(text), target);
  EXPECT_TRUE(kernel.wide_index);
  EXPECT_TRUE(kernel.requirements.int64);
  const SymInt n = SymInt::symbol("n");
  // Nothing bounds n: it may have more workgroups than a row of the grid.
  const SymInt grid = floordiv(n + 31, 32);
  EXPECT_EQ(kernel.launch, (std::array<SymInt, 2>{ir::min(grid, target.max_grid[0]),
                                                  ir::ceildiv(grid, target.max_grid[0])}));
  EXPECT_EQ(kernel.loop_iterations, n * 4);
  Kernel nameless = parse_kernel(text);
  nameless.sizes.clear();
  EXPECT_THROW(verify(nameless), InternalError);
}

}  // namespace
}  // namespace tcc::sched
