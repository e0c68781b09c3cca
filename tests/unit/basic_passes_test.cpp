#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "ir/passes/common_subexpressions.h"
#include "ir/passes/dead_code.h"
#include "ir/passes/decompose.h"
#include "ir/passes/fold_constants.h"
#include "ir/reference/interpreter.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "support/error.h"

namespace tcc::ir {
namespace {

std::string after(void (*pass)(Graph&), std::string_view text) {
  Graph graph = parse_graph(text);
  pass(graph);
  verify(graph);
  return print_graph(graph);
}

// `body` without its first line end: texts below begin on a line of their own.
std::string text(std::string_view body) { return std::string(body.substr(1)); }

TEST(DeadCode, GoesInputsStay) {
  EXPECT_EQ(after(eliminate_dead_code, R"(graph @g {
    %x: f32[2] = input
    %unused: f32[2] = input
    %w: f32[2] = weight
    %a = exp(%x)
    %b = add(%a, %w)
    return %a
  })"),
            text(R"(
graph @g {
  %x: f32[2] = input
  %unused: f32[2] = input
  %a: f32[2] = exp(%x)
  return %a
}
)"));
}

TEST(CommonSubexpressions, Merge) {
  EXPECT_EQ(after(eliminate_common_subexpressions, R"(graph @g {
    %x: f32[2, 2] = input
    %one: f32[] = const 1
    %uno: f32[] = const 1
    %zero: f32[] = const 0
    %minus: f32[] = const -0
    %a = add(%x, %one)
    %b = add(%x, %uno)
    %c = exp(%a)
    %d = exp(%b)
    %e = mul(%c, %d)
    %f = add(%x, %zero)
    %g = add(%x, %minus)
    %s = softmax(%x) {dim = 0}
    %t = softmax(%x) {dim = 1}
    return %e, %d, %f, %g, %s, %t
  })"),
            text(R"(
graph @g {
  %x: f32[2, 2] = input
  %one: f32[] = const 1
  %zero: f32[] = const 0
  %minus: f32[] = const -0
  %a: f32[2, 2] = add(%x, %one)
  %c: f32[2, 2] = exp(%a)
  %e: f32[2, 2] = mul(%c, %c)
  %f: f32[2, 2] = add(%x, %zero)
  %g: f32[2, 2] = add(%x, %minus)
  %s: f32[2, 2] = softmax(%x) {dim = 0}
  %t: f32[2, 2] = softmax(%x) {dim = 1}
  return %e, %c as "d", %f, %g, %s, %t
}
)"));
}

TEST(CommonSubexpressions, LeaveMutableWeightsApart) {
  const std::string same = text(R"(
graph @g {
  %a: f32[2] = mutable weight
  %b: f32[2] = mutable weight
  %c: f32[2] = add(%a, %b)
  return %c
}
)");
  EXPECT_EQ(after(eliminate_common_subexpressions, same), same);
}

TEST(Decompose, ExpandsRecursivelyAndKeepsNames) {
  Graph graph = parse_graph(R"(graph @g {
    %x: f32[4, 8] = input
    %w: f32[3, 8] = input
    %h = linear(%x, %w)
    %y = softmax(%h) {dim = 1}
    return %y
  })");
  const Graph before = graph.clone();
  decompose(graph);
  verify(graph);
  EXPECT_EQ(graph.outputs[0]->name, "y");
  EXPECT_EQ(graph.output_names[0], "y");
  for (const auto& node : graph.nodes()) EXPECT_FALSE(node->op->compose) << node->op_name();
  RefTensor x(DType::f32, {4, 8}), w(DType::f32, {3, 8});
  for (size_t k = 0; k < x.f.size(); ++k) x.f[k] = 0.25 * static_cast<double>(k % 7);
  for (size_t k = 0; k < w.f.size(); ++k) w.f[k] = 0.5 - 0.125 * static_cast<double>(k % 5);
  EXPECT_EQ(interpret(graph, {x, w}, RefMode::ideal)[0].f,
            interpret(before, {x, w}, RefMode::ideal)[0].f);
}

TEST(Decompose, KeepsWhatIsAskedFor) {
  Graph graph = parse_graph(R"(graph @g {
    %x: f32[4, 8] = input
    %w: f32[3, 8] = input
    %h = linear(%x, %w)
    %y = softmax(%h) {dim = 1}
    return %y
  })");
  decompose(graph, [](const Node& node) { return node.op_name() == "softmax"; });
  EXPECT_EQ(print_graph(graph), text(R"(
graph @g {
  %x: f32[4, 8] = input
  %w: f32[3, 8] = input
  %transpose.2: f32[8, 3] = transpose(%w) {dim0 = 0, dim1 = 1}
  %h: f32[4, 3] = matmul(%x, %transpose.2)
  %y: f32[4, 3] = softmax(%h) {dim = 1}
  return %y
}
)"));
}

// The inner softmax takes over its composite's name, and has a path of its own.
TEST(Decompose, TellsCompositesByTheirPaths) {
  constexpr const char* kText = R"(graph @g {
    %x: f32[4, 8] = input
    %w: f32[3, 8] = input
    %h = linear(%x, %w)
    %y = softmin(%h) {dim = 1}
    return %y
  })";
  const auto paths_of = [&](bool keeps_linear) {
    Graph graph = parse_graph(kText);
    std::map<std::string, std::string> paths;
    decompose(
        graph, [](const Node& node) { return "<" + node.outputs[0]->name + ">"; },
        [&](const Node& node, const std::string& path) {
          paths[path] = node.op_name();
          return node.op_name() == "softmax" || (keeps_linear && node.op_name() == "linear");
        });
    EXPECT_EQ(graph.outputs[0]->name, "y");
    EXPECT_EQ(graph.outputs[0]->producer->op_name(), "softmax");
    return paths;
  };
  const std::map<std::string, std::string> expected = {
      {"<h>", "linear"}, {"<y>", "softmin"}, {"<y>/1", "softmax"}};
  EXPECT_EQ(paths_of(true), expected);
  EXPECT_EQ(paths_of(false), expected);
}

TEST(Decompose, ACompositionThatReturnsItsOperand) {
  Graph graph = parse_graph(R"(graph @g {
    %x: f32[4, 0] = input
    %y = softmax(%x) {dim = 1}
    %z = relu(%y)
    return %z, %y
  })");
  decompose(graph);
  verify(graph);
  EXPECT_EQ(graph.inputs[0]->name, "x");
  EXPECT_EQ(graph.outputs[1], graph.inputs[0]);
}

// B and C are taken for equal; which of them stands in a shape is the op's choice.
TEST(Decompose, SymbolicDimsKeepTheirTypes) {
  Graph graph = parse_graph(R"(graph @g(B = 4, C = 4) {
    %a: f32[B, 3] = input
    %b: f32[C, 3] = input
    %y = mse_loss(%a, %b) {reduction = "none"}
    %z = relu(%y)
    return %z
  })");
  decompose(graph);
  verify(graph);
  verify(graph.bind({}));
}

TEST(FoldConstants, FoldsChainsOfSmallLiterals) {
  EXPECT_EQ(after(fold_constants, R"(graph @g {
    %x: f32[2] = input
    %a: f32[2] = const [1, 2]
    %two: f32[] = const 2
    %b = mul(%a, %two)
    %c = add(%b, %a)
    %d = add(%c, %x)
    return %d
  })"),
            text(R"(
graph @g {
  %x: f32[2] = input
  %c: f32[2] = const [3, 6]
  %d: f32[2] = add(%c, %x)
  return %d
}
)"));
}

TEST(FoldConstants, LeavesMutableWeightsAndSymbols) {
  const std::string same = text(R"(
graph @g(B = 2) {
  %w: f32[2] = mutable weight
  %one: f32[] = const 1
  %a: f32[2] = exp(%w)
  %b: f32[B] = expand(%one) {size = [B]}
  return %a, %b
}
)");
  EXPECT_EQ(after(fold_constants, same), same);
}

TEST(FoldConstants, MakesNothingLargeFromSmall) {
  const std::string same = text(R"(
graph @g {
  %one: f32[] = const 1
  %w: f32[4096] = weight
  %a: f32[1000, 1000] = expand(%one) {size = [1000, 1000]}
  %b: f32[8, 4096] = expand(%w) {size = [8, 4096]}
  return %a, %b
}
)");
  EXPECT_EQ(after(fold_constants, same), same);
}

// As biases of relative positions are, which each of the heads has at the same places.
TEST(FoldConstants, LooksUpMoreThanItReads) {
  Graph graph = parse_graph(R"(graph @g {
    %x: f32[16, 2500] = input
    %table: f32[100, 16] = weight
    %places: i64[2500] = weight
    %rows = index_select(%table, %places) {dim = 0}
    %tuples = reshape(%places) {shape = [2500, 1]}
    %slices = gather_nd(%table, %tuples)
    %both = add(%rows, %slices)
    %heads = transpose(%both) {dim0 = 0, dim1 = 1}
    %y = add(%x, %heads)
    return %y
  })");
  fold_constants(graph);
  ASSERT_EQ(graph.nodes().size(), 1U);
  EXPECT_TRUE(graph.nodes()[0]->inputs[1]->is_constant());
}

TEST(FoldConstants, KnowsSplats) {
  Graph graph = parse_graph(R"(graph @g {
    %half: f32[64, 64] = const 0.5
    %w: f32[64, 64] = weight
    %e = exp(%half)
    %t = transpose(%e) {dim0 = 0, dim1 = 1}
    %i = cast(%t) {dtype = i32}
    %c = cumsum(%half) {dim = 0}
    %s = add(%w, %half)
    %f = full() {size = [1], fill_value = 0.3, dtype = f16}
    %g = full() {size = [2, 3], fill_value = 7, dtype = i32}
    %h = neg(%g)
    %n = iota() {size = [2]}
    return %e, %t, %i, %c, %s, %f, %h, %n
  })");
  fold_constants(graph);
  EXPECT_TRUE(graph.nodes().empty());
  const auto splat = [&](size_t k) { return graph.outputs[k]->data->splat(); };
  EXPECT_EQ(splat(0), static_cast<float>(std::exp(0.5)));
  EXPECT_EQ(splat(1), splat(0));
  EXPECT_EQ(splat(2), 1);
  EXPECT_FALSE(splat(3));
  EXPECT_FALSE(splat(4));
  EXPECT_EQ(splat(5), round_to(DType::f16, 0.3));
  EXPECT_EQ(splat(6), -7);
  EXPECT_FALSE(splat(7));
  EXPECT_EQ(graph.outputs[3]->data->load()->get(64 * 63), 32);
  EXPECT_EQ(graph.outputs[4]->data->load()->get(5), 0.5);
}

// Kernels compute numbers of elements, as floats, too. A table that is made of them is data.
TEST(FoldConstants, LeavesNumbersOfElements) {
  Graph graph = parse_graph(R"(graph @g {
    %x: f32[4, 512] = input
    %n = iota() {size = [512], dtype = f32}
    %a = add(%x, %n)
    %i = iota() {size = [512], dtype = f32}
    %e = exp(%i)
    %b = add(%x, %e)
    return %a, %b
  })");
  fold_constants(graph);
  ASSERT_EQ(graph.nodes().size(), 3U);
  EXPECT_EQ(graph.nodes()[0]->op_name(), "iota");
  EXPECT_FALSE(graph.outputs[0]->producer->inputs[1]->is_constant());
  EXPECT_TRUE(graph.outputs[1]->producer->inputs[1]->is_constant());
}

TEST(FoldConstants, LoadsNothingBeforeItIsAsked) {
  int loads = 0;
  Graph graph =
      parse_graph(R"(graph @g {
    %w: f32[3] = weight
    %a = exp(%w)
    %b = add(%a, %w)
    return %b
  })",
                  {.weight = [&](const std::string&, const Type& type) {
                    return make_lazy_constant([&loads] {
                      ++loads;
                      return std::make_shared<const Tensor>(DType::f32, std::vector<int64_t>{3});
                    });
                  }});
  fold_constants(graph);
  ASSERT_TRUE(graph.nodes().empty());
  EXPECT_EQ(loads, 0);
  EXPECT_EQ(graph.outputs[0]->data->load()->get(2), 1);
  EXPECT_EQ(graph.outputs[0]->data->load()->get(2), 1);
  EXPECT_EQ(loads, 1);
}

// A chain is rounded once, at its end.
TEST(FoldConstants, RoundsOnce) {
  Graph graph = parse_graph(R"(graph @g {
    %x: f16[2] = const [1, 2]
    %tiny: f16[] = const 0.0002
    %one: f16[] = const 1
    %s = add(%one, %tiny)
    %t = sub(%s, %one)
    %a = add(%x, %tiny)
    %b = sub(%a, %x)
    return %t, %b
  })");
  fold_constants(graph);
  const double tiny = round_to(DType::f16, 0.0002);
  EXPECT_EQ(graph.outputs[0]->data->splat(), tiny);
  EXPECT_EQ(graph.outputs[1]->data->load()->get(1), tiny);
}

TEST(FoldConstants, SurvivesVeryLongChains) {
  std::string chain = "graph @g { %v0: f32[2] = const [1, 2]\n";
  for (int i = 0; i < 5000; ++i) chain += str("%v", i + 1, " = neg(%v", i, ")\n");
  Graph graph = parse_graph(chain + "return %v5000 }");
  fold_constants(graph);
  verify(graph);
  EXPECT_EQ(interpret(graph, {}, RefMode::ideal)[0].f, (std::vector<double>{1, 2}));
}

}  // namespace
}  // namespace tcc::ir
