// Whether YAML or JSON text follows a schema of docs/*.schema.json.
#pragma once

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>

#include "support/error.h"

namespace tcc::testing {

using nlohmann::json;

// A JSON Schema, as far as the files in docs/ use the language: another keyword is a violation.
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
    if (keyword == "type") return has_any_type(node, rule) ? "" : fail();
    if (keyword == "enum")
      return std::ranges::any_of(rule, [&](const json& word) { return word == node.Scalar(); })
                 ? ""
                 : fail();
    if (keyword == "const") return node.as<double>(NAN) == rule.get<double>() ? "" : fail();
    // `type` speaks of values that are no numbers: NaN is in every range.
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
      if (!node.IsMap()) return "";
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

  static bool has_any_type(const YAML::Node& node, const json& types) {
    if (types.is_string()) return has_type(node, types);
    return std::ranges::any_of(types, [&](const json& type) { return has_type(node, type); });
  }

  // YAML's core schema: plain scalars that look like numbers are numbers.
  static bool has_type(const YAML::Node& node, const std::string& type) {
    if (type == "object") return node.IsMap();
    if (type == "array") return node.IsSequence();
    if (type == "null") return node.IsNull();
    if (!node.IsScalar()) return false;
    bool quoted = node.Tag() == "!";
    static const std::regex integer("[-+]?[0-9]+"),
        real("[-+]?([0-9]+(\\.[0-9]*)?|\\.[0-9]+)([eE][-+]?[0-9]+)?");
    bool is_integer = !quoted && std::regex_match(node.Scalar(), integer);
    bool is_number = !quoted && std::regex_match(node.Scalar(), real);
    if (type == "integer") return is_integer;
    if (type == "number") return is_number;
    const bool is_bool = !quoted && (node.Scalar() == "true" || node.Scalar() == "false");
    return type == "boolean" ? is_bool : !is_number && !is_bool;
  }

  json root_;
};

}  // namespace tcc::testing
