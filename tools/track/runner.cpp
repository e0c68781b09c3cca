#include "tools/track/runner.h"

#include <chrono>

#include "support/error.h"
#include "tcc/progress.hpp"
#include "tools/track/measure.h"
#include "tools/track/report_text.h"
#include "tools/track/rules.h"

namespace tcc::tools {
namespace {

TrackedCase failed_case(const TrackCase& one, const std::string& reason) {
  TrackedCase record = record_of(one);
  record.status = TrackedCase::Status::failed;
  constexpr size_t kMostReason = 1000;  // a compiler's complaint can be long
  record.reason = reason.substr(0, kMostReason);
  return record;
}

class Run {
 public:
  Run(const std::vector<TrackCase>& cases, const RunSteps& steps, RunWriter& writer)
      : cases_(cases), steps_(steps), writer_(writer) {}

  RunResult run(const TrackedRun& header) {
    const auto start = std::chrono::steady_clock::now();
    writer_.append(header_line(header));
    result_.end = "complete";
    for (size_t i = 0; i < cases_.size() && result_.end != "interrupted"; ++i) {
      if (steps_.progress) steps_.progress(i, cases_.size(), cases_[i].name);
      for (TrackedCase& record : records_of(cases_[i])) keep(std::move(record));
    }
    result_.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    writer_.append(end_line({result_.end, result_.seconds}));
    writer_.finish();
    return std::move(result_);
  }

 private:
  std::vector<TrackedCase> records_of(const TrackCase& one) {
    if (steps_.cancelled && steps_.cancelled()) {
      result_.end = "interrupted";
      return {};
    }
    const bool on_device = one.kind != TrackCase::Kind::command;
    if (on_device && !lost_.empty()) return {failed_case(one, "the device was lost: " + lost_)};
    try {
      return steps_.measure(one);
    } catch (const Cancelled&) {
      result_.end = "interrupted";
      return {};
    } catch (const Error& error) {
      if (on_device && error.kind() == ErrorKind::device && steps_.device_works &&
          !steps_.device_works()) {
        lost_ = error.what();
        result_.end = "device lost";
      }
      return {failed_case(one, error.what())};
    } catch (const std::exception& error) { return {failed_case(one, error.what())}; }
  }

  void keep(TrackedCase record) {
    writer_.append(case_lines(record));
    result_.failed += record.status != TrackedCase::Status::ok;
    result_.over_budget += !over_budget(record).empty();
    record.samples.clear();
    result_.cases.push_back(std::move(record));
  }

  const std::vector<TrackCase>& cases_;
  const RunSteps& steps_;
  RunWriter& writer_;
  RunResult result_;
  std::string lost_;
};

}  // namespace

RunResult run_cases(const TrackedRun& header, const std::vector<TrackCase>& cases,
                    const RunSteps& steps, RunWriter& writer) {
  return Run(cases, steps, writer).run(header);
}

std::vector<std::string> over_budget(const TrackedCase& one) {
  std::vector<std::string> over;
  for (const auto& [quantity, most] : one.budget) {
    const auto found = one.quantities.find(quantity);
    if (found == one.quantities.end() || found->second.value <= most) continue;
    const std::string unit(rule_of(quantity).unit);
    over.push_back(
        str(quantity, " ", value_text(found->second.value, unit), " of ", value_text(most, unit)));
  }
  return over;
}

}  // namespace tcc::tools
