#include "tools/track/report_sarif.h"

#include <cctype>
#include <cmath>
#include <map>

#include "support/error.h"
#include "support/hash.h"
#include "support/json_writer.h"
#include "tools/track/report_text.h"

namespace tcc::tools {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLongestSarifText = 1000;  // bytes
constexpr size_t kMaxResults = 5000;        // of a run: what GitHub shows

// "slower", "more-launches", "failed", "over-budget".
std::string sarif_rule(const Quantity& quantity, Standing standing) {
  if (standing == Standing::failed) return "failed";
  if (standing == Standing::over_budget) return "over-budget";
  if (quantity.name == "time") return "slower";
  std::string id = "more-";
  for (const char c : clean_text(quantity.name, 60))
    id += std::isalnum(static_cast<unsigned char>(c)) ? c : '-';
  return id;
}

std::string words_of(const std::string& rule) {
  if (rule == "failed") return "A case did not run, or its result is wrong";
  if (rule == "over-budget") return "A quantity is over its budget";
  if (rule == "slower") return "A case became slower";
  std::string name = rule.substr(rule.find('-') + 1);
  for (char& c : name)
    if (c == '-') c = ' ';
  return "A case has more " + name;
}

struct Result {
  const ReportedCase* of = nullptr;
  const Quantity* quantity = nullptr;
  std::string rule, message;
};

// In a message, text in brackets before parentheses is a link.
std::string without_links(std::string text) {
  for (size_t at = 0; (at = text.find("](", at)) != std::string::npos;) text.insert(at + 1, " ");
  return text;
}

std::string message(const Result& result) {
  const Quantity& quantity = *result.quantity;
  std::string text = str(clean_text(result.of->name, kLongestSarifText), ": ",
                         clean_text(quantity.name, kLongestSarifText));
  if (quantity.base || quantity.head)
    text += str(" ", value_text(quantity.base, quantity.unit), " -> ",
                value_text(quantity.head, quantity.unit));
  if (std::isfinite(ratio(quantity))) text += str(", ", change_text(ratio(quantity)));
  if (quantity.effect) text += str(" (95 % interval ", interval_text(*quantity.effect), ")");
  if (result.rule == "over-budget")
    text += str(", budget ", value_text(quantity.budget, quantity.unit));
  if (!quantity.reason.empty()) text += ": " + clean_text(quantity.reason, kLongestSarifText);
  return without_links(text + ".");
}

std::vector<Result> results_of(const TrackReport& report) {
  std::vector<Result> results;
  const auto add = [&](const ReportedCase& one, const Quantity& quantity, Standing standing) {
    Result result{&one, &quantity, sarif_rule(quantity, standing), ""};
    result.message = message(result);
    results.push_back(std::move(result));
  };
  for (const ReportedCase& one : report.cases)
    for (const Quantity& quantity : one.quantities) {
      const Standing first = standing(quantity);
      if (first > Standing::worse) continue;
      add(one, quantity, first);
      if (first == Standing::over_budget && quantity.verdict == Quantity::Verdict::worse)
        add(one, quantity, Standing::worse);
    }
  return results;
}

void write_text(JsonWriter& out, std::string_view key, const std::string& text) {
  out.key(key).begin_object().member("text", text).end_object();
}

// The command line that tells more, as far as the report knows it.
std::string help(const TrackReport& report) {
  const bool compared = report.command.find("compare ") != std::string::npos;
  return str("Which kernels of the case changed: tcc-track explain CASE ",
             compared ? "--base BASE --head HEAD SUITE" : "--store STORE",
             ". This report is of: ", without_links(clean_text(report.command, kLongestSarifText)));
}

void write_rules(JsonWriter& out, const std::map<std::string, size_t>& rules,
                 const TrackReport& report) {
  out.key("rules").begin_array();
  for (const auto& [id, ignored] : rules) {
    out.begin_object().member("id", id).member("name", id);
    write_text(out, "shortDescription", words_of(id));
    write_text(out, "fullDescription", words_of(id) + " than before, or than it may be.");
    write_text(out, "help", help(report));
    out.key("defaultConfiguration").begin_object().member("level", "error").end_object();
    out.end_object();
  }
  out.end_array();
}

void write_location(JsonWriter& out, const ReportedCase& one) {
  out.key("locations").begin_array();
  if (!one.file.empty()) {
    const std::string uri = repository_uri(one.file);
    out.begin_object().key("physicalLocation").begin_object();
    out.key("artifactLocation").begin_object().member("uri", uri);
    if (!uri.starts_with("file:")) out.member("uriBaseId", "%SRCROOT%");
    out.end_object().key("region").begin_object();
    out.member("startLine", std::max(one.line, 1)).end_object();
    out.end_object().end_object();
  }
  out.end_array();
}

void write_result(JsonWriter& out, const Result& result, size_t rule) {
  const std::string identity =
      Hasher().add(result.of->name).add(result.quantity->name).add(result.rule).hex();
  out.begin_object().member("ruleId", result.rule).member("ruleIndex", rule);
  out.member("level", result.quantity->gates ? "error" : "warning");
  write_text(out, "message", result.message);
  write_location(out, *result.of);
  // A moved line is the same result.
  out.key("partialFingerprints")
      .begin_object()
      .member("tccTrackCase/v1", identity)
      .member("primaryLocationLineHash", identity + ":1")
      .end_object();
  out.end_object();
}

void write_run(JsonWriter& out, const TrackReport& report) {
  std::vector<Result> results = results_of(report);
  const size_t found = results.size();
  if (found > kMaxResults) results.resize(kMaxResults);
  std::map<std::string, size_t> rules;
  for (const Result& result : results) rules[result.rule] = 0;
  size_t number = 0;
  for (auto& [id, index] : rules) index = number++;

  out.begin_object().key("tool").begin_object().key("driver").begin_object();
  out.member("name", "tcc-track");
  if (!report.version.empty()) out.member("version", report.version);
  write_rules(out, rules, report);
  out.end_object().end_object();
  // One category for each device, so that runs on several do not close each other's results.
  out.key("automationDetails")
      .begin_object()
      .member("id", str("tcc-track/", report.target, "/"))
      .end_object();
  out.key("invocations").begin_array().begin_object().member("executionSuccessful", true);
  if (!report.command.empty()) out.member("commandLine", report.command);
  out.key("toolExecutionNotifications").begin_array();
  const auto notify = [&](const std::string& text) {
    out.begin_object().member("level", "note");
    write_text(out, "message", without_links(clean_text(text, kLongestSarifText)));
    out.end_object();
  };
  notify(summary(report) + ". " + method(report));
  for (const std::string& note : report.notes) notify(note);
  if (found > kMaxResults) notify(str(found - kMaxResults, " more results are left out"));
  out.end_array().end_object().end_array();
  out.key("results").begin_array();
  for (const Result& result : results) write_result(out, result, rules.at(result.rule));
  out.end_array().end_object();
}

std::string percent_encoded(const std::string& path) {
  constexpr std::string_view kPlain = "-._~/";
  constexpr char digits[] = "0123456789ABCDEF";
  std::string uri;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80 && (std::isalnum(byte) || kPlain.find(c) != std::string_view::npos))
      uri += c;
    else
      uri += {'%', digits[byte >> 4], digits[byte & 15]};
  }
  return uri;
}

}  // namespace

std::string repository_uri(const fs::path& file) {
  std::error_code ignored;
  const fs::path whole = fs::absolute(file, ignored).lexically_normal();
  for (fs::path folder = whole.parent_path(); folder != folder.root_path() && !folder.empty();
       folder = folder.parent_path())
    if (fs::exists(folder / ".git", ignored))
      return percent_encoded(whole.lexically_relative(folder).generic_string());
  const std::string path = percent_encoded(file.lexically_normal().generic_string());
  return file.is_absolute() ? "file://" + path : path;
}

std::string report_sarif(std::span<const TrackReport> reports) {
  JsonWriter out(JsonWriter::Style::indented);
  out.begin_object();
  out.member(
      "$schema",
      "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json");
  out.member("version", "2.1.0").key("runs").begin_array();
  for (const TrackReport& report : reports) write_run(out, report);
  out.end_array().end_object();
  return out.text() + "\n";
}

}  // namespace tcc::tools
