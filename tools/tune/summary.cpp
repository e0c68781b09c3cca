#include "tools/tune/summary.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <vector>

#include "support/error.h"
#include "support/plural.h"
#include "tools/program.h"
#include "tools/progress.h"

namespace tcc::tools {
namespace {

using autotune::KernelResult;
using autotune::TuneResult;
using Status = autotune::Measurement::Status;

constexpr std::array kFailures = {Status::wrong, Status::refused, Status::hung, Status::crashed};

std::string format(const char* pattern, double value) {
  char text[40];
  std::snprintf(text, sizeof text, pattern, value);
  return text;
}

size_t measured_here(const TuneResult& result) {
  size_t count = 0;
  for (const KernelResult& kernel : result.kernels) count += kernel.trials.size() - kernel.resumed;
  return count;
}

// "12.30 us (nearest)"; the default's time needs no source.
std::string today_text(const KernelResult& kernel) {
  if (kernel.today_seconds <= 0) return "fails";
  const std::string time = time_text(kernel.today_seconds);
  return kernel.today.tier == sched::Tier::analytic
             ? time
             : str(time, " (", sched::name(kernel.today.tier), ")");
}

std::string tuned_kernel_table(const TuneResult& result) {
  std::vector<std::vector<std::string>> rows;
  for (const KernelResult& kernel : result.kernels) {
    if (kernel.best_seconds <= 0) continue;
    rows.push_back({printable(kernel.task.name), kernel.output, kernel.task.key.kernel_template,
                    time_text(kernel.default_seconds), today_text(kernel),
                    time_text(kernel.best_seconds), gain_text(gain(kernel)),
                    share_text(roofline_share(kernel)), std::to_string(kernel.trials.size()),
                    outcome_text(kernel), kernel.best_config.to_string()});
  }
  if (rows.empty()) return "";
  return format_table({"kernel", "output", "template", "default", "today", "best", "gain",
                       "roofline", "trials", "result", "config"},
                      rows);
}

// "120 candidates in 0:42 (2.9 per second), ...".
std::string rates_text(const TuneResult& result) {
  size_t resumed = 0;
  for (const KernelResult& kernel : result.kernels) resumed += kernel.resumed;
  std::string text =
      str(counted(measured_here(result), "candidate"), " in ", format_clock(result.wall_seconds),
          " (", format("%.1f", candidates_per_second(result)), " per second)");
  if (resumed > 0) text += str(", ", resumed, " more from the log");
  if (result.compile_wall_seconds > 0)
    text += str("; compiled on ", core_text(result.compile_seconds / result.compile_wall_seconds),
                " of ", result.compile_threads, " cores (", share_text(compile_utilization(result)),
                ")");
  if (result.workers_replaced > 0) text += str("; workers replaced: ", result.workers_replaced);
  return text;
}

}  // namespace

double gain(const KernelResult& kernel) {
  return kernel.best_seconds > 0 ? kernel.today_seconds / kernel.best_seconds : 0;
}

double roofline_share(const KernelResult& kernel) {
  return kernel.best_seconds > 0 ? kernel.task.bound_seconds / kernel.best_seconds : 0;
}

std::vector<Batch> batches_of(const backends::Scheduled& graph, const std::string& label) {
  const std::vector<autotune::TuningTask> tasks = autotune::tuning_tasks({&graph, 1});
  std::vector<std::string> sizes;  // in ascending order, as the tasks have them
  for (const autotune::TuningTask& task : tasks)
    if (task.sized && std::ranges::find(sizes, task.sized->sizes) == sizes.end())
      sizes.push_back(task.sized->sizes);
  const bool is_open = !sizes.empty();
  if (!is_open) sizes.emplace_back();
  const auto regions = std::ranges::count_if(
      graph.regions, [](const auto& scheduled) { return !scheduled.candidate().host_call(); });
  std::vector<Batch> batches;
  for (const std::string& at : sizes) {
    Batch batch{is_open ? str(label, " at ", at) : label, {}};
    std::ptrdiff_t launches = 0;
    for (const autotune::TuningTask& task : tasks) {
      if (task.sized && task.sized->sizes != at) continue;
      batch.launches[task.key] = task.launches;
      launches += task.launches;
    }
    // A kernel that other sizes stand for has no time here.
    if (launches == regions) batches.push_back(std::move(batch));
  }
  return batches;
}

Total total(const TuneResult& result, const Batch& batch) {
  Total sum;
  size_t known = 0;
  for (const KernelResult& kernel : result.kernels) {
    const auto launches = batch.launches.find(kernel.task.key);
    if (launches == batch.launches.end() || gain(kernel) == 0) continue;
    sum.today_seconds += launches->second * kernel.today_seconds;
    sum.best_seconds += launches->second * kernel.best_seconds;
    ++known;
  }
  return known == batch.launches.size() ? sum : Total();
}

std::string outcome_text(const KernelResult& kernel) {
  if (!kernel.kept.empty()) return "kept: " + kernel.kept;
  if (!kernel.record) return "";
  return kernel.today_seconds > 0 ? "faster" : "today's fails";
}

std::string gain_text(double gain) { return gain > 0 ? format("%.2fx", gain) : "-"; }
std::string share_text(double share) {
  return share > 0 ? format(share < 0.01 ? "%.1f%%" : "%.0f%%", 100 * share) : "-";
}
std::string time_text(double seconds) { return seconds > 0 ? format_seconds(seconds) : "-"; }
std::string core_text(double cores_in_use) { return format("%.1f", cores_in_use); }

std::string counts_text(const KernelResult& kernel) {
  std::array<size_t, 8> counts{};
  for (const autotune::LoggedTrial& trial : kernel.trials)
    ++counts.at(static_cast<size_t>(trial.result.status));
  std::string text = counted(kernel.trials.size(), "trial");
  for (Status status :
       {Status::slow, Status::wrong, Status::refused, Status::hung, Status::crashed})
    if (size_t count = counts.at(static_cast<size_t>(status)))
      text += str(", ", count, " ", autotune::name(status));
  return text;
}

std::string failure(const KernelResult& kernel) {
  if (!kernel.error.empty() || kernel.record) return kernel.error;
  const auto works = [](const autotune::LoggedTrial& trial) {
    return trial.result.status == Status::measured || trial.result.status == Status::slow;
  };
  const bool cut_short = kernel.ended == "budget" || kernel.ended == "interrupted";
  if (cut_short && (kernel.trials.empty() || std::ranges::any_of(kernel.trials, works))) return "";
  std::string text = "no config gave a right result: " + counts_text(kernel);
  if (!kernel.trials.empty() && !kernel.trials.front().result.reason.empty())
    text += "; the default: " + kernel.trials.front().result.reason;
  return text;
}

bool is_wrong(const KernelResult& kernel) {
  return kernel.error.empty() &&
         std::ranges::any_of(kernel.trials, [](const autotune::LoggedTrial& trial) {
           return trial.result.status == Status::wrong;
         });
}

double candidates_per_second(const TuneResult& result) {
  return result.wall_seconds > 0 ? static_cast<double>(measured_here(result)) / result.wall_seconds
                                 : 0;
}

double compile_utilization(const TuneResult& result) {
  const double most = result.compile_wall_seconds * result.compile_threads;
  return most > 0 ? result.compile_seconds / most : 0;
}

std::string summary_text(const TuneResult& result, const std::vector<Batch>& batches) {
  std::string text = tuned_kernel_table(result);
  for (const Batch& batch : batches) {
    const Total sum = total(result, batch);
    if (sum.best_seconds <= 0) continue;
    const bool is_all = batches.size() == 1 && batch.launches.size() == result.kernels.size();
    const std::string label = is_all ? "all launches" : printable(batch.label);
    text += str(label, ": ", format_seconds(sum.today_seconds), " -> ",
                format_seconds(sum.best_seconds), " (", gain_text(sum.gain()), ")\n");
  }
  return text + rates_text(result) + "\n";
}

std::string left_out_text(const TuneResult& result, size_t kernels, double budget_seconds) {
  std::string text;
  if (budget_seconds > 0 && !result.interrupted) {
    const size_t reached = result.kernels.size();
    const auto undecided = static_cast<size_t>(
        std::ranges::count(result.kernels, std::string("no finals"), &KernelResult::kept));
    const std::string of = str(" of ", counted(kernels, "kernel"));
    if (reached < kernels)
      text += str(kernels - reached, of, kernels - reached == 1 ? " was" : " were",
                  " not reached within --budget ", budget_seconds, "\n");
    if (undecided > 0)
      text += str(undecided, of, " had no time for finals within --budget ", budget_seconds, "\n");
  }
  if (result.records.records().empty())
    text += "nothing was written: no kernel has a result that a duel confirmed\n";
  return text;
}

std::string rejected_text(const TuneResult& result) {
  std::string text;
  for (const KernelResult& kernel : result.kernels) {
    for (Status status : kFailures) {
      const autotune::LoggedTrial* first = nullptr;
      size_t count = 0;
      for (const autotune::LoggedTrial& trial : kernel.trials) {
        if (trial.result.status != status) continue;
        if (!first) first = &trial;
        ++count;
      }
      if (!first) continue;
      text += printable(str("tcc-tune: ", kernel.task.name, " [", kernel.task.key.kernel_template,
                            "] ", count, " ", autotune::name(status), ", first ",
                            first->config.to_string(), ": ", first->result.reason)) +
              "\n";
    }
  }
  return text;
}

}  // namespace tcc::tools
