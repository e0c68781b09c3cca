// Suppression of boxes on devices against a plain loop over pairs, in f32: coordinates are whole
// numbers, so that nothing but the ratio is rounded, which devices do as this loop does. A file
// that includes this says on which devices.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backends/pipeline.h"
#include "ir/builder.h"
#include "runtime/program.h"
#include "tests/draws.h"
#include "tests/random_configs.h"
#include "tests/run_graph.h"

namespace tcc::test::suppress {
using Flags = std::vector<int64_t>;

struct Boxes {
  int64_t groups = 1, n = 0;
  std::vector<float> numbers;  // [groups, n, 4]
  Flags valid;                 // [groups, n]
};

enum class Specials { none, some };

// Boxes that overlap a few of the others, corners in any order. Some are points, lines, infinite or
// not numbers.
inline Boxes random_boxes(int64_t groups, int64_t n, bool center, Specials specials,
                          uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](int64_t end) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(end));
  };
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const float odd[] = {std::nanf(""), infinity, -infinity, 0};
  const auto room = static_cast<int64_t>(30 + 3 * std::sqrt(static_cast<double>(n)));
  Boxes boxes{groups, n, {}, {}};
  for (int64_t i = 0; i < groups * n; ++i) {
    const int64_t place[] = {below(room), below(room)}, size[] = {below(16), below(16)};
    float box[4];
    for (int d = 0; d < 2; ++d) {
      // Centers on whole numbers, and even sizes.
      const bool is_flipped = !center && below(2) == 1;
      const int64_t first = place[d], second = center ? 2 * size[d] : place[d] + size[d];
      box[d] = static_cast<float>(is_flipped ? second : first);
      box[d + 2] = static_cast<float>(is_flipped ? first : second);
    }
    if (specials == Specials::some && below(6) == 0) box[below(4)] = odd[below(4)];
    boxes.numbers.insert(boxes.numbers.end(), box, box + 4);
    boxes.valid.push_back(below(5) != 0);
  }
  return boxes;
}

// As ONNX describes it.
inline bool overlaps(const float* a, const float* b, bool center, float threshold) {
  float common = 1, areas[] = {1, 1};
  for (int d = 0; d < 2; ++d) {
    float low[2], high[2];
    const float* both[] = {a, b};
    for (int k = 0; k < 2; ++k) {
      const float first = both[k][d], second = both[k][d + 2];
      if (std::isnan(first) || std::isnan(second)) return false;
      low[k] = center ? first - second / 2 : std::min(first, second);
      high[k] = center ? first + second / 2 : std::max(first, second);
      areas[k] *= high[k] - low[k];
    }
    const float from = std::max(low[0], low[1]), to = std::min(high[0], high[1]);
    if (!(to > from)) return false;
    common *= to - from;
  }
  if (!(common > 0) || !(areas[0] > 0) || !(areas[1] > 0)) return false;
  const float all = areas[0] + areas[1] - common;
  return all > 0 && common / all > threshold;
}

inline Flags kept(const Boxes& boxes, bool center, float threshold) {
  Flags keep;
  for (int64_t group = 0; group < boxes.groups; ++group) {
    std::vector<const float*> before;
    for (int64_t i = group * boxes.n; i < (group + 1) * boxes.n; ++i) {
      const float* box = boxes.numbers.data() + 4 * i;
      const bool stays = boxes.valid[static_cast<size_t>(i)] != 0 &&
                         std::ranges::none_of(before, [&](const float* other) {
                           return overlaps(other, box, center, threshold);
                         });
      keep.push_back(stays);
      if (stays) before.push_back(box);
    }
  }
  return keep;
}

inline ir::Graph graph_of(const ir::SymInt& groups, const ir::SymInt& n, bool center,
                          DType dtype = DType::f32) {
  ir::Graph graph;
  for (const ir::SymInt& dim : {groups, n})
    if (const ir::AtomPtr atom = dim.as_atom()) graph.dims[atom->name] = atom->usual;
  ir::Value* boxes = graph.add_input("boxes", {dtype, {groups, n, 4}});
  ir::Value* valid = graph.add_input("valid", {DType::boolean, {groups, n}});
  ir::Value* threshold = graph.add_input("threshold", {dtype, ir::Shape{}});
  graph.outputs =
      ir::Builder(graph).ops("suppress", {boxes, valid, threshold}, {{"center", center}});
  graph.output_names = {"keep"};
  return graph;
}

inline std::vector<Tensor> inputs_of(const Boxes& boxes, float threshold,
                                     DType dtype = DType::f32) {
  std::vector<Tensor> inputs = {Tensor(dtype, {boxes.groups, boxes.n, 4}),
                                Tensor(DType::boolean, {boxes.groups, boxes.n}), Tensor(dtype, {})};
  for (size_t i = 0; i < boxes.numbers.size(); ++i)
    inputs[0].set(static_cast<int64_t>(i), boxes.numbers[i]);
  for (size_t i = 0; i < boxes.valid.size(); ++i)
    inputs[1].set(static_cast<int64_t>(i), static_cast<double>(boxes.valid[i]));
  inputs[2].set(0, threshold);
  return inputs;
}

inline Flags flags_of(const Tensor& tensor) {
  Flags flags;
  for (int64_t i = 0; i < tensor.numel(); ++i) flags.push_back(tensor.get(i) != 0);
  return flags;
}

// The first box whose flag is wrong; "" where there is none.
inline std::string difference_of(const Flags& flags, const Flags& right) {
  if (flags.size() != right.size()) return str(flags.size(), " flags of ", right.size());
  for (size_t i = 0; i < flags.size(); ++i)
    if (flags[i] != right[i]) return str("box ", i, " is ", flags[i], ", not ", right[i]);
  return "";
}

constexpr int64_t kLengths[] = {0, 1, 2, 31, 32, 33, 257, 3000};

class SuppressOnDevices : public ::testing::TestWithParam<std::string> {
 protected:
  // The difference of a run at numbers as sizes.
  std::string difference(const Boxes& boxes, bool center, float threshold,
                         const sched::ConfigSource* configs = nullptr,
                         DType dtype = DType::f32) const {
    backends::CompileOptions options;
    options.configs = configs;
    options.validate = true;
    const std::vector<Tensor> outputs =
        run_on_device(graph_of(boxes.groups, boxes.n, center, dtype), GetParam(),
                      inputs_of(boxes, threshold, dtype), options);
    return difference_of(flags_of(outputs[0]), kept(boxes, center, threshold));
  }
};

TEST_P(SuppressOnDevices, IsThePlainLoop) {
  OneOf third(3);
  for (const int64_t n : kLengths)
    for (const bool center : {false, true}) {
      if (!third.takes_next()) continue;
      EXPECT_EQ(difference(random_boxes(3, n, center, Specials::some, 2), center, 0.2F), "") << n;
    }
  EXPECT_EQ(difference(random_boxes(2, 3000, false, Specials::none, 1), false, 0.45F), "");
  EXPECT_EQ(difference(random_boxes(0, 7, false, Specials::none, 1), false, 0.45F), "");
}

TEST_P(SuppressOnDevices, DoesNotDependOnTheConfig) {
  struct Case {
    int64_t threads, items;
  };
  OneOf third(3);
  for (const auto& [threads, items] :
       {Case{32, 1}, {32, 4}, {64, 2}, {128, 1}, {256, 4}, {512, 1}, {1024, 1}})
    for (const int64_t n : {33, 1100}) {
      if (!third.takes_next()) continue;
      const RandomConfigs configs(1, {{"threads", threads}, {"items", items}});
      EXPECT_EQ(difference(random_boxes(2, n, false, Specials::some, 3), false, 0.3F, &configs), "")
          << n << " boxes, " << threads << " threads of " << items;
    }
}

// Nothing is excluded, all but the first are, and nothing is valid.
TEST_P(SuppressOnDevices, KeepsAllOrOneOrNone) {
  Boxes boxes = random_boxes(1, 1100, false, Specials::none, 4);
  std::ranges::fill(boxes.valid, 1);
  EXPECT_EQ(difference(boxes, false, 1), "");
  for (size_t i = 0; i < boxes.numbers.size(); ++i) boxes.numbers[i] = i % 4 < 2 ? 0 : 100;
  EXPECT_EQ(difference(boxes, false, 0.9F), "");
  std::ranges::fill(boxes.valid, 0);
  EXPECT_EQ(difference(boxes, false, 0.9F), "");
}

// Coordinates that all of them have.
TEST_P(SuppressOnDevices, TakesOtherFloats) {
  const Boxes boxes = random_boxes(2, 60, false, Specials::none, 6);
  for (const DType dtype : {DType::f16, DType::bf16, DType::f64})
    EXPECT_EQ(difference(boxes, false, 0.25F, nullptr, dtype), "") << name(dtype);
}

// Ops that make the operands are computed where they are read, and so are views.
TEST_P(SuppressOnDevices, JoinsWhatMakesItsOperands) {
  const Boxes boxes = random_boxes(2, 300, false, Specials::none, 8);
  ir::Graph graph;
  ir::Builder b(graph);
  ir::Value* corners = graph.add_input("corners", {DType::f32, {2, 4, 300}});
  ir::Value* scores = graph.add_input("scores", {DType::f32, {2, 300}});
  ir::Value* twice = b.mul(b.permute(corners, {0, 2, 1}), b.splat(DType::f32, {}, 2));
  ir::Value* valid = b.op("gt", {scores, b.splat(DType::f32, {}, 0.5)});
  graph.outputs = b.ops("suppress", {twice, valid, b.splat(DType::f32, {}, 0.45)});
  graph.output_names = {"keep"};
  std::vector<Tensor> inputs = {Tensor(DType::f32, {2, 4, 300}), Tensor(DType::f32, {2, 300})};
  for (int64_t i = 0; i < 2 * 300; ++i) {
    inputs[1].set(i, static_cast<double>(boxes.valid[static_cast<size_t>(i)]));
    for (int64_t k = 0; k < 4; ++k)
      inputs[0].set((i / 300 * 4 + k) * 300 + i % 300,
                    boxes.numbers[static_cast<size_t>(4 * i + k)] / 2);
  }
  const std::vector<Tensor> outputs = run_on_device(graph, GetParam(), inputs, {});
  EXPECT_EQ(difference_of(flags_of(outputs[0]), kept(boxes, false, 0.45F)), "");
  const backends::Scheduled scheduled = backends::schedule(graph, open_once(GetParam())->target());
  EXPECT_EQ(scheduled.regions.size(), 1u);
}

TEST_P(SuppressOnDevices, HoldsAtOpenSizes) {
  const ir::SymInt groups = ir::SymInt::symbol("G", 2), n = ir::SymInt::symbol("N", 300);
  for (const bool is_ranged : {false, true}) {
    backends::CompileOptions options;
    options.open_dims = {{"G", {}}, {"N", is_ranged ? ir::SizeRange{0, 4000, 1} : ir::SizeRange{}}};
    options.validate = true;
    const std::shared_ptr<runtime::Device> device = open_once(GetParam());
    const auto program = std::make_shared<const runtime::Program>(
        device, backends::compile(graph_of(groups, n, false), device->target(), options));
    for (const int64_t boxes_of_group : kLengths)
      for (const int64_t number : {0, 1, 3}) {
        const Boxes boxes = random_boxes(number, boxes_of_group, false, Specials::some, 7);
        runtime::Context context(
            program, nullptr,
            std::map<std::string, int64_t, std::less<>>{{"G", number}, {"N", boxes_of_group}});
        const std::vector<Tensor> outputs = context.run(inputs_of(boxes, 0.3F));
        EXPECT_EQ(difference_of(flags_of(outputs[0]), kept(boxes, false, 0.3F)), "")
            << number << " groups of " << boxes_of_group;
      }
  }
}

}  // namespace tcc::test::suppress
