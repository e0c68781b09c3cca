// Ops of the table with dims that stay open: every dim of every operand of the samples in turn,
// together with the dims that it must be equal to.
//
//   TCC_OPEN_OPS=1000 TCC_FUZZ_DEVICE=cuda:0 one_open_ops_test
//
// runs so many dims of each op, not one, on another device.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "backends/pipeline.h"
#include "frontend/random_init.h"
#include "ir/passes/decompose.h"
#include "ir/size_range.h"
#include "runtime/program.h"
#include "tests/draws.h"
#include "tests/fuzz/check_graph.h"
#include "tests/open_graph.h"
#include "tests/ops/op_batch.h"

namespace tcc::test {
namespace {

// A sample with the open dim N.
struct OpenSample {
  ir::OpSample sample;
  int64_t size;  // of the dim in the table

  std::string text(const ir::OpDef& op) const {
    std::string all = op.name;
    for (const ir::Type& type : sample.inputs) all += " " + ir::to_string(type);
    return all;
  }
  ir::Graph graph(const ir::OpDef& op) const {
    ir::Graph graph = sample_graph(op, sample);
    graph.dims["N"] = size;
    return graph;
  }
};

// Opens a dim of an operand with the first set of other dims of its size that the op's shape rule
// takes: those at the same place from the end, from the beginning, of other operands, all, none.
std::optional<OpenSample> opened(const ir::OpDef& op, const ir::OpSample& sample, size_t operand,
                                 size_t dim) {
  const auto rank = [&](size_t k) { return sample.inputs[k].shape.size(); };
  const int64_t size = sample.inputs[operand].shape[dim].value();
  if (size < 2) return {};
  const auto same_end = [&](size_t k, size_t d) { return rank(k) - d == rank(operand) - dim; };
  const auto same_place = [&](size_t, size_t d) { return d == dim; };
  const auto others = [&](size_t k, size_t) { return k != operand; };
  const std::vector<std::function<bool(size_t, size_t)>> sets = {
      same_end, same_place, others, [](size_t, size_t) { return true; },
      [](size_t, size_t) { return false; }};
  for (const auto& joins : sets) {
    OpenSample one{sample, size};
    for (size_t k = 0; k < sample.inputs.size(); ++k)
      for (size_t d = 0; d < rank(k); ++d) {
        ir::SymInt& own = one.sample.inputs[k].shape[d];
        if ((k == operand && d == dim) || (own.is(size) && joins(k, d)))
          own = ir::SymInt::symbol("N");
      }
    try {
      (void)one.graph(op).bind({}, {"N"});
      return one;
    } catch (const Error&) {}  // the next set
  }
  return {};
}

std::vector<OpenSample> all_opened(const ir::OpDef& op) {
  std::vector<OpenSample> found;
  std::set<std::string> seen;
  for (const ir::OpSample& sample : op.samples)
    for (size_t operand = op.stores ? 1 : 0; operand < sample.inputs.size(); ++operand)
      for (size_t dim = 0; dim < sample.inputs[operand].shape.size(); ++dim)
        if (const auto one = opened(op, sample, operand, dim);
            one && seen.insert(one->text(op)).second)
          found.push_back(*one);
  return found;
}

// Whether the result has the shape that the open graph says: squeeze() keeps an open dim, and
// slice() takes its start to lie within one.
bool has_shape(const ir::Graph& bound, const ir::Graph& open, int64_t size) {
  std::vector<int64_t> shape;
  for (const ir::SymInt& dim : open.outputs[0]->shape())
    shape.push_back(dim.evaluate([&](const ir::Atom&) { return std::optional(size); }));
  return shape == ir::const_shape(*bound.outputs[0]);
}

// Why an op is refused with an open dim.
struct Reason {
  const char* op;  // as the user calls it
  const char* words;
};
constexpr Reason kKnown[] = {
    // Other operands have a number where the opened dim says N.
    {"", "for equal, which they are not at N"},
    {"deform_conv2d", "offset must be"},
    {"append", "has room for"},
    // The default is a root of the depth.
    {"attention", "give 'scale', or a number for the depth"},
    // Nothing is summed up, in no rows.
    {"matmul", "matmul sums up nothing"},
    {"amax", "of another row"},
    {"amin", "of another row"},
    {"softmax", "of another row"},
    {"sum", "of another row"},
    {"mean", "of another row"},
    // Filters are as long as sizes say, and corners of boxes are floating point.
    {"", "resample: has no kernel"},
};

TEST(OpenOps, AreRefusedForKnownReasonsOnly) {
  backends::CompileOptions options;
  options.binaries = false;
  const sched::Target target = sched::target_by_name("cuda:sm_90a");
  std::set<const Reason*> met;
  for (const ir::OpDef& op : ir::all_ops()) {
    size_t number = 0;
    OneOf third(3);
    const bool has_reason =
        std::ranges::any_of(kKnown, [&](const Reason& reason) { return op.name == reason.op; });
    for (const OpenSample& one : all_opened(op)) {
      if (!third.takes_next() && !has_reason) continue;
      for (const bool is_free : {false, true}) {
        if (is_free && number++ % 4 != 0) continue;  // they differ little
        options.open_dims["N"] =
            is_free ? ir::SizeRange() : ir::SizeRange{.least = one.size, .most = 4 * one.size};
        try {
          (void)backends::compile(one.graph(op), target, options);
        } catch (const Error& error) {
          if (is_free) continue;  // what must have some elements is refused
          const std::string why = error.what();
          const auto* known = std::ranges::find_if(kKnown, [&](const Reason& reason) {
            return op.name.find(reason.op) != op.name.npos && why.find(reason.words) != why.npos;
          });
          if (known == std::end(kKnown))
            ADD_FAILURE() << one.text(op) << ": " << why;
          else
            met.insert(known);
        } catch (const std::exception& error) {
          ADD_FAILURE() << one.text(op) << (is_free ? " (free): " : ": ") << error.what();
        }
      }
    }
  }
  for (const Reason& reason : kKnown)
    EXPECT_TRUE(met.contains(&reason)) << reason.op << ": " << reason.words << " is no reason now";
}

class OpenOps : public ::testing::TestWithParam<std::string> {};

TEST_P(OpenOps, AgreeWithTheReference) {
  if (device().empty()) GTEST_SKIP() << "there is no software device";
  const ir::OpDef& op = *ir::find_op(GetParam());
  const std::vector<OpenSample> all = all_opened(op);
  const uint64_t count = std::min<uint64_t>(number_from("TCC_OPEN_OPS", 1), all.size());
  for (uint64_t i = 0; i < count; ++i) {
    const OpenSample& one = all[(2 * i + 1) * all.size() / (2 * count)];
    backends::CompileOptions options;
    options.open_dims["N"] =
        i % 2 ? ir::SizeRange() : ir::SizeRange{.least = one.size, .most = 4 * one.size};
    ir::Graph graph = one.graph(op);
    std::vector<Sizes> sizes;
    for (const int64_t size : {one.size, one.size + 1, 3 * one.size + 1, int64_t{1}}) {
      if (size < options.open_dims["N"].least) continue;
      try {
        ir::Graph bound = graph.bind({{"N", size}});
        ir::decompose(bound);
        if (has_shape(bound, graph, size)) sizes.push_back({{"N", size}});
      } catch (const Error&) {}  // the op is not defined for it
    }
    try {
      (void)backends::compile(graph, open_once(device())->target(), options);
    } catch (const Error&) { continue; }  // see AreRefusedForKnownReasonsOnly
    EXPECT_EQ(
        difference_at(graph, device(), options, sizes,
                      {one.sample.lo, one.sample.hi, one.sample.int_lo, one.sample.int_hi, i}),
        "")
        << one.text(op);
  }
}

INSTANTIATE_TEST_SUITE_P(Table, OpenOps, ::testing::ValuesIn(op_names()),
                         [](const auto& one) { return one.param; });

}  // namespace
}  // namespace tcc::test
