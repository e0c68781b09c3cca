// The forms of a report share these words and figures.
#pragma once

#include <array>
#include <string>

#include "tools/track/report.h"

namespace tcc::tools {

// The first of these that holds.
enum class Standing { failed, over_budget, worse, better, unmeasurable, same, not_judged };
inline constexpr std::array kStandings = {
    Standing::failed,       Standing::over_budget, Standing::worse,     Standing::better,
    Standing::unmeasurable, Standing::same,        Standing::not_judged};
std::string_view name(Standing standing);  // "failed", "over budget", ...
Standing standing(const Quantity& quantity);
// The first over the quantities that gate; over all of them where none does.
Standing standing(const ReportedCase& one);
// Returns whether anything that gates got a verdict: same, changed, or within its budget. If
// nothing did, a report that passes says little.
bool judges(const TrackReport& report);

std::string value_text(std::optional<double> value, const std::string& unit);  // "12.3 us", "-"
std::string change_text(double ratio);                                         // "+1.23 %"
std::string interval_text(const track::Effect& effect);                        // "+1.1 .. +1.4 %"
// Head over base, by the effect where there is one; NaN where it is not known.
double ratio(const Quantity& quantity);
// Returns the size of a change of a history: "+1.23 %"; from 0, "0 B to 512.0 KiB".
std::string size_text(const TrackedHistory& history, const track::Change& change);

// "24 cases: 1 over budget, 2 worse, 21 same".
std::string summary(const TrackReport& report);
// The head's label against the base's, on the device.
std::string title(const TrackReport& report);
// Returns how the verdicts were made: the rate of false alarms, and the smallest change that could
// be seen.
std::string method(const TrackReport& report);

// Keeps at most `most` bytes of UTF-8, with "..." where it was longer; invalid bytes become U+FFFD.
std::string clean_text(std::string_view text, size_t most);

}  // namespace tcc::tools
