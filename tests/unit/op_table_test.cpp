// Every op must keep to these rules, whatever it computes. Results are compared in tests/ops.
#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "ir/builder.h"
#include "ir/counted_dims.h"
#include "ir/op.h"
#include "ir/passes/decompose.h"
#include "ir/reference/composition.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "support/error.h"
#include "tests/expect_error.h"

namespace tcc::ir {
namespace {

// A graph of one node: the sample's inputs and attributes.
Graph sample_graph(const OpDef& op, const OpSample& sample) {
  Graph graph;
  graph.name = op.name;
  std::vector<Value*> inputs;
  for (const Type& type : sample.inputs) {
    const std::string name = str("x", inputs.size());
    inputs.push_back(op.stores && inputs.empty() ? graph.add_state(name, type)
                                                 : graph.add_input(name, type));
  }
  Node* node = graph.add_node(op, inputs, sample.attrs);
  if (const auto counted = counted_dim(*node)) graph.dims[counted->name] = 0;
  graph.outputs = node->outputs;
  for (const Value* output : node->outputs) graph.output_names.push_back(output->name);
  return graph;
}

// Calls check(op, graph) for every sample of every op.
template <class Check>
void for_each_sample(Check check) {
  for (const OpDef& op : all_ops()) {
    for (size_t k = 0; k < op.samples.size(); ++k) {
      SCOPED_TRACE(str(op.name, " sample ", k));
      try {
        Graph graph = sample_graph(op, op.samples[k]);
        check(op, graph);
      } catch (const Error& error) { ADD_FAILURE() << error.what(); }
    }
  }
}

TEST(OpTable, IsSortedAndFoundByName) {
  EXPECT_TRUE(std::ranges::is_sorted(all_ops(), {}, &OpDef::name));
  for (const OpDef& op : all_ops()) EXPECT_EQ(find_op(op.name), &op);
  EXPECT_EQ(find_op("no_such_op"), nullptr);
  EXPECT_EQ(find_op(""), nullptr);
}

TEST(OpTable, EveryOpHasWhatItsKindNeeds) {
  for (const OpDef& op : all_ops()) {
    SCOPED_TRACE(op.name);
    EXPECT_TRUE(op.infer);
    EXPECT_FALSE(op.doc.empty());
    // Calls of the host mean what the program registers.
    EXPECT_EQ(op.samples.empty(), op.kind == OpKind::external);
    EXPECT_FALSE(op.results.empty());
    EXPECT_TRUE(op.reference || op.kind == OpKind::composite);
    EXPECT_EQ(static_cast<bool>(op.element),
              op.kind == OpKind::pointwise || op.kind == OpKind::view);
    EXPECT_EQ(op.reduction.has_value(), op.kind == OpKind::reduce || op.kind == OpKind::scan);
    EXPECT_EQ(static_cast<bool>(op.contraction), op.kind == OpKind::contraction);
    EXPECT_EQ(static_cast<bool>(op.compose), op.kind == OpKind::composite);
    EXPECT_TRUE(op.kind != OpKind::view || op.operands.size() == 1);
  }
}

TEST(OpTable, OperandsAreOptionalOrManyOnlyAtTheEnd) {
  for (const OpDef& op : all_ops()) {
    SCOPED_TRACE(op.name);
    EXPECT_TRUE(std::ranges::is_partitioned(
        op.operands, [](const std::string& name) { return !name.ends_with("?"); }));
    for (size_t k = 0; k + 1 < op.operands.size(); ++k)
      EXPECT_FALSE(op.operands[k].ends_with("..."));
  }
}

TEST(OpTable, AttributesAreUniqueAndDefaultsFit) {
  for (const OpDef& op : all_ops()) {
    SCOPED_TRACE(op.name);
    std::set<std::string> names;
    Attrs defaults;
    for (const AttrDef& def : op.attrs) {
      EXPECT_TRUE(names.insert(def.name).second) << def.name;
      EXPECT_TRUE(def.choices.empty() || def.type == AttrType::text) << def.name;
      if (def.default_value) defaults[def.name] = *def.default_value;
    }
    try {
      complete_attrs(op, defaults);
    } catch (const Error& error) {
      // A required attribute is the only thing that may be amiss.
      EXPECT_NE(std::string(error.what()).find("is missing"), std::string::npos) << error.what();
    }
  }
}

TEST(OpTable, SamplesAreValidGraphs) {
  for_each_sample([](const OpDef&, const Graph& graph) { verify(graph); });
}

TEST(OpTable, SamplesPrintAndParseBack) {
  for_each_sample([](const OpDef&, const Graph& graph) {
    const std::string text = print_graph(graph);
    EXPECT_EQ(print_graph(parse_graph(text)), text);
  });
}

TEST(OpTable, CompositionsHaveTheInferredTypes) {
  for_each_sample([](const OpDef& op, const Graph& graph) {
    if (!op.compose) return;
    Graph composition = composition_graph(*graph.nodes()[0]);
    composition.dims = graph.dims;
    verify(composition);
  });
}

TEST(OpTable, SamplesDecomposeIntoPrimitives) {
  for_each_sample([](const OpDef&, Graph& graph) {
    decompose(graph);
    verify(graph);
    for (const auto& node : graph.nodes()) EXPECT_FALSE(node->op->compose) << node->op_name();
  });
}

// f8 in place of every float: taken with all that the op is composed of, or refused.
TEST(OpTable, F8IsMovedAndConvertedOnly) {
  size_t taken = 0, refused = 0;
  for (const OpDef& op : all_ops())
    for (OpSample sample : op.samples) {
      bool any = false;
      for (Type& type : sample.inputs)
        if (is_float(type.dtype)) any = true, type.dtype = DType::f8e4m3;
      const bool promotes = op.name == "cat" && is_integer(sample.inputs[0].dtype);
      const bool has_width = op.name == "bit_cast";  // of the type that the sample names
      if (!any || promotes || has_width) continue;
      SCOPED_TRACE(op.name);
      if (op.takes_f8 || op.kind == OpKind::view) {
        if (sample.attrs.contains("out_dtype")) continue;
        const bool product = std::ranges::any_of(
            op.attrs, [](const AttrDef& def) { return def.name == "out_dtype"; });
        if (product) sample.attrs["out_dtype"] = "f32";
        if (product && sample.inputs.size() > 2) sample.inputs[2].dtype = DType::f32;
        Graph graph = sample_graph(op, sample);
        decompose(graph);
        verify(graph);
        ++taken;
      } else {
        EXPECT_ERROR(sample_graph(op, sample),
                     op.name + ": is not defined for f8e4m3; convert with `to` first");
        ++refused;
      }
    }
  EXPECT_GT(taken, 100u);
  EXPECT_GT(refused, 500u);
}

OpDef op_with(AttrDef attr) {
  OpDef op;
  op.name = "test";
  op.attrs = {std::move(attr)};
  return op;
}

Attr completed(const AttrDef& def, Attr value) {
  Attrs attrs = {{def.name, std::move(value)}};
  complete_attrs(op_with(def), attrs);
  return attrs.at(def.name);
}

TEST(Attributes, Widen) {
  EXPECT_EQ(completed({"eps", AttrType::number, {}}, int64_t{1}), Attr(1.0));
  EXPECT_EQ(completed({"dtype", AttrType::dtype, {}}, "bf16"), Attr(DType::bf16));
  EXPECT_EQ(completed({"dim", AttrType::ints, {}, {}, true}, int64_t{2}), ints({2}));
  EXPECT_EQ(completed({"scale", AttrType::numbers, {}}, ints({1, 2})), Attr(std::vector{1.0, 2.0}));
}

TEST(Attributes, AreChecked) {
  EXPECT_ERROR(completed({"dim", AttrType::integer, {}}, "x"),
               "attribute 'dim' must be an integer, not text");
  EXPECT_ERROR(completed({"dim", AttrType::ints, {}}, int64_t{1}),
               "attribute 'dim' must be a list of integers, not an integer");
  EXPECT_ERROR(completed({"dtype", AttrType::dtype, {}}, "float"),
               "attribute 'dtype' must be an element type such as f32, not 'float'");
  EXPECT_ERROR(completed({"mode", AttrType::text, {}, {"none", "tanh"}}, "tan"),
               "attribute 'mode' must be one of 'none', 'tanh', not 'tan'; did you mean 'tanh'?");
  Attrs none;
  EXPECT_ERROR(complete_attrs(op_with({"dim", AttrType::integer, {}}), none),
               "attribute 'dim' is missing; it must be an integer");
}

TEST(InferContext, NormalizesDimsAndBroadcasts) {
  Node node;
  const OpDef op = op_with({"dim", AttrType::integer, {}});
  node.op = &op;
  const InferContext context{node, {}};
  EXPECT_EQ(context.normalize_dim(-1, 3), 2);
  EXPECT_EQ(context.normalize_dim(0, 3), 0);
  EXPECT_ERROR(context.normalize_dim(3, 3), "test: dim 3 is out of range for rank 3 (-3 to 2)");
  EXPECT_ERROR(context.normalize_dim(0, 0), "test: dim 0 of a scalar, which has no dims");
  const SymInt B = SymInt::symbol("B");
  EXPECT_EQ(context.broadcast({B, 1}, {4}), (Shape{B, 4}));
  EXPECT_EQ(context.broadcast({}, {B}), (Shape{B}));
  EXPECT_EQ(context.broadcast({1}, {0}), (Shape{0}));
  EXPECT_EQ(context.broadcast({B}, {4}), (Shape{4})) << "on trust, until B is bound";
  EXPECT_ERROR(context.broadcast({2, 3}, {4}), "test: shapes [2, 3] and [4] do not broadcast");
}

}  // namespace
}  // namespace tcc::ir
