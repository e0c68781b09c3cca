#include "tools/tune/record_options.h"

#include "autotune/record_file.h"
#include "runtime/device.h"
#include "support/error.h"
#include "support/log.h"

namespace tcc::tools {

void add_target_options(CLI::App& app, TargetOptions& options) {
  auto* device =
      app.add_option("--device", options.device, "auto, cuda:N or vulkan:N")->capture_default_str();
  app.add_option("--target", options.target, "a target that need not be there, as in tcc-compile")
      ->excludes(device);
}

sched::Target target_of(const TargetOptions& options) {
  if (!options.target.empty()) return sched::target_by_name(options.target);
  return runtime::open_device(options.device)->target();
}

autotune::RecordStore join_records(const std::vector<std::string>& paths) {
  autotune::RecordStore store;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!std::filesystem::exists(path, error)) fail_input(path, ": no such file or folder");
    autotune::read_record_path(path, store, log_tuning_warning);
  }
  return store;
}

void log_tuning_warning(const std::string& text) { log_warning(LogChannel::tuning, text); }

}  // namespace tcc::tools
