#include "tools/track/report_markdown.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "support/error.h"
#include "support/plural.h"
#include "tools/track/report_text.h"

namespace tcc::tools {
namespace {

constexpr size_t kMaxName = 160, kMaxReason = 240, kMaxCommand = 1000, kMaxNotes = 10;  // bytes

enum class Place { prose, code };

// Returns whether what follows could make of the sign at `at` a link, a mention, a reference to an
// issue or a picture; in code only links and addresses are made.
bool could_refer(std::string_view text, size_t at, Place place) {
  if (at + 1 >= text.size()) return false;
  const char sign = text[at], next = text[at + 1];
  if (text.substr(at).starts_with("://")) return true;
  if (sign == '.' && at >= 3 && (text[at - 1] | 0x20) == 'w') return true;  // www.
  const std::string_view signs = place == Place::code ? "@" : "@#!$%~&:";
  return signs.find(sign) != std::string_view::npos &&
         (std::isalnum(static_cast<unsigned char>(next)) || next == '_' || next == '"' ||
          static_cast<unsigned char>(next) >= 0x80);
}

// A sign that could mark up the text stands as a reference to its number, which marks up nothing. A
// word joiner keeps it from referring to anything.
std::string escaped(std::string_view text, size_t most, Place place = Place::prose) {
  constexpr std::string_view kPlain = " .,;()/-=+?%:";
  std::string result;
  const std::string clean = clean_text(text, most);
  for (size_t i = 0; i < clean.size(); ++i) {
    const char c = clean[i];
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80 || std::isalnum(byte) || kPlain.find(c) != std::string_view::npos)
      result += c;
    else if (byte < ' ' || byte == 0x7f)
      result += ' ';
    else
      result += str("&#", int{byte}, ";");
    if (could_refer(clean, i, place)) result += "&#8288;";
  }
  return result;
}

std::string code(std::string_view text, size_t most = kMaxName) {
  return text.empty() ? "" : "<code>" + escaped(text, most, Place::code) + "</code>";
}

struct Row {
  const ReportedCase* of = nullptr;
  const Quantity* quantity = nullptr;
  Standing standing = Standing::same;
};

bool has_changed(const Row& row) { return row.standing <= Standing::better; }

std::string verdict_cell(const Row& row) {
  const Quantity& quantity = *row.quantity;
  std::string cell = std::string(name(row.standing));
  if (has_changed(row)) cell = "**" + cell + "**";
  if (row.standing == Standing::over_budget)
    cell += " of " + escaped(value_text(quantity.budget, quantity.unit), kMaxName);
  if (!quantity.gates && has_changed(row)) cell += " (does not gate)";
  if (!quantity.reason.empty()) cell += ": " + escaped(quantity.reason, kMaxReason);
  return cell;
}

std::string line(const Row& row) {
  const Quantity& quantity = *row.quantity;
  return str("| ", code(row.of->name), " | ", escaped(quantity.name, kMaxName), " | ",
             escaped(value_text(quantity.base, quantity.unit), kMaxName), " | ",
             escaped(value_text(quantity.head, quantity.unit), kMaxName), " | ",
             change_text(ratio(quantity)), " | ",
             quantity.effect ? interval_text(*quantity.effect) : "-", " | ", verdict_cell(row),
             " |\n");
}

std::string table(const std::vector<Row>& rows, size_t most) {
  std::string text =
      "| case | quantity | base | head | change | 95 % interval | verdict |\n"
      "|:--|:--|--:|--:|--:|--:|:--|\n";
  for (size_t i = 0; i < rows.size(); ++i) {
    const std::string next = line(rows[i]);
    if (text.size() + next.size() > most)
      return text + str("\n", rows.size() - i, " more rows are left out of this text.\n");
    text += next;
  }
  return text;
}

double size_of_change(const Row& row) {
  const double value = std::abs(std::log(ratio(*row.quantity)));
  return std::isnan(value) ? 0 : value;
}

std::vector<Row> rows_of(const TrackReport& report) {
  std::vector<Row> rows;
  for (const ReportedCase& one : report.cases)
    for (const Quantity& quantity : one.quantities)
      rows.push_back({&one, &quantity, standing(quantity)});
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    if (a.standing != b.standing) return a.standing < b.standing;
    return has_changed(a) && size_of_change(a) > size_of_change(b);
  });
  return rows;
}

std::string folded(const std::string& heading, const std::string& text) {
  return "\n<details><summary>" + heading + "</summary>\n\n" + text + "\n</details>\n";
}

std::string side(const std::string& what, const TrackReport::Side& side) {
  if (side.label.empty()) return "";
  std::string text = str("- ", what, ": ", code(side.label));
  for (const auto& [before, words] :
       {std::pair(" version ", &side.version), std::pair(" commit ", &side.commit),
        std::pair(" of ", &side.date)})
    if (!words->empty()) text += before + code(*words);
  return text + "\n";
}

std::string how_it_was_made(const TrackReport& report) {
  std::string text = escaped(method(report), kMaxCommand) + "\n\n";
  text += side("base", report.base) + side("head", report.head);
  const auto fact = [&](const char* name, const std::string& value) {
    if (!value.empty()) text += str("- ", name, ": ", code(value, kMaxCommand), "\n");
  };
  fact("device", report.device);
  fact("target", report.target);
  fact("driver", report.driver);
  fact("date", report.date);
  fact("tcc", report.version + (report.commit.empty() ? "" : " " + report.commit));
  fact("command", report.command);
  return text;
}

const char* verdict_sign(const TrackReport& report) {
  if (!report.passes()) return "❌";
  return judges(report) ? "✅" : "⚪";
}

std::string one_report(const TrackReport& report, size_t most) {
  std::string text =
      str("### ", verdict_sign(report), " ", summary(report), "\n\n", code(title(report)), "\n\n");
  const size_t notes = std::min(report.notes.size(), kMaxNotes);
  for (size_t i = 0; i < notes; ++i)
    text += "> ⚠️ " + escaped(report.notes[i], kMaxReason) + "  \n";
  if (report.notes.size() > notes)
    text += str("> and ", report.notes.size() - notes, " more notes  \n");
  if (notes > 0) text += "\n";

  std::vector<Row> changed, others, not_judged;
  size_t counts = 0;
  for (const Row& row : rows_of(report)) {
    if (has_changed(row))
      changed.push_back(row);
    else if (row.quantity->effect || row.standing == Standing::unmeasurable)
      others.push_back(row);
    else if (row.standing == Standing::not_judged)
      not_judged.push_back(row);
    else
      ++counts;
  }
  const std::string tail = folded("How to read this", how_it_was_made(report));
  const auto left = [&] {
    const size_t used = text.size() + tail.size() + 500;
    return most > used ? most - used : 0;
  };
  if (!changed.empty()) text += table(changed, left());
  if (counts > 0)
    text += str("\n", counts, counts == 1 ? " more quantity is" : " more quantities are",
                " as before.\n");
  if (!others.empty())
    text += folded(
        str(others.size(), others.size() == 1 ? " measured quantity" : " measured quantities",
            " without a change"),
        table(others, left()));
  if (!not_judged.empty())
    text += folded(counted(not_judged.size(), "quantity was", "quantities were") + " not judged",
                   table(not_judged, left()));
  return text + tail;
}

}  // namespace

std::string report_markdown(std::span<const TrackReport> reports, size_t most) {
  std::string text = "<!-- tcc-track -->\n";
  const size_t share = (most - text.size()) / std::max<size_t>(reports.size(), 1);
  for (const TrackReport& report : reports) text += one_report(report, share);
  return text;
}

}  // namespace tcc::tools
