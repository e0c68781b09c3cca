// Scans at the borders of threads, workgroups and tiles, in all directions and with every kind of
// config.
#include <gtest/gtest.h>

#include "backends/pipeline.h"
#include "frontend/random_init.h"
#include "ir/builder.h"
#include "ir/reference/interpreter.h"
#include "runtime/device.h"
#include "scheduler/split_scan.h"
#include "scheduler/tuning.h"
#include "tests/open_graph.h"

namespace tcc::test {
namespace {

struct Scan {
  ir::Shape shape;
  int64_t dim;
  bool exclusive = false, reverse = false;
  DType dtype = DType::f32;
  const char* op = "cumsum";
};

ir::Graph scan_graph(const Scan& scan) {
  ir::Graph graph;
  ir::Value* x = graph.add_input("x", {scan.dtype, scan.shape});
  graph.outputs = ir::Builder(graph).ops(
      scan.op, {x}, {{"dim", scan.dim}, {"exclusive", scan.exclusive}, {"reverse", scan.reverse}});
  graph.output_names = {"y"};
  return graph;
}

std::string text_of(const Scan& scan) {
  return str(scan.op, " ", to_string(ir::Type{scan.dtype, scan.shape}), " dim ", scan.dim,
             scan.exclusive ? " exclusive" : "", scan.reverse ? " reverse" : "");
}

class Scans : public ::testing::TestWithParam<std::string> {
 protected:
  void check(const Scan& scan, const backends::CompileOptions& options = {}) const {
    const ir::Graph graph = scan_graph(scan);
    const bool product = scan.op == std::string("cumprod");
    const auto inputs = draw_inputs(
        graph, {.lo = product ? 0.9 : -1, .hi = product ? 1.1 : 1, .int_lo = -9, .int_hi = 9});
    EXPECT_EQ(difference(graph, GetParam(), inputs, options), "") << text_of(scan);
  }
};

TEST_P(Scans, HoldAtTheBordersOfTiles) {
  for (const int64_t n : {1, 2, 31, 32, 33, 127, 128, 129, 255, 256, 257, 1000, 4096, 4097, 70000})
    check(
        {.shape = {n > 5000 ? 1 : 3, n}, .dim = 1, .exclusive = n % 3 == 0, .reverse = n % 2 == 0});
}

TEST_P(Scans, GoInAnyDirection) {
  for (const bool exclusive : {false, true})
    for (const bool reverse : {false, true})
      for (const int64_t n : {40, 601}) {
        check({{2, n, 3}, 1, exclusive, reverse});
        check({{5, 2 * n}, 1, exclusive, reverse});
        check({{n, 70}, 0, exclusive, reverse, DType::f16});
        check({{3, n}, 1, exclusive, reverse, DType::i32});
        check({{3, n}, 1, exclusive, reverse, DType::f32, "cumprod"});
      }
}

// A window that covers no other element than the scan's own is part of the scan's kernel, whose
// last threads and tiles reach past the line.
TEST_P(Scans, AreReadByWindowsOfOneElement) {
  for (const int64_t n : {3, 6, 12, 301})
    for (const int64_t items : {2, 4})
      for (const bool reverse : {false, true}) {
        ir::Graph graph;
        ir::Value* x = graph.add_input("x", {DType::f32, {2, 3, 1, n}});
        ir::Builder b(graph);
        ir::Value* summed = b.op("cumsum", {x}, {{"dim", int64_t{3}}, {"reverse", reverse}});
        graph.outputs = {b.op("avg_pool2d", {summed},
                              {{"kernel_size", ir::ints({3, 1})},
                               {"stride", ir::ints({1, 1})},
                               {"padding", ir::ints({1, 0})}})};
        graph.output_names = {"y"};
        const sched::FixedConfig config({{"row_threads", 2}, {"rows", 32}, {"items", items}});
        backends::CompileOptions options;
        options.configs = &config;
        EXPECT_EQ(difference(graph, GetParam(), draw_inputs(graph, {}), options), "")
            << n << " by " << items << (reverse ? " reverse" : "");
      }
}

TEST_P(Scans, DoNotDependOnTheConfig) {
  for (const int64_t n : {96, 1001})
    for (const int64_t row_threads : {1, 4, 128})
      for (const int64_t rows : {1, 4, 32})
        for (const int64_t items : {1, 16}) {
          const sched::FixedConfig config(
              {{"row_threads", row_threads}, {"rows", rows}, {"items", items}});
          backends::CompileOptions options;
          options.configs = &config;
          check({.shape = {5, n}, .dim = 1, .exclusive = items == 1, .reverse = rows == 4},
                options);
          if (n < 1000) check({.shape = {n, 37}, .dim = 0, .reverse = rows == 4}, options);
          if (n == 1001) check({.shape = {2, n}, .dim = 1, .dtype = DType::i64}, options);
        }
}

// The ops before and after a scan belong to its kernel.
TEST_P(Scans, FuseWithWhatIsAround) {
  ir::Graph graph;
  ir::Builder b(graph);
  ir::Value* x = graph.add_input("x", {DType::bf16, {4, 640}});
  ir::Value* y = graph.add_input("y", {DType::f32, {4, 1}});
  ir::Value* scanned = b.op("cumsum", {b.mul(b.cast(x, DType::f32), y)}, {{"dim", int64_t{1}}});
  graph.outputs = {b.cast(b.add(scanned, y), DType::bf16)};
  graph.output_names = {"z"};
  EXPECT_EQ(difference(graph, GetParam(), draw_inputs(graph, {}), {}), "");
  const auto device = runtime::open_device(GetParam());
  EXPECT_EQ(backends::compile(graph, device->target(), {}).steps.size(), 1u);
}

// One kernel serves all sizes of lines and of their number.
TEST_P(Scans, HoldForOpenDims) {
  const ir::SymInt b = ir::SymInt::symbol("B"), s = ir::SymInt::symbol("S");
  for (const auto& [scan, most] : {std::pair{Scan{{b, s}, 1}, 9000},
                                   {Scan{{b, s}, 1, true, true}, 9000},
                                   {Scan{{s, b}, 0, false, true, DType::f16}, 600},
                                   {Scan{{b, s * 8}, 1, true, false, DType::i32}, 600},
                                   {Scan{{b, 5, s}, 2, false, false, DType::f32, "cumprod"}, 300},
                                   {Scan{{s, 40}, 1}, 70}}) {
    ir::Graph graph = scan_graph(scan);
    graph.dims = {{"S", 64}};
    std::vector<Sizes> sizes;
    const bool has_b = std::ranges::find(scan.shape, b) != scan.shape.end();
    if (has_b) graph.dims["B"] = 2;
    for (const int64_t length : {0, 1, 7, 32, 33, 64, 300, 9000})
      if (length <= most) {
        sizes.push_back({{"S", length}});
        if (has_b) sizes.back()["B"] = sizes.size() % 4;
      }
    for (const bool is_free : {false, true}) {
      backends::CompileOptions options;
      for (const auto& [dim, usual] : graph.dims)
        options.open_dims[dim] = is_free ? ir::SizeRange() : ir::SizeRange{.most = most};
      const bool product = scan.op == std::string("cumprod");
      EXPECT_EQ(difference_at(
                    graph, GetParam(), options, sizes,
                    {.lo = product ? 0.9 : -1, .hi = product ? 1.1 : 1, .int_lo = -9, .int_hi = 9}),
                "")
          << text_of(scan);
    }
  }
}

// Few long lines are cut; whether a part's number divides them or not, the result is the same.
TEST(SplitScans, GiveTheSame) {
  for (const int64_t n : {65536, 65537})
    for (const bool exclusive : {false, true})
      for (const bool reverse : {false, true})
        for (const DType dtype : {DType::f64, DType::i32}) {
          const Scan scan{.shape = {2, n},
                          .dim = 1,
                          .exclusive = exclusive,
                          .reverse = reverse,
                          .dtype = dtype};
          ir::Graph graph = scan_graph(scan);
          const auto inputs = draw_inputs(graph, {.int_lo = -5, .int_hi = 9});
          const std::vector<ir::RefTensor> given = {ir::to_ref(inputs[0])};
          const auto whole = ir::interpret(graph, given, ir::RefMode::ideal);
          const size_t nodes = graph.nodes().size();
          ir::rewrite_nodes(graph, [&](ir::Builder& b, const ir::Node& node) {
            return node.op->kind == ir::OpKind::scan ? sched::split_scan(b, node, 16)
                                                     : ir::Replacement{};
          });
          EXPECT_GT(graph.nodes().size(), nodes + 3) << text_of(scan);
          const auto parts = ir::interpret(graph, given, ir::RefMode::ideal);
          EXPECT_EQ(whole[0].i, parts[0].i) << text_of(scan);
          ASSERT_EQ(whole[0].f.size(), parts[0].f.size());
          for (size_t k = 0; k < whole[0].f.size(); ++k)
            ASSERT_NEAR(whole[0].f[k], parts[0].f[k], 1e-9) << text_of(scan) << " at " << k;
        }
}

// The parts' totals, their scan, and the parts' scans with what is before them added.
TEST(SplitScans, TakeThreeLaunches) {
  backends::CompileOptions options;
  options.binaries = false;
  const sched::Target target = sched::target_by_name("cuda:sm_90a");
  const auto launches = [&](int64_t lines, int64_t n) {
    const Scan scan{.shape = {lines, n}, .dim = 1, .dtype = DType::bf16};
    return backends::compile(scan_graph(scan), target, options).steps.size();
  };
  EXPECT_EQ(launches(1, 1 << 20), 3u);
  EXPECT_EQ(launches(4096, 4096), 1u);
  EXPECT_EQ(launches(1, 1000), 1u);
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Scans);
INSTANTIATE_TEST_SUITE_P(Devices, Scans, ::testing::ValuesIn(devices_present(Devices::software)),
                         [](const auto& device) { return test_name(device.param); });

}  // namespace
}  // namespace tcc::test
