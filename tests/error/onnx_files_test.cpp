// ONNX files made to harm: each is refused with one line that names the file and the place, in
// bounded time and memory.
#include <sys/resource.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>

#include <gtest/gtest.h>

#include "frontend/graph_file.h"
#include "support/error.h"
#include "tests/sanitized.h"
#include "tests/unit/onnx_fixture.h"
#include "tests/unit/tensor_file_fixture.h"

namespace tcc::testing {
namespace {

using Int64s = std::vector<int64_t>;

constexpr rlim_t kMemory = rlim_t{1} << 30;  // docs/onnx.md states it
constexpr double kSeconds = 5;               // of processor time; a case takes a fraction of one
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

// Nothing may ask for more than `kMemory` beyond what the process has.
class MemoryLimit {
 public:
  MemoryLimit() {
    if (test::kSanitized) return;  // sanitizers reserve terabytes
    ::getrlimit(RLIMIT_AS, &before_);
    rlim_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    rlimit limit = before_;
    limit.rlim_cur = std::min(before_.rlim_max, pages * 4096 + kMemory);
    ::setrlimit(RLIMIT_AS, &limit);
  }
  ~MemoryLimit() {
    if (!test::kSanitized) ::setrlimit(RLIMIT_AS, &before_);
  }

 private:
  rlimit before_{};
};

class OnnxFiles : public TensorFileTest {
 protected:
  // The file cannot be loaded, or not be bound. `words` is what the message must hold.
  void refuse_bytes(const std::string& bytes, const std::string& words) const {
    const std::filesystem::path path = put("model.onnx", bytes);
    const MemoryLimit limit;
    const std::clock_t start = std::clock();
    std::string message = "(nothing)";
    try {
      ir::Graph graph = load_graph(path);
      ir::verify(graph);
      ir::verify(graph.bind({}));
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_input) << error.what();
      message = error.what();
    }
    EXPECT_NE(message.find(words), std::string::npos) << message;
    EXPECT_TRUE(message.starts_with(path.string() + ": ")) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    EXPECT_LT(message.size(), 4096u);
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    EXPECT_LT(seconds, test::kSanitized ? 20 * kSeconds : kSeconds) << message;
  }
  void refuse(const OnnxModel& model, const std::string& words) const {
    refuse_bytes(model.bytes(), words);
  }
  // x f32[4], one node, its result y.
  void refuse_node(std::string_view op, const OnnxNames& inputs, const OnnxAttributes& attributes,
                   const std::string& words) const {
    OnnxModel model = OnnxModel().input("x", {{4}}).input("m", {{2, 6}});
    model.node(op, inputs, {"y"}, attributes).output("y");
    refuse(model, words);
  }
};

// ---- the file

TEST_F(OnnxFiles, ThatAreNone) {
  refuse_bytes("", "it has no graph");
  refuse_bytes(std::string(100, '\xff'), "the protobuf message cannot be read");
  refuse_bytes("tcc: 1\ninputs:\n  x: {dtype: f32, shape: [4]}\n", "the protobuf message");
  refuse_bytes(std::string("\x08\x08", 2), "it has no graph");
}

TEST_F(OnnxFiles, ThatEndEarly) {
  OnnxModel model;
  model.input("x", {{4}}).constant("w", float_tensor({4}, 1));
  model.node("Add", {"x", "w"}, {"y"}).output("y");
  const std::string bytes = model.bytes();
  for (size_t size = 0; size < bytes.size(); ++size) {
    // Cut between two fields, a model is one with less in it.
    try {
      load_graph(put("model.onnx", bytes.substr(0, size)));
    } catch (const Error& error) { EXPECT_EQ(error.kind(), ErrorKind::bad_input) << error.what(); }
  }
  refuse_bytes(bytes.substr(0, bytes.size() / 2), "");
}

TEST_F(OnnxFiles, OfOtherVersions) {
  for (const int64_t version : {int64_t{0}, int64_t{-1}}) {
    OnnxModel model(version);
    model.input("x", {{4}}).node("Relu", {"x"}, {"y"}).output("y");
    refuse(model, std::to_string(version));
  }
  OnnxModel model;
  model.proto.mutable_opset_import(0)->set_domain("other");
  model.input("x", {{4}}).node("Relu", {"x"}, {"y"}).output("y");
  refuse(model, "node 0 (Relu): no version of the operators of ONNX is imported");
}

// ---- names

TEST_F(OnnxFiles, WithCyclesAndNamesOfNothing) {
  refuse(OnnxModel().node("Relu", {"y"}, {"x"}).node("Relu", {"x"}, {"y"}).output("y"),
         "node 0 (Relu) needs its own result: nodes form a cycle");
  refuse(OnnxModel().node("Relu", {"y"}, {"y"}).output("y"), "node 0 (Relu) needs its own");
  refuse(OnnxModel().node("Relu", {"w"}, {"y"}).output("y"), "node 0 (Relu): unknown value 'w'");
  refuse(OnnxModel().input("x", {{4}}).output("z"), "output 'z' is computed by no node");
  refuse(OnnxModel().input("x", {{4}}), "a graph needs at least one output");
  refuse(OnnxModel().input("x", {{4}}).output("x").output("x"), "output 'x' is listed twice");
  refuse(OnnxModel().input("x", {{4}}).node("Relu", {"x"}, {"x"}).output("x"),
         "node 0 (Relu): 'x' is defined twice");
  refuse(OnnxModel().ints("w", {1}).ints("w", {2}).output("w"),
         "initialiser 'w': 'w' is defined twice");
  refuse(OnnxModel().input("", {{4}}).output(""), "a value without a name");
}

TEST_F(OnnxFiles, WithNamesThatBreakLines) {
  const std::string name = "a\nb\x1b[31m";
  refuse(OnnxModel().node("Relu", {name}, {"y"}).output("y"), "unknown value 'a?b?[31m'");
  refuse(OnnxModel().input(name, {{4}}).output(name),
         "input 'a?b?[31m': 'a?b?[31m' is a name with control characters");
  refuse(OnnxModel().input("x", {{4}}).node("Relu", {"x"}, {name}).output(name),
         "node 0 (Relu): 'a?b?[31m' is a name with control characters");
  refuse(OnnxModel().input("x", {{4}}).node("Re\nlu", {"x"}, {"y"}).output("y"), "(Re?lu)");
  refuse(OnnxModel().node("Relu", {std::string(1 << 20, 'n')}, {"y"}).output("y"), "unknown value");
  refuse(OnnxModel().input(std::string(1 << 20, 'n'), {{4}}).output("y"), "1048576 characters");
  refuse_node("Einsum", {"x"}, {{"equation", "a\nb->c"}}, "node 0 (Einsum)");
  refuse_node(std::string(1 << 20, 'O'), {"x"}, {}, "is not supported");
}

// ---- dims and data

TEST_F(OnnxFiles, WithImpossibleDims) {
  refuse(OnnxModel().input("x", {{-5}}).output("x"), "input 'x' has dim -5");
  refuse(OnnxModel().input("x", {{kMost, kMost}}).node("Relu", {"x"}, {"y"}).output("y"), "");
  refuse(OnnxModel().input("x", {std::vector<OnnxDim>(1000, 1)}).output("x"),
         "input 'x' has 1000 dims");
  for (const int64_t dim : {int64_t{-1}, kMost, int64_t{1} << 60}) {
    pb::TensorProto tensor = float_tensor({1}, 0);
    tensor.set_dims(0, dim);
    refuse(OnnxModel().constant("w", tensor).output("w"), "initialiser 'w': ");
    refuse_node("Constant", {}, {{"value", tensor}}, "node 0 (Constant): ");
  }
  std::string brackets(100000, '(');
  brackets.append("n");
  refuse(OnnxModel().input("x", {{brackets}}).output("y"), "");
}

TEST_F(OnnxFiles, WithUnsupportedData) {
  OnnxModel sparse;
  sparse.graph().add_sparse_initializer();
  refuse(sparse.output("y"), "sparse initialisers are not supported");
  OnnxModel sequence;
  sequence.graph().add_input()->set_name("s");
  sequence.graph().mutable_input(0)->mutable_type()->mutable_sequence_type();
  refuse(sequence.output("s"), "input 's' is a sequence");
  OnnxModel training;
  training.proto.add_training_info();
  refuse(training.output("y"), "training models are not supported");
  refuse(OnnxModel().input("x", {{4}}, pb::TensorProto::STRING).output("x"),
         "input 'x': tensors of strings are not supported");
}

TEST_F(OnnxFiles, WithResultsBeyondAllMemory) {
  const Int64s wide = {kMost, kMost};
  refuse_node("Expand", {"x", "to"}, {}, "unknown value 'to'");
  for (const char* op : {"Expand", "Reshape"})
    refuse(OnnxModel().input("x", {{1}}).ints("to", wide).node(op, {"x", "to"}, {"y"}).output("y"),
           str("node 0 (", op, "): "));
  refuse(OnnxModel().ints("to", {-5}).node("ConstantOfShape", {"to"}, {"y"}).output("y"),
         "node 0 (ConstantOfShape): ");
  refuse(OnnxModel().ints("to", wide).node("ConstantOfShape", {"to"}, {"y"}).output("y"),
         "node 0 (ConstantOfShape): ");
  refuse(OnnxModel()
             .number("from", std::numeric_limits<int64_t>::min())
             .number("to", kMost)
             .number("step", 1)
             .node("Range", {"from", "to", "step"}, {"y"})
             .output("y"),
         "node 0 (Range): ");
  refuse(OnnxModel()
             .input("x", {{4}})
             .ints("times", {kMost})
             .node("Tile", {"x", "times"}, {"y"})
             .output("y"),
         "node 0 (Tile): ");
}

TEST_F(OnnxFiles, WithResultsThatNoMachineHolds) {
  const int64_t huge = int64_t{1} << 50;
  OnnxModel model = OnnxModel().input("x", {{4}}).ints("n", {huge}).number("to", huge);
  model.number("zero", 0).number("one", 1);
  const auto refuse_result = [&](const char* op, const OnnxNames& inputs) {
    refuse(OnnxModel(model).node(op, inputs, {"y"}).output("y"), str("node 0 (", op, "): "));
  };
  refuse_result("ConstantOfShape", {"n"});
  refuse_result("Tile", {"x", "n"});
  refuse_result("Range", {"zero", "to", "one"});
  refuse(OnnxModel().input("x", {{huge}}).node("Relu", {"x"}, {"y"}).output("y"), "input 'x': ");
}

// Nothing that is not needed is computed: these are too large for any machine, but take no memory
// here.
TEST_F(OnnxFiles, WhoseShapesDependOnHugeTensors) {
  const Int64s huge = {int64_t{1} << 20, int64_t{1} << 20};
  OnnxModel model;
  model.ints("to", huge).node("ConstantOfShape", {"to"}, {"a"}, {{"value", int_tensor({1})}});
  model.node("ReduceSum", {"a"}, {"n"}, {{"keepdims", 0}}).input("x", {{4}}).ints("axes", {0});
  model.node("Unsqueeze", {"n", "axes"}, {"n1"}).node("Expand", {"x", "n1"}, {"y"}).output("y");
  refuse(model, "node 3 (Expand): input 1 must be known when the graph is compiled");

  OnnxModel products;  // 10^15 multiplications
  products.ints("to", {100000, 100000});
  products.node("ConstantOfShape", {"to"}, {"a"}, {{"value", int_tensor({1})}});
  products.node("MatMul", {"a", "a"}, {"b"}).ints("start", {0}).ints("end", {1});
  products.node("ReduceMax", {"b"}, {"c"}, {{"keepdims", 0}});
  products.node("Range", {"c", "c", "c"}, {"y"}).output("y");
  refuse(products, "node 3 (Range): ");
}

TEST_F(OnnxFiles, WhoseShapesAreComputedAtLength) {
  // Each step works on 4 million elements.
  OnnxModel model;
  model.ints("to", {int64_t{1} << 22});
  model.node("ConstantOfShape", {"to"}, {"a0"}, {{"value", int_tensor({1})}});
  for (int k = 0; k < 1000; ++k) model.node("Add", {str("a", k), str("a", k)}, {str("a", k + 1)});
  model.node("ReduceMax", {"a1000"}, {"n"}, {{"keepdims", 1}});
  model.input("x", {{1}}).node("Expand", {"x", "n"}, {"y"}).output("y");
  refuse(model, "(Expand): input 1 must be known when the graph is compiled");
}

// ---- attributes

TEST_F(OnnxFiles, WithAttributesOutOfRange) {
  refuse_node("Transpose", {"m"}, {{"perm", Int64s(1000000, 0)}}, "node 0 (Transpose)");
  refuse_node("Transpose", {"m"}, {{"perm", Int64s{0, 5}}}, "node 0 (Transpose)");
  refuse_node("Softmax", {"m"}, {{"axis", kMost}}, "node 0 (Softmax)");
  refuse_node("DepthToSpace", {"m"}, {{"blocksize", kMost}}, "node 0 (DepthToSpace)");
  refuse_node("Concat", {"x", "m"}, {{"axis", 0}}, "node 0 (Concat)");
  refuse_node("Cast", {"x"}, {{"to", 999}}, "node 0 (Cast)");
  refuse_node("Cast", {"x"}, {{"to", -1}}, "node 0 (Cast)");
  refuse_node("Conv", {"x", "m"}, {}, "node 0 (Conv)");
  refuse_node("MaxPool", {"x"}, {{"kernel_shape", Int64s{-1}}}, "node 0 (MaxPool)");
  refuse_node("LSTM", {"x", "x", "x"}, {{"hidden_size", kMost}}, "node 0 (LSTM)");
  for (const char* equation :
       {"", "->", "->->", "ij,jk", "i.j->k", "...", "....", "ij->ijk", "i,i,i,i->i", "ii->ii", "Ä"})
    refuse_node("Einsum", {"x", "m"}, {{"equation", equation}}, "node 0 (Einsum)");
  refuse_node("Split", {"x"}, {{"num_outputs", kMost}}, "node 0 (Split)");
}

TEST_F(OnnxFiles, WithPiecesThatDoNotFit) {
  for (const Int64s& sizes : {Int64s{-4, 8}, Int64s{1, 2}, Int64s{kMost, kMost}, Int64s{4}})
    refuse(OnnxModel()
               .input("x", {{4}})
               .ints("sizes", sizes)
               .node("Split", {"x", "sizes"}, {"a", "b"})
               .output("a")
               .output("b"),
           "node 0 (Split): ");
  refuse(OnnxModel()
             .input("x", {{int64_t{1} << 40}})
             .node("SplitToSequence", {"x"}, {"s"})
             .node("SequenceLength", {"s"}, {"y"})
             .output("y"),
         "node 0 (SplitToSequence): more than 10000 pieces");
}

TEST_F(OnnxFiles, WithManyOperands) {
  OnnxModel model;
  model.input("x", {{4}}).input("m", {{2, 6}});
  OnnxNames names(100000, "x");
  names.push_back("m");
  model.node("Concat", names, {"y"}, {{"axis", 0}}).output("y");
  refuse(model, "node 0 (Concat): ");
  OnnxModel sum;
  sum.input("x", {{4}}).node("Sum", OnnxNames(600000, "x"), {"y"}).output("y");
  refuse(sum, "more than 500000 nodes");
}

TEST_F(OnnxFiles, WithScalesOfWrongShapes) {
  const auto quantised = [](const OnnxNames& inputs) {
    return OnnxModel()
        .input("x", {{4}})
        .input("m", {{2, 6}})
        .constant("none", float_tensor({0}, 0))
        .constant("three", float_tensor({3}, 0))
        .constant("one", float_tensor({}, 0))
        .node("QuantizeLinear", inputs, {"y"}, {{"axis", 0}})
        .output("y");
  };
  refuse(quantised({"x", "none"}), "node 0 (QuantizeLinear): ");
  refuse(quantised({"x", "three"}), "node 0 (QuantizeLinear): ");
  refuse(quantised({"x", "m"}), "node 0 (QuantizeLinear): ");
  refuse(quantised({"x", "one", "one"}), "node 0 (QuantizeLinear): ");
}

// ---- nesting and unrolling

// If in If in If ..., `depth` deep.
pb::GraphProto nested(int depth) {
  pb::GraphProto graph = subgraph({}, {"r"});
  if (depth == 0)
    add_node(graph, "Relu", {"x"}, {"r"});
  else
    add_node(graph, "If", {"yes"}, {"r"},
             {{"then_branch", nested(depth - 1)}, {"else_branch", subgraph({}, {"x"})}});
  return graph;
}

TEST_F(OnnxFiles, WithDeepNesting) {
  pb::TensorProto yes;
  yes.set_data_type(pb::TensorProto::BOOL);
  yes.add_int32_data(1);
  for (const int depth : {40, 200}) {
    OnnxModel model;
    model.input("x", {{4}}).constant("yes", yes).output("y");
    model.node("If", {"yes"}, {"y"},
               {{"then_branch", nested(depth)}, {"else_branch", subgraph({}, {"x"})}});
    refuse(model, "");
  }
}

// Each function calls the next twice: 2^depth nodes.
TEST_F(OnnxFiles, WithFunctionsThatExplode) {
  OnnxModel model;
  for (int k = 0; k < 30; ++k) {
    pb::FunctionProto& function = *model.proto.add_functions();
    function.set_name(str("F", k));
    function.set_domain("d");
    function.add_input("a");
    function.add_output("c");
    const std::string next = k == 29 ? "Relu" : str("F", k + 1);
    for (const auto& [from, to] : {std::pair("a", "b"), std::pair("b", "c")})
      add_node(function, next, {from}, {to}).set_domain(k == 29 ? "" : "d");
  }
  model.input("x", {{4}}).output("y");
  add_node(model.graph(), "F0", {"x"}, {"y"}).set_domain("d");
  refuse(model, "more than 500000 nodes once functions are expanded and loops unrolled");
}

OnnxModel loop(const pb::GraphProto& body, int64_t turns) {
  OnnxModel model;
  model.input("x", {{4}}).number("turns", turns);
  return model.node("Loop", {"turns", "", "x"}, {"y"}, {{"body", body}}).output("y");
}

TEST_F(OnnxFiles, WithLoopsOfTooManyTurns) {
  pb::GraphProto relu = subgraph({"turn", "go", "s"}, {"go", "t"});
  add_node(relu, "Relu", {"s"}, {"t"});
  refuse(loop(relu, 1000000000), "node 0 (Loop): more than 10000 turns cannot be unrolled");
  refuse(loop(subgraph({"turn", "go", "s"}, {"go", "s"}), kMost), "more than 10000 turns");

  pb::GraphProto outer = subgraph({"turn", "go", "s"}, {"go", "t"});
  add_node(outer, "Loop", {"turns", "", "s"}, {"t"},
           {{"body", subgraph({"turn2", "go2", "s2"}, {"go2", "s2"})}});
  refuse(loop(outer, 9999), "more than 500000 nodes once functions are expanded");
}

TEST_F(OnnxFiles, WithLargeConstantsInLoops) {
  pb::GraphProto body = subgraph({"turn", "go", "s"}, {"go", "t"});
  add_node(body, "Constant", {}, {"c"}, {{"value_ints", Int64s(200000, 1)}});
  add_node(body, "Relu", {"s"}, {"t"});
  refuse(loop(body, 9999), "more than 500000 nodes once functions are expanded");

  // One copy of an initialiser, however many turns.
  pb::GraphProto reads = subgraph({"turn", "go", "s"}, {"go", "t"});
  pb::TensorProto weight = float_tensor({1 << 20, 4}, 1);
  weight.set_name("w");
  *reads.add_initializer() = weight;
  add_node(reads, "Add", {"s", "w"}, {"t"});
  refuse(loop(reads, 10001), "node 0 (Loop): ");
}

TEST_F(OnnxFiles, WithScansOutOfRange) {
  pb::GraphProto body = subgraph({"s"}, {"s"});
  for (const int64_t count : {int64_t{-1}, int64_t{0}, int64_t{2}, kMost}) {
    refuse_node("Scan", {"x"}, {{"body", body}, {"num_scan_inputs", count}}, "node 0 (Scan): ");
    OnnxModel old(8);
    old.input("x", {{4}});
    old.node("Scan", {"", "x"}, {"y"}, {{"body", body}, {"num_scan_inputs", count}}).output("y");
    refuse(old, "node 0 (Scan): ");
  }
}

}  // namespace
}  // namespace tcc::testing
