#include "tools/tune/plan_table.h"

#include <cstdio>
#include <vector>

#include "support/error.h"
#include "support/plural.h"
#include "tools/program.h"

namespace tcc::tools {
namespace {

// "1 = 30.0 us, 2 = 20.1 us, 4 failed, 8 not measured: out of budget"
std::string alternatives_text(const autotune::PlanComparison& comparison) {
  std::string text;
  for (const autotune::PlanAlternative& alternative : comparison.alternatives) {
    text += str(text.empty() ? "" : ", ", alternative.choice);
    text += alternative.failure.empty() ? " = " + format_seconds(alternative.seconds)
            : alternative.out_of_budget ? " " + alternative.failure
                                        : " failed";
  }
  return text;
}

// "1 (default; 2 is faster within noise)", "1 (default; undecided)"
std::string choice_text(const autotune::PlanComparison& comparison) {
  const autotune::PlanAlternative *chosen = nullptr, *fastest = nullptr;
  for (const autotune::PlanAlternative& alternative : comparison.alternatives) {
    if (!alternative.failure.empty()) continue;
    if (alternative.choice == comparison.choice) chosen = &alternative;
    if (!fastest || alternative.seconds < fastest->seconds) fastest = &alternative;
  }
  std::string note = comparison.choice == comparison.site.default_choice ? "default" : "";
  if (comparison.choice == comparison.today && note.empty()) note = "as today";
  if (chosen && fastest->seconds < chosen->seconds)
    note += str(note.empty() ? "" : "; ", fastest->choice, " is faster within noise");
  if (!comparison.is_decided) note += note.empty() ? "undecided" : "; undecided";
  return note.empty() ? std::to_string(comparison.choice) : str(comparison.choice, " (", note, ")");
}

}  // namespace

std::string comparison_text(const autotune::PlanComparison& comparison) {
  return str(comparison.site.kind, " ", comparison.site.description, ": ",
             alternatives_text(comparison), " -> ", choice_text(comparison), "\n");
}

std::string plan_table(const autotune::PlanSearchResult& result) {
  std::string text;
  if (!result.comparisons.empty()) {
    std::vector<std::vector<std::string>> rows;
    for (const autotune::PlanComparison& comparison : result.comparisons)
      rows.push_back({comparison.site.kind, comparison.site.description,
                      alternatives_text(comparison), std::to_string(comparison.today),
                      choice_text(comparison)});
    text = format_table({"choice", "where", "alternatives", "today", "chosen"}, rows);
  }
  const std::string choices = counted(result.choices, "choice");
  text += result.compared < result.choices ? str(result.compared, " of ", choices) : choices;
  const char* const cut =
      result.out_of_time ? "the budget was spent before all choices were compared\n" : "";
  if (result.is_part) return text + " of this shard compared\n" + cut;
  text += " compared";
  if (result.today_seconds <= 0)
    return text + (result.out_of_time
                       ? "\nthe budget was spent before every kernel of today's plan was tuned\n"
                       : "\na kernel of today's plan could not be measured\n");
  char gain[32];
  std::snprintf(gain, sizeof gain, "%.2fx", result.today_seconds / result.best_seconds);
  return text + str("; today: ", counted(result.today_launches, "launch", "launches"), ", ",
                    format_seconds(result.today_seconds),
                    "; chosen: ", counted(result.best_launches, "launch", "launches"), ", ",
                    format_seconds(result.best_seconds), " (", gain, ")\n", cut);
}

}  // namespace tcc::tools
