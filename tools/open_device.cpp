#include "tools/open_device.h"

#include <filesystem>
#include <iostream>
#include <system_error>

#include "executable/quirks.h"
#include "support/cache_file.h"
#include "support/error.h"
#include "support/file.h"
#include "support/hash.h"
#include "support/log.h"

namespace tcc::tools {
namespace {

namespace fs = std::filesystem;

// Returns whether it was not said before, on this machine. Where nothing can be kept it is not said
// at all: a line at each start would say nothing new.
bool is_first_time(const exec::Target& target) try {
  const fs::path cache = default_cache_folder();
  if (cache.empty()) return false;
  const std::string key =
      Hasher().add(exec::name(target.api)).add(target.device).add(target.driver).hex();
  const fs::path file = cache / "drivers" / key;
  std::error_code error;
  if (fs::exists(file, error)) return false;
  fs::create_directories(file.parent_path(), error);
  write_cache_file(file, target.driver + "\n");
  return true;
} catch (const Error&) { return false; }

}  // namespace

std::string untested_note(const std::string& device_name, const exec::Target& target) {
  if (target.api == exec::Api::null || target.driver.empty() ||
      exec::is_tested(target, exec::quirks()))
    return "";
  return str("driver '", target.driver, "' of ", target.device,
             " is not known to tcc; test it in half a minute: tcc-info --self-test --device ",
             device_name);
}

std::shared_ptr<runtime::Device> open_device(const std::string& program, const std::string& name) {
  auto device = runtime::open_device(name);
  if (device->compiles_alone()) return device;
  const std::string note = untested_note(device->name(), device->target());
  if (note.empty()) return device;
  log_parts(LogLevel::info, LogChannel::device, note);
  if (is_first_time(device->target())) std::cerr << program << ": note: " << note << "\n";
  return device;
}

}  // namespace tcc::tools
