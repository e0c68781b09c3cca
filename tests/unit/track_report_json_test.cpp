// Reports of tcc-track as JSON: what is written follows its schema and reads back; hostile texts
// are refused.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "support/file.h"
#include "tests/expect_error.h"
#include "tests/source_dir.h"
#include "tests/unit/json_schema.h"
#include "tests/unit/track_report_fixture.h"
#include "tools/track/report_json.h"

namespace tcc::tools {
namespace {

using Style = JsonWriter::Style;

std::string violation(const std::string& text) {
  const testing::Schema schema(nlohmann::json::parse(
      read_file(testing::source_dir() / "docs" / "track-report.schema.json")));
  return schema.violation(YAML::Load(text));
}

TEST(TrackReportJsonTest, WhatIsWrittenFollowsTheSchemaAndReadsBack) {
  for (const TrackReport& report :
       {testing::sample_report(12, 20), TrackReport{}, testing::hostile_report()}) {
    const std::string text = report_json(report, Style::indented);
    EXPECT_EQ(violation(text), "");
    const TrackReport back = parse_report(text, "a.json");
    EXPECT_EQ(report_json(back, Style::indented), text);
  }
}

TEST(TrackReportJsonTest, NothingIsLost) {
  TrackReport before = testing::sample_report(13, 30);
  before.cases[6].histories[0].breaks = {{12, "the work changed"}};
  EXPECT_EQ(violation(report_json(before, Style::compact)), "");
  const TrackReport after = parse_report(report_json(before, Style::compact), "a.json");
  ASSERT_EQ(after.cases.size(), 13u);
  EXPECT_EQ(after.head.commit, before.head.commit);
  EXPECT_EQ(after.notes, before.notes);
  EXPECT_FALSE(after.passes());
  const ReportedCase &a = before.cases[6], &b = after.cases[6];
  EXPECT_EQ(b.line, a.line);
  ASSERT_EQ(b.quantities.size(), a.quantities.size());
  EXPECT_EQ(b.quantities[0].effect->high, a.quantities[0].effect->high);
  EXPECT_EQ(b.quantities[0].head_samples, a.quantities[0].head_samples);
  EXPECT_EQ(b.quantities[1].verdict, Quantity::Verdict::worse);
  EXPECT_FALSE(b.quantities[4].gates);
  EXPECT_FALSE(b.quantities[1].effect);
  ASSERT_EQ(b.head_kernels.size(), a.head_kernels.size());
  EXPECT_EQ(b.head_kernels[0].config, a.head_kernels[0].config);
  EXPECT_EQ(b.head_kernels[0].layers, a.head_kernels[0].layers);
  ASSERT_EQ(b.histories[0].points.size(), 30u);
  EXPECT_EQ(b.histories[0].points[17].commit, a.histories[0].points[17].commit);
  EXPECT_EQ(b.histories[0].points[17].low, a.histories[0].points[17].low);
  ASSERT_EQ(b.histories[0].changes.size(), 1u);
  EXPECT_EQ(b.histories[0].changes[0].first, 20u);
  ASSERT_EQ(b.histories[0].breaks.size(), 1u);
  EXPECT_EQ(b.histories[0].breaks[0].point, 12u);
  EXPECT_EQ(b.histories[0].breaks[0].why, "the work changed");
}

TEST(TrackReportJsonTest, NanAndInfinityAreNullAndComeBack) {
  const std::string text = report_json(testing::hostile_report(), Style::compact);
  EXPECT_EQ(text.find('<'), std::string::npos);
  EXPECT_EQ(violation(text), "");
  const TrackReport back = parse_report(text, "a.json");
  EXPECT_TRUE(std::isnan(back.cases[0].quantities[0].effect->ratio));
  EXPECT_TRUE(std::isinf(back.cases[0].quantities[0].effect->high));
  EXPECT_TRUE(std::isnan(back.cases[0].histories[0].points[0].value));
  EXPECT_TRUE(std::isnan(*back.cases[0].base_kernels[0].seconds));
  EXPECT_EQ(back.cases[0].base_kernels[0].layers.size(), 2u);
  EXPECT_EQ(report_json(back, Style::compact), text);
}

// Each run is written once, however many histories speak of it.
TEST(TrackReportJsonTest, RunsAreShared) {
  const auto json =
      nlohmann::json::parse(report_json(testing::sample_report(10, 300), Style::compact));
  EXPECT_EQ(json["runs"].size(), 300u);
  EXPECT_LT(json.dump().size(), 700'000u);
}

// `good` with `from` replaced by `to`.
std::string changed(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

TEST(TrackReportJsonTest, WhatIsNoReportIsRefused) {
  const std::string good = report_json(testing::sample_report(2, 9), Style::compact);
  const struct {
    const char *from, *to, *message;
    bool valid;  // by the schema, which cannot say everything
  } changes[] = {
      {"\"tcc_track\":1", "\"tcc_track\":2", "a.json: tcc_track: schema 2 is not known", false},
      {"\"kind\":\"report\"", "\"kind\":\"sweep\"", "kind: must be report", false},
      {"\"kind\":\"report\"", "\"kin\":\"report\"", "lacks \"kind\"", false},
      {"\"device\":\"cuda:0\"", "\"device\":0", "a.json: device: must be a text", false},
      {"\"power\":0.95", "\"power\":null", "power: must be a number", false},
      {"\"power\":0.95", "\"power\":1e999", "is not JSON", true},
      {"\"over_budget\":false", "\"over_budget\":0", "cases[0].quantities[0].over_budget", false},
      {"\"verdict\":\"same\"", "\"verdict\":\"slower\"", "quantities[0].verdict: must be", false},
      {"\"passes\":false", "\"passes\":true", "passes: does not follow", true},
      {"\"blocks\":6", "\"blocks\":-6", "effect.blocks: is out of range", false},
      {"\"blocks\":6", "\"blocks\":6.5", "effect.blocks: must be a whole number", false},
      {"\"line\":12", "\"line\":99999999999", "cases[0].line: is out of range", true},
      {"\"line\":12", "\"line\":12,\"lines\":3", "unknown member \"lines\"", false},
      {"\"points\":[[0,", "\"points\":[[9,", "points[0][0]: there is no run 9", true},
      {"\"points\":[[0,", "\"points\":[[", "points[0]: must be [run, value, low, high]", false},
      {"\"first\":6,\"last\":6", "\"first\":6,\"last\":9", "must lie within the 9 points", true},
      {"\"first\":6,\"last\":6", "\"first\":6,\"last\":5", "must lie within the 9 points", true},
      {"\"kind\":\"step\"", "\"kind\":\"leap\"", "changes[0].kind: must be step or drift", false},
      {"\"cases\":[", "\"cases\":[[],", "cases[0]: must be an object", false},
      {"\"notes\":[", "\"notes\":[{},", "notes[0]: must be a text", false},
  };
  for (const auto& [from, to, message, valid] : changes) {
    const std::string text = changed(good, from, to);
    EXPECT_ERROR(parse_report(text, "a.json"), message);
    if (!valid) { EXPECT_NE(violation(text), "") << to; }
  }
}

TEST(TrackReportJsonTest, HostileTextsAreRefused) {
  const auto refused = [](const std::string& text, const std::string& message) {
    EXPECT_ERROR(parse_report(text, "a.json"), message);
  };
  refused("", "a.json:1: is not JSON");
  refused("{\n\"a\":\n?", "a.json:3: is not JSON");
  refused("[]", "a.json: the document: is no report of tcc-track");
  refused("{}", "it lacks \"tcc_track\"");
  EXPECT_TRUE(parse_reports("[]", "a.json").empty());
  EXPECT_ERROR(parse_reports("[3]", "a.json"), "a.json: [0]: is no report of tcc-track");
  refused("{\"a\":\"\xff\"}", "a.json:1: is not JSON");
  refused(std::string(1'000'000, '['), "nested more than 16 deep");
  const std::string good = report_json(testing::sample_report(1, 0), Style::compact);
  refused(changed(good, "cuda:0", std::string(100'000, 'x')), "device: is longer than 65536 bytes");
  std::string many = "\"notes\":[";
  for (int i = 0; i < 100'001; ++i) many += "\"\",";
  refused(changed(good, "\"notes\":[", many), "notes: has more than 100000 items");
  for (size_t size = 0; size < good.size(); size += 97)  // cut anywhere
    EXPECT_THROW(parse_report(std::string_view(good).substr(0, size), "a.json"), Error);
}

}  // namespace
}  // namespace tcc::tools
