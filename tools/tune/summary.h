// The numbers that every view of a sweep shows, and its closing table.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "autotune/tune.h"

namespace tcc::tools {

// Today's time over the best's; 0: unknown.
double gain(const autotune::KernelResult& kernel);
// The roofline bound over the best's time: 1 cannot be bettered; 0: unknown.
double roofline_share(const autotune::KernelResult& kernel);
// One program, a graph with its dims bound or a user's kernel, is run at once: times of different
// ones are not added up.
struct Batch {
  std::string label;                            // "mlp.yaml B=8"
  std::map<autotune::RecordKey, int> launches;  // of the kernels that are tuned
};
// Makes the batch of a graph. A graph with open dims has one for each of the sizes at which all of
// its kernels are measured, "mlp.yaml B=1..64 at B=4": none where they have no sizes in common.
std::vector<Batch> batches_of(const backends::Scheduled& graph, const std::string& label);
// The seconds of all its launches, with today's configs and with the best ones. A batch has neither
// if one of its kernels was not measured.
struct Total {
  double today_seconds = 0, best_seconds = 0;
  double gain() const { return best_seconds > 0 ? today_seconds / best_seconds : 0; }
};
Total total(const autotune::TuneResult& result, const Batch& batch);

// "faster", "kept: no finals", "" while nothing is known.
std::string outcome_text(const autotune::KernelResult& kernel);

std::string gain_text(double gain);          // "1.42x", "-" when unknown
std::string share_text(double share);        // "83%", "-" when unknown
std::string time_text(double seconds);       // "12.30 us", "-" when unknown
std::string core_text(double cores_in_use);  // "1.9"

// Counts the outcomes of the candidates: "64 trials, 12 slow, 1 crashed".
std::string counts_text(const autotune::KernelResult& kernel);

// Returns for the whole sweep how many candidates were measured per second, and which share of
// cores x time compilation used while anything was being compiled (0: nothing was).
double candidates_per_second(const autotune::TuneResult& result);
double compile_utilization(const autotune::TuneResult& result);

// Returns the reason why a kernel of a finished sweep has no result, "" where that is no failure: a
// kernel whose search was cut short by the budget or an interrupt, after right results of at most
// its default, has no record either.
std::string failure(const autotune::KernelResult& kernel);
// Whether a kernel with such a failure ran and gave wrong results.
bool is_wrong(const autotune::KernelResult& kernel);

// A table of the kernels, then each batch's total and the rates.
std::string summary_text(const autotune::TuneResult& result, const std::vector<Batch>& batches);

// Says which of the sweep's kernels have no result for lack of time, and that nothing is written;
// "" where there is nothing to say. An interrupt says so itself.
std::string left_out_text(const autotune::TuneResult& result, size_t kernels,
                          double budget_seconds);

// One line per kernel and kind of failure, with the first reason: a candidate that fails or is
// wrong is a bug of a template or of a driver and must be seen.
std::string rejected_text(const autotune::TuneResult& result);

}  // namespace tcc::tools
