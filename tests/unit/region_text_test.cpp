// Canonical texts of regions: nothing that a kernel depends on is missing, nothing else is in.
#include "scheduler/region_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>

#include "ir/op.h"
#include "scheduler/family.h"
#include "scheduler/plan.h"
#include "support/error.h"
#include "tests/whole_region.h"

namespace tcc::sched {
namespace {

using ir::Attrs;
using ir::Graph;
using ir::Node;
using ir::Value;

// A graph, made node by node, and all of it as one region.
struct Made {
  Graph graph;
  Value* input(DType dtype, std::vector<int64_t> shape) {
    return graph.add_input("", {dtype, {shape.begin(), shape.end()}});
  }
  Value* op(const char* name, std::vector<Value*> inputs, Attrs attrs = {}) {
    ir::complete_attrs(*ir::find_op(name), attrs);
    return graph.add_node(*ir::find_op(name), std::move(inputs), std::move(attrs))->outputs[0];
  }
  Value* number(DType dtype, double value) {
    return graph.add_constant("", {dtype, {}}, ir::make_splat(dtype, {}, value));
  }
  Region region(std::vector<const Value*> inputs, std::vector<const Value*> outputs) const {
    Region region = test::whole_region(graph, std::move(inputs), std::move(outputs));
    for (const Node* node : region.nodes)
      if (node->op->kind == ir::OpKind::reduce && !region.anchor) region.anchor = node;
    return region;
  }
};

// y = sum(x * 0.5 + b, 1); z = x * 0.5 + b
struct Usual {
  Made made;
  Value *x, *b, *half, *scaled, *z, *y;
  Usual() {
    x = made.input(DType::f32, {4, 6});
    b = made.input(DType::f32, {6});
    half = made.number(DType::f32, 0.5);
    scaled = made.op("mul", {x, half});
    z = made.op("add", {scaled, b});
    y = made.op("sum", {z}, {{"dim", std::vector<ir::SymInt>{1}}});
  }
  Region region() const { return made.region({x, b}, {z, y}); }
};

TEST(RegionTextTest, IsReadable) {
  EXPECT_EQ(region_text(Usual().region()).text,
            "region 1\n"
            "in0 f32[4, 6]\n"
            "in1 f32[6]\n"
            "%0 f32[4, 6] = mul(in0, f32[]=0.5)\n"
            "%1 f32[4, 6] = add(%0, in1)\n"
            "%2 f32[4] = sum(%1; dim=[1])\n"
            "out %1 f32[4, 6]\n"
            "out %2 f32[4]\n"
            "anchor %2\n");
  const RegionText family = region_text(Usual().region(), Sizes::dropped);
  EXPECT_EQ(family.text,
            "region 1\n"
            "in0 f32 of rank 2\n"
            "in1 f32 of rank 1\n"
            "%0 f32 of rank 2 = mul(in0, f32 of rank 0)\n"
            "%1 f32 of rank 2 = add(%0, in1)\n"
            "%2 f32 of rank 1 = sum(%1; dim=[1])\n"
            "out %1 f32 of rank 2\n"
            "out %2 f32 of rank 1\n"
            "anchor %2\n");
  EXPECT_EQ(family.extents, (std::vector<int64_t>{4, 6, 6, 4, 6, 4}));
}

// compile_kernels gives regions of one signature one kernel: a fact that the signature lacks is a
// wrong result.
TEST(RegionTextTest, EveryFactOfARegionIsInItsSignature) {
  const struct {
    const char* what;
    std::function<void(Usual&, Region&)> change;
  } changes[] = {
      {"strict rounding", [](Usual&, Region& r) { r.strict_rounding = true; }},
      {"tf32", [](Usual&, Region& r) { r.tf32 = true; }},
      {"short sums", [](Usual&, Region& r) { r.unit_sums = true; }},
      {"anchor", [](Usual&, Region& r) { r.anchor = nullptr; }},
      {"order of inputs", [](Usual&, Region& r) { std::swap(r.inputs[0], r.inputs[1]); }},
      {"order of outputs", [](Usual&, Region& r) { std::swap(r.outputs[0], r.outputs[1]); }},
      {"one output less", [](Usual&, Region& r) { r.outputs.erase(r.outputs.begin()); }},
      {"one output more", [](Usual& u, Region& r) { r.outputs.push_back(u.scaled); }},
      {"strides",
       [](Usual& u, Region& r) {
         r.layouts[u.x].strides = {1, 4};
       }},
      {"strides of an output",
       [](Usual& u, Region& r) {
         r.layouts[u.z].strides = {1, 4};
       }},
      {"room behind the rows", [](Usual& u, Region& r) { r.layouts[u.b].elements = 8; }},
      {"padded rows",
       [](Usual& u, Region& r) {
         r.layouts[u.x] = r.layouts[u.x].padded({4, 6}, 1, 8);
       }},
      {"type of an input", [](Usual& u, Region&) { u.b->type.dtype = DType::f16; }},
      {"type of a result", [](Usual& u, Region&) { u.scaled->type.dtype = DType::f16; }},
      {"type of an output", [](Usual& u, Region&) { u.y->type.dtype = DType::f64; }},
      {"type of a number", [](Usual& u, Region&) { u.half->type.dtype = DType::f64; }},
      {"shape",
       [](Usual& u, Region&) {
         u.x->type.shape = {4, 1};
       }},
      {"value of a number",
       [](Usual& u, Region&) { u.half->data = ir::make_splat(DType::f32, {}, 0.25); }},
      {"least change of a number",
       [](Usual& u, Region&) { u.half->data = ir::make_splat(DType::f64, {}, 0.5 + 0x1p-53); }},
      {"sign of a zero",
       [](Usual& u, Region&) { u.half->data = ir::make_splat(DType::f32, {}, -0.0); }},
      {"attribute",
       [](Usual& u, Region&) { u.y->producer->attrs["dim"] = std::vector<ir::SymInt>{0}; }},
      {"attribute at its default",
       [](Usual& u, Region&) { u.y->producer->attrs["keepdim"] = true; }},
      {"op", [](Usual& u, Region&) { u.z->producer->op = ir::find_op("sub"); }},
      {"operands' order",
       [](Usual& u, Region&) { std::swap(u.z->producer->inputs[0], u.z->producer->inputs[1]); }},
      {"wiring", [](Usual& u, Region&) { u.y->producer->inputs[0] = u.scaled; }},
      {"a number for an operand", [](Usual& u, Region&) { u.z->producer->inputs[1] = u.half; }},
  };
  std::map<std::string, std::string> seen = {{signature(Usual().region()), "nothing"}};
  for (const auto& [what, change] : changes) {
    Usual usual;
    Region region = usual.region();
    if (std::string_view(what) == "sign of a zero") {
      usual.half->data = ir::make_splat(DType::f32, {}, 0.0);
      seen.emplace(signature(region), "a zero");
    }
    change(usual, region);
    const auto [other, is_new] = seen.emplace(signature(region), what);
    EXPECT_TRUE(is_new) << what << " is as " << other->second;
  }
}

// Every attribute of every op, changed from its default or from what a sample has.
TEST(RegionTextTest, EveryAttributeOfEveryOpIsInItsText) {
  struct Other {
    ir::Attr operator()(bool value) const { return !value; }
    ir::Attr operator()(int64_t value) const { return value + 1; }
    ir::Attr operator()(double value) const { return value == 3 ? 4.0 : 3.0; }
    ir::Attr operator()(const std::string& value) const { return value + "x"; }
    ir::Attr operator()(DType value) const { return value == DType::f16 ? DType::i8 : DType::f16; }
    ir::Attr operator()(std::vector<ir::SymInt> value) const {
      value.emplace_back(7);
      return value;
    }
    ir::Attr operator()(std::vector<double> value) const {
      value.push_back(7);
      return value;
    }
  };
  int sizes = 0;
  for (const ir::OpDef& op : ir::all_ops())
    for (const ir::AttrDef& defined : op.attrs) {
      Node node;
      node.op = &op;
      for (const ir::AttrDef& def : op.attrs)
        node.attrs[def.name] = def.default_value.value_or(int64_t{2});
      const std::string kept = NodeText(Sizes::kept).node(node),
                        dropped = NodeText(Sizes::dropped).node(node);
      node.attrs[defined.name] = std::visit(Other(), node.attrs[defined.name]);
      EXPECT_NE(NodeText(Sizes::kept).node(node), kept) << op.name << " " << defined.name;
      EXPECT_EQ(NodeText(Sizes::dropped).node(node) == dropped, defined.is_size)
          << op.name << " " << defined.name;
      sizes += defined.is_size;
    }
  EXPECT_GE(sizes, 15);
}

TEST(RegionTextTest, DefaultsAreLeftOut) {
  Usual usual;
  const std::string before = region_text(usual.region()).text;
  EXPECT_EQ(before.find("keepdim"), std::string::npos);
  usual.y->producer->attrs["keepdim"] = true;
  EXPECT_NE(region_text(usual.region()).text.find("sum(%1; dim=[1] keepdim=true)"),
            std::string::npos);
}

TEST(RegionTextTest, NamesAreNotInIt) {
  Usual usual;
  const std::string before = region_text(usual.region()).text;
  for (const auto& value : usual.made.graph.values()) value->name = "other_" + value->name;
  EXPECT_EQ(region_text(usual.region()).text, before);
}

// y = exp(a) + sin(b), with either made first.
TEST(RegionTextTest, TheOrderInWhichNodesWereMadeDoesNotMatter) {
  std::vector<std::string> texts;
  for (const bool swapped : {false, true}) {
    Made made;
    Value* a = made.input(DType::f32, {8});
    Value* b = made.input(DType::f32, {8});
    Value *left = nullptr, *right = nullptr;
    if (swapped) right = made.op("sin", {b});
    left = made.op("exp", {a});
    if (!swapped) right = made.op("sin", {b});
    Value* y = made.op("add", {left, right});
    // Partition finds the inputs in the order of the nodes.
    Region region = swapped ? made.region({b, a}, {y}) : made.region({a, b}, {y});
    sort_inputs(region);
    EXPECT_EQ(region.inputs, (std::vector<const Value*>{a, b}));
    texts.push_back(region_text(region).text);
  }
  EXPECT_EQ(texts[0], texts[1]);
}

TEST(RegionTextTest, ALongChainIsNoProblem) {
  Made made;
  Value* x = made.input(DType::f32, {8});
  Value* y = x;
  for (int i = 0; i < 20000; ++i) y = made.op("relu", {y});
  EXPECT_EQ(canonical_order(made.region({x}, {y}).nodes, {{y}}).size(), 20000u);
}

TEST(RegionTextTest, KeysOfPlanSitesFollowFromWiringAlone) {
  std::vector<std::string> keys;
  for (const int order : {0, 1, 2}) {
    Made made;
    Value* x = made.input(DType::f32, {8});
    Value* first = made.op(order == 1 ? "sin" : "exp", {x});
    Value* second = made.op(order == 1 ? "exp" : "sin", {x});
    Value* both = order == 1 ? made.op("add", {second, first}) : made.op("add", {first, second});
    made.graph.outputs = {both};
    const Subgraph subgraph(made.graph);
    std::vector<const Node*> nodes;
    for (const auto& node : made.graph.nodes()) nodes.push_back(node.get());
    keys.push_back(order == 2 ? subgraph.key(nodes, 1) : subgraph.key(nodes));
  }
  EXPECT_EQ(keys[0], keys[1]);
  EXPECT_NE(keys[0], keys[2]);  // a decision whether exp joins the others
}

}  // namespace
}  // namespace tcc::sched
