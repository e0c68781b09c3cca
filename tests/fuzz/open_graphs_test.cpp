// Random graphs with dims that stay open, compiled once each and run at sizes of 1, primes, powers
// of two and their neighbours, against the reference.
//
//   TCC_FUZZ_COUNT=300 TCC_FUZZ_SEED=1000 TCC_FUZZ_DEVICE=cuda:0 one_open_graphs_test
//
// runs more of them, from another seed on, on another device.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "frontend/random_init.h"
#include "runtime/program.h"
#include "tests/fuzz/check_graph.h"
#include "tests/fuzz/random_source.h"

namespace tcc::test {
namespace {

using Dims = std::vector<std::string>;

bool is_open(const std::string& dim) { return dim.find_first_of("BS") != dim.npos; }
std::string text_of(const Dims& dims) {
  std::string text;
  for (const std::string& dim : dims) text += (text.empty() ? "" : ", ") + dim;
  return "[" + text + "]";
}

// A graph as YAML, whose dims B and S are open. Values stay tame: products and sums are scaled.
class OpenGraph {
 public:
  explicit OpenGraph(uint64_t seed) : random_(seed) {
    const std::string batch = random_.chance(70) ? "B" : "3", depth = draw_depth();
    add_input(random_.chance(50) ? Dims{batch, "S", depth} : Dims{batch, "S"});
    if (values_.back().dims.size() == 2) add_input({batch, "S", depth});
    const int64_t nodes = random_.between(4, 9);
    for (int64_t i = 0; i < nodes; ++i) add_node();
  }

  std::string text() const {
    std::string all = "tcc: 1\nname: open\ndims: {B: 4, S: 24}\ninputs:\n" + inputs_;
    if (!weights_.empty()) all += "weights:\n" + weights_;
    return all + "nodes:\n" + nodes_ + "outputs: [" + values_.back().name + ", " +
           values_[values_.size() / 2].name + "]\n";
  }

 private:
  struct Value {
    std::string name;
    Dims dims;
  };

  std::string draw_depth() { return random_.one_of({"1", "5", "8", "12", "16", "24", "33", "64"}); }
  std::string new_name(const char* stem) { return stem + std::to_string(names_++); }
  const Value& add_input(const Dims& dims) {
    values_.push_back({new_name("x"), dims});
    inputs_ += "  " + values_.back().name + ": {dtype: f32, shape: " + text_of(dims) + "}\n";
    return values_.back();
  }
  std::string add_weight(const Dims& dims) {
    const std::string name = new_name("w");
    weights_ += "  " + name + ": {dtype: f32, shape: " + text_of(dims) + ", init: {normal: 0.3}}\n";
    return name;
  }
  // Picks the last value, or any.
  Value pick() {
    return random_.chance(60)
               ? values_.back()
               : values_[static_cast<size_t>(random_.below(static_cast<int64_t>(values_.size())))];
  }
  std::string add(const std::string& op, const Dims& dims) {
    const std::string name = new_name("v");
    nodes_ += "  - {out: " + name + ", " + op + "}\n";
    values_.push_back({name, dims});
    return name;
  }

  void add_node() {
    const Value of = pick();
    switch (random_.below(14)) {
      case 0:
        add(str("op: ", random_.one_of({"tanh", "relu", "gelu", "abs", "neg"}), ", in: [", of.name,
                "]"),
            of.dims);
        return;
      case 1: {
        const std::string other = random_.chance(50) || is_open(of.dims.back())
                                      ? add_input(of.dims).name
                                      : add_weight({of.dims.back()});
        add(str("op: ", random_.one_of({"add", "mul", "sub", "maximum"}), ", in: [", of.name, ", ",
                other, "]"),
            of.dims);
        return;
      }
      case 2:
      case 3: return multiply_by_weight(of);
      case 4: return scores(of);
      case 5: return average(of);
      case 6: {
        add(str("op: ", random_.one_of({"softmax", "log_softmax"}), ", in: [", of.name,
                "], dim: -1"),
            of.dims);
        return;
      }
      case 7: {
        const bool keeps = of.dims.size() < 3 || random_.chance(50);
        Dims dims(of.dims.begin(), of.dims.end() - 1);
        if (keeps) dims.emplace_back("1");
        add(str("op: ", random_.one_of({"mean", "amax", "amin"}), ", in: [", of.name,
                "], dim: [-1], keepdim: ", keeps ? "true" : "false"),
            dims);
        return;
      }
      case 8: return permute(of);
      case 9: return attend(of);
      case 10: return scan(of);
      case 11: return sort(of);
      case 12: return select(of);
      default: return merge(of);
    }
  }

  void add_tanh(const Value& of) { add("op: tanh, in: [" + of.name + "]", of.dims); }

  // Rows are open.
  void multiply_by_weight(const Value& of) {
    if (is_open(of.dims.back())) return add_tanh(of);
    Dims dims = of.dims;
    dims.back() = draw_depth();
    const std::string weight = add_weight({dims.back(), of.dims.back()});
    add("op: linear, in: [" + of.name + ", " + weight + "]", dims);
    add_tanh(values_.back());
  }

  // Columns are open, or rows and columns.
  void scores(const Value& of) {
    if (of.dims.size() != 3) return add_tanh(of);
    const Value other = add_input(of.dims);
    const std::string turned = add("op: transpose, in: [" + other.name + "], dim0: 1, dim1: 2",
                                   {of.dims[0], of.dims[2], of.dims[1]});
    const std::string product = add("op: matmul, in: [" + of.name + ", " + turned + "]",
                                    {of.dims[0], of.dims[1], of.dims[1]});
    add("op: mul, in: [" + product + ", 0.05]", values_.back().dims);
    add_tanh(values_.back());
  }

  // Sums are open, or rows and sums.
  void average(const Value& of) {
    if (of.dims.size() != 3) return add_tanh(of);
    const std::string depth = draw_depth();
    const Value other = add_input({of.dims[0], of.dims[2], depth});
    add("op: matmul, in: [" + of.name + ", " + other.name + "]", {of.dims[0], of.dims[1], depth});
    add("op: mul, in: [" + values_.back().name + ", 0.05]", values_.back().dims);
  }

  // Queries, keys or both are open.
  void attend(const Value& of) {
    if (of.dims.size() != 3 || is_open(of.dims[2])) return add_tanh(of);
    const std::string depth = draw_depth();
    const Dims keys = random_.chance(50) ? of.dims : values_.front().dims;
    if (keys.size() != 3 || keys[0] != of.dims[0]) return add_tanh(of);
    const Value k = add_input({keys[0], keys[1], of.dims[2]}),
                v = add_input({keys[0], keys[1], depth});
    add("op: scaled_dot_product_attention, in: [" + of.name + ", " + k.name + ", " + v.name + "]",
        {of.dims[0], of.dims[1], depth});
  }

  // Lines are open, or their number.
  void scan(const Value& of) {
    add(str("op: cumsum, in: [", of.name, "], dim: ", random_.below(std::ssize(of.dims)),
            ", reverse: ", random_.chance(50) ? "true" : "false"),
        of.dims);
    add("op: mul, in: [" + values_.back().name + ", 0.05]", of.dims);
    add_tanh(values_.back());
  }

  // The number of rows is open.
  void sort(const Value& of) {
    if (is_open(of.dims.back())) return add_tanh(of);
    const std::string name = new_name("v");
    nodes_ += "  - {out: [" + name + ", " + new_name("i") + "], op: sort, in: [" + of.name +
              "], descending: " + (random_.chance(50) ? "true" : "false") + "}\n";
    values_.push_back({name, of.dims});
  }

  // Places in an open dim are computed: the number of elements above a bound.
  void select(const Value& of) {
    const Value other = add_input({"4", "3"});
    const std::string large = add("op: gt, in: [" + other.name + ", 0.0]", other.dims),
                      ones = add("op: cast, in: [" + large + "], dtype: i64", other.dims),
                      places = add("op: sum, in: [" + ones + "], dim: [1]", {"4"});
    values_.resize(values_.size() - 4);  // nothing else is made of them
    Dims dims = of.dims;
    dims[0] = "4";
    add("op: index_select, in: [" + of.name + ", " + places + "], dim: 0", dims);
  }

  void permute(const Value& of) {
    Dims dims = of.dims;
    std::vector<int64_t> order;
    for (int64_t d = 0; d < std::ssize(dims); ++d) order.push_back(d);
    for (size_t d = dims.size(); d-- > 1;)
      std::swap(order[d], order[static_cast<size_t>(random_.below(static_cast<int64_t>(d) + 1))]);
    std::string text;
    for (size_t d = 0; d < dims.size(); ++d) {
      dims[d] = of.dims[static_cast<size_t>(order[d])];
      text += str(d ? ", " : "", order[d]);
    }
    add("op: permute, in: [" + of.name + "], dims: [" + text + "]", dims);
  }

  // The first two dims as one.
  void merge(const Value& of) {
    if (of.dims.size() != 3) return add_tanh(of);
    const Dims dims = {of.dims[0] + "*" + of.dims[1], of.dims[2]};
    add("op: reshape, in: [" + of.name + "], shape: " + text_of(dims), dims);
  }

  RandomSource random_;
  int names_ = 0;
  std::string inputs_, weights_, nodes_;
  std::vector<Value> values_;
};

void check(uint64_t seed, const backends::CompileOptions& asked) {
  const std::string text = OpenGraph(seed).text();
  SCOPED_TRACE(str("seed ", seed, "\n", text));
  RandomSource random(seed + 1);
  try {
    const ir::Graph graph = parse_yaml_graph(text, "open.yaml", ".");
    backends::CompileOptions options = asked;
    // Sizes have no facts, or bounds.
    for (const auto& [dim, most] : {std::pair{"B", 16}, {"S", 128}})
      options.open_dims[dim] =
          random.chance(50) ? ir::SizeRange() : ir::SizeRange{.least = 1, .most = most};
    const auto opened = open_once(device());
    const auto program = std::make_shared<const runtime::Program>(
        opened, backends::compile(graph, opened->target(), options));
    for (int run = 0; run < 4; ++run) {
      const std::map<std::string, int64_t, std::less<>> sizes = {
          {"B", random.one_of<int64_t>({1, 2, 3, 4, 5, 7, 8, 9})},
          {"S", random.one_of<int64_t>({1, 2, 3, 7, 8, 9, 13, 16, 17, 31, 32, 33, 63, 64, 65})}};
      const ir::Graph bound = graph.bind(sizes);
      DrawOptions draw;
      draw.seed = seed;
      const std::vector<Tensor> inputs = draw_inputs(bound, draw);
      runtime::Context context(program, nullptr, sizes);
      EXPECT_EQ(compare_with_reference(bound, inputs, context.run(inputs)), "")
          << "B = " << sizes.at("B") << ", S = " << sizes.at("S");
    }
  } catch (const std::exception& error) { ADD_FAILURE() << "throws: " << error.what(); }
}

void check_some(uint64_t count, const backends::CompileOptions& options) {
  if (device().empty()) GTEST_SKIP() << "there is no software device to compare with the reference";
  const uint64_t first = number_from("TCC_FUZZ_SEED", 1);
  count = number_from("TCC_FUZZ_COUNT", count);
  for (uint64_t seed = first; seed < first + count; ++seed) check(seed, options);
}

TEST(OpenGraphs, AgreeWithTheReference) { check_some(25, {}); }

TEST(OpenGraphs, AgreeWithoutFusion) {
  backends::CompileOptions options;
  options.fuse = false;
  check_some(4, options);
}

}  // namespace
}  // namespace tcc::test
