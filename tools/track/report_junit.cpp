#include "tools/track/report_junit.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "support/error.h"
#include "tools/track/report_text.h"

namespace tcc::tools {
namespace {

constexpr size_t kLongestJunitText = 4000;  // bytes

// XML 1.0 has no way to write most control characters, U+FFFE and U+FFFF.
std::string xml(std::string_view text, size_t most = kLongestJunitText) {
  std::string result;
  const std::string clean = clean_text(text, most);
  for (size_t i = 0; i < clean.size(); ++i) {
    const char c = clean[i];
    if (c == '&')
      result += "&amp;";
    else if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else if (c == '"')
      result += "&quot;";
    else if (c == '\n' || c == '\t')
      result += str("&#", int{c}, ";");
    else if (static_cast<unsigned char>(c) < ' ')
      result += "\xef\xbf\xbd";
    else if (clean.compare(i, 2, "\xef\xbf") == 0 && i + 2 < clean.size() &&
             static_cast<unsigned char>(clean[i + 2]) >= 0xbe)
      result += "\xef\xbf\xbd", i += 2;
    else
      result += c;
  }
  return result;
}

std::string attribute(const char* name, std::string_view value) {
  return value.empty() ? "" : str(" ", name, "=\"", xml(value), "\"");
}

struct Counts {
  size_t tests = 0, failures = 0, skipped = 0;
};

bool is_unmeasurable(const Quantity& quantity) {
  return quantity.gates && quantity.verdict == Quantity::Verdict::unmeasurable;
}

// "time: worse, 12.33 us -> 12.59 us, +2.14 % (+2.03 % .. +2.25 %)"
std::string line(const Quantity& quantity) {
  std::string text = str(quantity.name, ": ", name(standing(quantity)));
  if (quantity.base)
    text += str(", ", value_text(quantity.base, quantity.unit), " -> ",
                value_text(quantity.head, quantity.unit));
  else if (quantity.head)
    text += ", " + value_text(quantity.head, quantity.unit);
  if (std::isfinite(ratio(quantity))) text += ", " + change_text(ratio(quantity));
  if (quantity.effect) text += " (" + interval_text(*quantity.effect) + ")";
  if (quantity.budget) text += ", budget " + value_text(quantity.budget, quantity.unit);
  if (quantity.visible && std::isfinite(*quantity.visible))
    text += ", would see " + change_text(1 + *quantity.visible).substr(1);
  if (!quantity.gates) text += ", does not gate";
  return quantity.reason.empty() ? text : text + ": " + quantity.reason;
}

std::string lines(const ReportedCase& one, bool (*chosen)(const Quantity&)) {
  std::string text;
  for (const Quantity& quantity : one.quantities)
    if (chosen(quantity)) text += (text.empty() ? "" : "\n") + line(quantity);
  return text;
}

std::string test(const ReportedCase& one, Counts& counts) {
  const std::string suite = std::filesystem::path(one.file).stem().string();
  std::string text = str("    <testcase", attribute("classname", suite.empty() ? "cases" : suite),
                         " name=\"", xml(one.name), "\">\n");
  ++counts.tests;
  const std::string failed = lines(one, is_breach), unmeasurable = lines(one, is_unmeasurable);
  if (!failed.empty()) {
    ++counts.failures;
    text += str("      <failure", attribute("type", name(standing(one))),
                attribute("message", failed), "/>\n");
  } else if (!unmeasurable.empty()) {
    ++counts.skipped;
    text += str("      <skipped", attribute("message", unmeasurable), "/>\n");
  } else if (standing(one) == Standing::not_judged) {
    ++counts.skipped;
    text += str("      <skipped", attribute("message", "not judged"), "/>\n");
  }
  const std::string all = lines(one, [](const Quantity&) { return true; });
  std::string place = one.file;
  if (!place.empty() && one.line > 0) place += str(":", one.line);
  if (!place.empty()) place += "\n";
  return text + "      <system-out>" + xml(place + all, 16 * kLongestJunitText) +
         "</system-out>\n    </testcase>\n";
}

std::string properties(const TrackReport& report) {
  std::string text;
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty())
      text += str("      <property name=\"", name, "\" value=\"", xml(value), "\"/>\n");
  };
  add("device", report.description);
  add("target", report.target);
  add("driver", report.driver);
  add("base", report.base.label);
  add("base commit", report.base.commit);
  add("head", report.head.label);
  add("head commit", report.head.commit);
  add("command", report.command);
  add("tcc", report.version);
  add("method", method(report));
  for (const std::string& note : report.notes) add("note", note);
  return text.empty() ? "" : "    <properties>\n" + text + "    </properties>\n";
}

}  // namespace

std::string report_junit(std::span<const TrackReport> reports) {
  Counts all;
  std::string suites;
  for (const TrackReport& report : reports) {
    Counts counts;
    std::string tests;
    for (const ReportedCase& one : report.cases) tests += test(one, counts);
    char seconds[32] = "0";
    if (report.seconds > 0 && report.seconds < 1e6)
      std::snprintf(seconds, sizeof seconds, "%.3f", report.seconds);
    suites += str("  <testsuite name=\"", xml(title(report)), "\" tests=\"", counts.tests,
                  "\" failures=\"", counts.failures, "\" errors=\"0\" skipped=\"", counts.skipped,
                  "\" time=\"", seconds, "\"", attribute("timestamp", report.date), ">\n",
                  properties(report), tests, "  </testsuite>\n");
    all.tests += counts.tests;
    all.failures += counts.failures;
  }
  return str("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"tcc-track\" tests=\"",
             all.tests, "\" failures=\"", all.failures, "\" errors=\"0\">\n", suites,
             "</testsuites>\n");
}

}  // namespace tcc::tools
