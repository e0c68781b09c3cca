// Tuning files follow docs/tuning-file.schema.json, plan files docs/plan-file.schema.json: those
// that are written, and the hostile ones do not.
#include <yaml-cpp/yaml.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <regex>

#include "autotune/plan_records.h"
#include "autotune/record_file.h"
#include "support/error.h"
#include "support/file.h"
#include "tests/source_dir.h"
#include "tests/unit/records_fixture.h"

namespace tcc::autotune {
namespace {

using nlohmann::json;

// What of JSON Schema the file uses; anything else fails the test.
class Schema {
 public:
  explicit Schema(json root) : root_(std::move(root)) {}
  // "" when `node` is valid, else where and why.
  std::string violation(const YAML::Node& node) const { return check(root_, node, "$"); }

 private:
  std::string check(const json& schema, const YAML::Node& node, const std::string& at) const {
    for (const auto& [keyword, rule] : schema.items()) {
      std::string reason = apply(schema, keyword, rule, node, at);
      if (!reason.empty()) return reason;
    }
    return "";
  }

  std::string apply(const json& schema, const std::string& keyword, const json& rule,
                    const YAML::Node& node, const std::string& at) const {
    auto fail = [&] { return str(at, ": ", keyword, " ", rule.dump()); };
    if (keyword == "$schema" || keyword == "title" || keyword == "description" ||
        keyword == "$defs")
      return "";
    if (keyword == "$ref")
      return check(root_.at(json::json_pointer(rule.get<std::string>().substr(1))), node, at);
    if (keyword == "type") return has_type(node, rule) ? "" : fail();
    if (keyword == "const") return node.as<double>(NAN) == rule.get<double>() ? "" : fail();
    // Of what is no number, `type` speaks: NaN is in every range.
    if (keyword == "minimum") return node.as<double>(NAN) < rule.get<double>() ? fail() : "";
    if (keyword == "maximum") return node.as<double>(NAN) > rule.get<double>() ? fail() : "";
    if (keyword == "maxLength") return node.Scalar().size() <= rule ? "" : fail();
    if (keyword == "pattern")
      return std::regex_search(node.Scalar(), std::regex(rule.get<std::string>())) ? "" : fail();
    if (keyword == "minItems" || keyword == "minProperties")
      return node.size() >= rule ? "" : fail();
    if (keyword == "maxItems" || keyword == "maxProperties")
      return node.size() <= rule ? "" : fail();
    if (keyword == "propertyNames") {
      for (const auto& entry : node)
        if (auto reason = check(rule, entry.first, at); !reason.empty()) return reason;
      return "";
    }
    if (keyword == "required") {
      for (const json& key : rule)
        if (!node[key.get<std::string>()]) return fail();
      return "";
    }
    if (keyword == "items") {
      for (size_t i = 0; i < node.size(); ++i)
        if (auto reason = check(rule, node[i], str(at, "[", i, "]")); !reason.empty())
          return reason;
      return "";
    }
    if (keyword == "properties" || keyword == "additionalProperties")
      return members(schema, keyword == "properties", rule, node, at);
    return "a keyword that the test does not know: " + keyword;
  }

  std::string members(const json& schema, bool listed, const json& rule, const YAML::Node& node,
                      const std::string& at) const {
    for (const auto& entry : node) {
      std::string key = entry.first.Scalar(), place = at + "." + key;
      bool is_listed = schema.contains("properties") && schema["properties"].contains(key);
      if (is_listed != listed) continue;
      if (rule == false) return place + ": is not allowed";
      const json& of_member = listed ? rule.at(key) : rule;
      if (auto reason = check(of_member, entry.second, place); !reason.empty()) return reason;
    }
    return "";
  }

  // YAML's core schema: plain scalars that look like numbers are numbers.
  static bool has_type(const YAML::Node& node, const std::string& type) {
    if (type == "object") return node.IsMap();
    if (type == "array") return node.IsSequence();
    if (!node.IsScalar()) return false;
    bool quoted = node.Tag() == "!";
    static const std::regex integer("[-+]?[0-9]+"),
        real("[-+]?([0-9]+(\\.[0-9]*)?|\\.[0-9]+)([eE][-+]?[0-9]+)?");
    bool is_integer = !quoted && std::regex_match(node.Scalar(), integer);
    bool is_number = !quoted && std::regex_match(node.Scalar(), real);
    if (type == "integer") return is_integer;
    if (type == "number") return is_number;
    return !is_number;
  }

  json root_;
};

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
      {"tcc_tuning: 2", "tcc_tuning: 1"},
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
      {"tcc_plan: 1", "tcc_plan: 2"},     {"site: split_k", "site: split k"},
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
