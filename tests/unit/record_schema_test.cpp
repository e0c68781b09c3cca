// Tuning files follow docs/tuning-file.schema.json, plan files docs/plan-file.schema.json: those
// that are written, and the hostile ones do not.
#include <yaml-cpp/yaml.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "autotune/plan_records.h"
#include "autotune/record_file.h"
#include "support/error.h"
#include "support/file.h"
#include "tests/source_dir.h"
#include "tests/unit/json_schema.h"
#include "tests/unit/records_fixture.h"

namespace tcc::autotune {
namespace {

using nlohmann::json;
using testing::Schema;

Schema schema(const std::string& name = "tuning-file") {
  return Schema(json::parse(read_file(testing::source_dir() / "docs" / (name + ".schema.json"))));
}

// `good` with `from` replaced by `to`.
std::string changed(const std::string& good, const std::string& from, const std::string& to) {
  const size_t at = good.find(from);
  EXPECT_NE(at, std::string::npos) << from << "\n" << good;
  std::string text = good;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

TEST(RecordSchemaTest, WhatIsWrittenIsValid) {
  Record full = example_record("a", 1e-6), bare;
  bare.key = {"pointwise", 1, std::string(32, '1'), "cuda:sm_90a"};
  bare.best = {{"threads", 1}};
  bare.seconds = 1;
  const Record* records[] = {&full, &bare};
  std::string text = record_file_text(records);
  EXPECT_EQ(schema().violation(YAML::Load(text)), "") << text;
}

TEST(RecordSchemaTest, WhatTheReaderRefusesIsNot) {
  Record record = example_record("a", 1e-6);
  const Record* records[] = {&record};
  const std::string good = record_file_text(records);
  const std::pair<std::string, std::string> changes[] = {
      {"tcc_tuning: 3", "tcc_tuning: 2"},
      {"version: 1", "version: -1"},
      {"version: 1", "speed: 1"},
      {"region: \"0", "region: \"x"},
      {"date: \"2026", "date: \"x"},
      {"median: 1.0e-06", "median: 0"},
      {"config: {threads: 128, vector: 4}", "config: {}"},
      {"compute_units: 132", "compute_units: many"},
      {"extents: [8, 8]", "extents: 8"},
  };
  for (const auto& [from, to] : changes) {
    const std::string text = changed(good, from, to);
    EXPECT_NE(schema().violation(YAML::Load(text)), "") << from << " -> " << to;
    RecordStore store;
    int warnings = 0;
    read_record_text(text, "a.yaml", store, [&](const std::string&) { ++warnings; });
    EXPECT_GT(warnings, 0) << to;
  }
}

std::string plan_text() {
  PlanRecord full, bare;
  full.key = {"cuda:sm_90a", "split_k", std::string(32, 'a')};
  full.description = "matmul of \"24\" x 40";
  full.choice = 4;
  full.default_choice = 1;
  full.seconds = {{1, 2e-5}, {4, 1e-5}};
  full.measured_on = "NVIDIA H200";
  full.driver = "580.1";
  full.tcc = "0.1.0";
  full.date = "2026-11-21";
  bare.key = {"cuda:sm_90a", "fuse", std::string(32, 'b')};
  return plan_file_text({&full, &bare});
}

TEST(PlanSchemaTest, WhatIsWrittenIsValid) {
  EXPECT_EQ(schema("plan-file").violation(YAML::Load(plan_text())), "") << plan_text();
}

TEST(PlanSchemaTest, WhatTheReaderRefusesIsNot) {
  const std::pair<std::string, std::string> changes[] = {
      {"tcc_plan: 2", "tcc_plan: 1"},     {"site: split_k", "site: split k"},
      {"site: split_k", "kind: split_k"}, {"key: \"a", "key: \"x"},
      {"choice: 4", "choice: -4"},        {"choice: 4", "choice: 4.5"},
      {"{1: 2.0e-05", "{x: 2.0e-05"},     {"{1: 2.0e-05", "{-1: 2.0e-05"},
      {"{1: 2.0e-05", "{1: 0"},           {"date: \"2026", "date: \"x"},
  };
  for (const auto& [from, to] : changes) {
    const std::string text = changed(plan_text(), from, to);
    EXPECT_NE(schema("plan-file").violation(YAML::Load(text)), "") << from << " -> " << to;
    PlanStore store;
    int warnings = 0;
    read_plan_text(text, "a.plan.yaml", store, [&](const std::string&) { ++warnings; });
    EXPECT_GT(warnings, 0) << to;
  }
}

}  // namespace
}  // namespace tcc::autotune
