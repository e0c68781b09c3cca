// The decode loop of examples/: a cache as state, against a graph without states that computes the
// whole sequence anew.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backends/compile/process.h"
#include "tcc/tcc.hpp"
#include "tests/run_command.h"
#include "tests/unit/public_api_fixture.h"

namespace tcc {
namespace {

constexpr std::int64_t kPrompt[] = {72, 101, 108, 108, 111};
constexpr std::int64_t kVocabulary = 256;

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// The text with the part from `begin` up to `end` replaced.
std::string replaced(const std::string& text, const std::string& begin, const std::string& end,
                     const std::string& by) {
  const std::size_t from = text.find(begin), to = text.find(end, from);
  EXPECT_TRUE(from != std::string::npos && to != std::string::npos) << begin;
  return text.substr(0, from) + by + text.substr(to);
}

// The same weights without a cache: all N tokens attend to one another, causally.
Graph whole_sequence() {
  std::string text = read(testing::source_dir() / "examples/decode.yaml");
  text = replaced(text, "states:\n", "weights:\n", "");
  text = replaced(text, "      - {out: ka, op: extend", "      - {out: qb,", "");
  text = replaced(text, "  - {out: places, op: iota", "  - {out: pairs, op: iota",
                  "  - {out: place, op: iota, size: [N], dim: 0, dtype: i64}\n"
                  "  - {out: place.column, op: reshape, in: [place], shape: [N, 1]}\n");
  text = replaced(text, "  - {out: last, op: slice", "  - {out: logits",
                  "  - {out: n, op: rms_norm, in: [h1, norm.weight], normalized_shape: [64], "
                  "eps: 1.0e-5}\n");
  text = replaced(text, "  - {out: next, op: argmax", "outputs:", "");
  text = replaced(text, "outputs: [next, logits]", "\n", "outputs: [logits]");
  const auto every = [&](const std::string& from, const std::string& to) {
    std::size_t count = 0;
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
      text.replace(at, from.size(), to), ++count;
    EXPECT_GT(count, 0u) << from;
  };
  every("keys, values, row, is_new, is_seen, cos", "cos");
  every("keys.0, values.0, row, is_new, is_seen, ", "");
  every("keys.1, values.1, row, is_new, is_seen, ", "");
  every("in: [ka]", "in: [kr]");
  every("in: [va]", "in: [vt]");
  every("[qb, kb, vb, is_seen], ", "[qb, kb, vb], is_causal: true, ");
  return Graph::from_yaml(text);
}

// Logits of every place of the tokens.
std::vector<float> whole_logits(const std::vector<std::int64_t>& tokens) {
  const auto size = static_cast<std::int64_t>(tokens.size());
  const std::vector<HostTensor> input = {HostTensor::of<std::int64_t>({size}, tokens)};
  HostTensor logits = run_reference(whole_sequence(), input, {.dims = {{"N", size}}}).at(0);
  return {logits.as<float>().begin(), logits.as<float>().end()};
}

// The token is the reference's, or as good within rounding.
void expect_best(const float* logits, std::int64_t token, std::size_t place) {
  ASSERT_TRUE(token >= 0 && token < kVocabulary) << token;
  const float best = *std::max_element(logits, logits + kVocabulary);
  EXPECT_NEAR(logits[token], best, 1e-3) << "token " << token << " of place " << place;
}

TEST(Decoding, EachStepIsTheWholeSequenceComputedAnew) {
  if (!testing::has_vulkan()) GTEST_SKIP() << "no Vulkan device";
  const Graph graph = Graph::load(testing::source_dir() / "examples/decode.yaml");
  const CompiledGraph step = compile(graph, "vulkan:0", {.dims = {{"T", 48}}});
  Context context(step);
  std::vector<std::int64_t> tokens(std::begin(kPrompt), std::end(kPrompt));
  std::vector<std::vector<float>> logits;
  std::vector<std::int64_t> best;
  while (logits.size() < 48) {
    if (logits.size() == tokens.size()) tokens.push_back(best.back());
    std::vector<HostTensor> outputs =
        context.run({{HostTensor::of<std::int64_t>({1}, {tokens[logits.size()]})}});
    best.push_back(outputs.at(0).as<std::int64_t>()[0]);
    logits.emplace_back(outputs.at(1).as<float>().begin(), outputs.at(1).as<float>().end());
  }
  ASSERT_EQ(tokens.size(), 48u);
  const std::vector<float> expected = whole_logits(tokens);
  std::vector<std::int64_t> distinct = best;
  std::sort(distinct.begin(), distinct.end());
  EXPECT_GT(std::unique(distinct.begin(), distinct.end()) - distinct.begin(), 5)
      << "the model says one thing";
  for (std::size_t place = 0; place < tokens.size(); ++place) {
    const float* row = expected.data() + place * kVocabulary;
    for (std::size_t i = 0; i < kVocabulary; ++i)
      ASSERT_NEAR(logits[place][i], row[i], 1e-3) << "token " << i << " of place " << place;
    expect_best(row, best[place], place);
  }
  EXPECT_EQ(context.state("position").as<std::int64_t>()[0], 48);
}

TEST(Decoding, TheExampleGivesTheGreedyTokens) {
  if (!std::filesystem::exists(testing::program("decode"))) GTEST_SKIP() << "no examples";
  if (!testing::has_vulkan()) GTEST_SKIP() << "no Vulkan device";
  const std::string command = testing::program("decode").string() + " vulkan:0 20 " +
                              (testing::source_dir() / "examples/decode.yaml").string();
  const testing::Outcome outcome = testing::run_command(command + " 2>&1");
  ASSERT_EQ(outcome.code, 0) << outcome.text;
  std::vector<std::int64_t> tokens(std::begin(kPrompt), std::end(kPrompt));
  std::istringstream words(outcome.text);
  for (std::int64_t token = 0; words >> token;) tokens.push_back(token);
  ASSERT_EQ(tokens.size(), std::size(kPrompt) + 20) << outcome.text;
  const std::vector<float> expected = whole_logits(tokens);
  for (std::size_t at = std::size(kPrompt); at < tokens.size(); ++at)
    expect_best(expected.data() + (at - 1) * kVocabulary, tokens[at], at);
}

// A model of one sequence, without a dim for a batch, whose most probable token is the sum of those
// so far.
TEST(Decoding, OfAModelWhosePastIsAnInput) {
  if (!std::filesystem::exists(testing::program("decode_onnx"))) GTEST_SKIP() << "no examples";
  if (!testing::has_vulkan()) GTEST_SKIP() << "no Vulkan device";
  const backends::TemporaryFolder folder;
  std::ofstream(folder.path() / "sums.yaml")
      << "tcc: 1\ndims: {past_sequence_length: 0}\n"
         "inputs:\n  input_ids: {dtype: i64, shape: [1, 1]}\n"
         "  past_key_values.0.key: {dtype: f32, shape: [1, past_sequence_length]}\n"
         "nodes:\n  - {out: row, op: to, in: [input_ids], dtype: f32}\n"
         "  - {out: present.0.key, op: cat, in: [past_key_values.0.key, row], dim: 1}\n"
         "  - {out: sum, op: sum, in: [present.0.key]}\n"
         "  - {out: tokens, op: iota, size: [32], dtype: f32}\n"
         "  - {out: apart, op: sub, in: [tokens, sum]}\n"
         "  - {out: far, op: abs, in: [apart]}\n"
         "  - {out: logits, op: neg, in: [far]}\noutputs: [logits, present.0.key]\n";
  std::ofstream(folder.path() / "tokens.txt") << "1 2 3 10 4\n";
  const testing::Outcome outcome = testing::run_command(
      testing::program("decode_onnx").string() + " " + (folder.path() / "sums.yaml").string() +
      " " + (folder.path() / "tokens.txt").string() + " vulkan:0 2>/dev/null");
  EXPECT_EQ(outcome.code, 0) << outcome.text;
  EXPECT_EQ(outcome.text, "1\n3\n6\n16\n20\n");
}

}  // namespace
}  // namespace tcc
