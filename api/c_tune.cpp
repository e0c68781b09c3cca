// The C ABI: tuning.
#include "api/c_handles.h"

#include "tcc/tuner.hpp"

using namespace tcc::c;  // NOLINT: what follows is the ABI

struct tcc_tune_report {
  tcc::TuneReport report;
};

namespace {

tcc_tuned_kernel kernel_of(const tcc::TunedKernel& kernel) {
  return {sizeof(tcc_tuned_kernel),
          kernel.region.c_str(),
          kernel.kernel_template.c_str(),
          kernel.output.c_str(),
          kernel.best_config.c_str(),
          kernel.default_seconds,
          kernel.best_seconds,
          kernel.launches,
          kernel.space_size,
          kernel.trials,
          kernel.rejected,
          kernel.error.c_str()};
}

tcc::TuneOptions options_of(const tcc_tune_options* given_options) {
  tcc::TuneOptions options;
  if (!given_options) return options;
  const tcc_tune_options theirs = sized(*given_options, "tcc_tune_options");
  options.compile = tcc::c::options_of(theirs.compile);
  if (theirs.search) options.search = theirs.search;
  if (theirs.trials > 0) options.trials = theirs.trials;
  options.budget_seconds = theirs.budget_seconds;
  options.jobs = theirs.jobs;
  options.isolate = theirs.in_process == 0;
  options.seed = theirs.seed;
  if (theirs.output) options.output = theirs.output;
  if (theirs.log) options.log = theirs.log;
  options.resume = theirs.resume != 0;
  if (theirs.progress)
    options.progress = [tell = theirs.progress, user = theirs.user](const tcc::TunedKernel& now) {
      const tcc_tuned_kernel kernel = kernel_of(now);
      tell(user, &kernel);
    };
  return options;
}

}  // namespace

tcc_status tcc_tune(const tcc_graph* graph, const char* device, const tcc_tune_options* options,
                    tcc_tune_report** report) noexcept {
  return guard([&] {
    given(report, "report");
    *report = new tcc_tune_report{
        tcc::tune(given(graph, "graph").graph, &given(device, "device"), options_of(options))};
  });
}

void tcc_tune_report_destroy(tcc_tune_report* report) noexcept { delete report; }

size_t tcc_tune_report_size(const tcc_tune_report* report) noexcept {
  return report ? report->report.kernels.size() : 0;
}

tcc_status tcc_tune_report_get(const tcc_tune_report* report, size_t index,
                               tcc_tuned_kernel* kernel) noexcept {
  return guard([&] {
    const std::vector<tcc::TunedKernel>& kernels = given(report, "report").report.kernels;
    given(kernel, "kernel");
    if (index >= kernels.size()) tcc::fail_input("index ", index, " of ", kernels.size());
    fill(kernel, kernel_of(kernels[index]), "tcc_tuned_kernel");
  });
}

int32_t tcc_tune_report_was_cancelled(const tcc_tune_report* report) noexcept {
  return report && report->report.interrupted ? 1 : 0;
}
