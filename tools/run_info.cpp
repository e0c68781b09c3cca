#include "tools/run_info.h"

#include <chrono>
#include <ctime>
#include <iostream>

#include "autotune/clocks.h"
#include "support/version.h"

namespace tcc::tools {
namespace {

std::vector<std::string>& kept_words() {
  static std::vector<std::string> words;
  return words;
}

void add_clocks(JsonWriter& json, const std::string& pci_address) {
  const autotune::Clocks clocks = autotune::read_clocks(pci_address);
  json.key("clocks");
  if (clocks.sm_mhz == 0 && clocks.memory_mhz == 0) {
    json.null();
    return;
  }
  json.begin_object()
      .member("sm_mhz", clocks.sm_mhz)
      .member("highest_sm_mhz", autotune::highest_sm_mhz(pci_address))
      .member("memory_mhz", clocks.memory_mhz)
      .member("throttle", clocks.throttle)
      .end_object();
}

}  // namespace

UtcTime utc_time() {
  const auto since = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::system_clock::now().time_since_epoch());
  const std::time_t now = since.count() / 1000;
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return {text, static_cast<int>(since.count() % 1000)};
}

std::string utc_now() { return utc_time().date; }

void keep_command(int argc, char** argv) { kept_words().assign(argv, argv + argc); }

const std::vector<std::string>& command_words() { return kept_words(); }

void add_made_by(JsonWriter& json) {
  json.key("tcc").begin_object().member("version", build_version()).key("commit");
  if (build_commit().empty())
    json.null();
  else
    json.value(build_commit());
  json.end_object().member("date", utc_now()).key("command").begin_array();
  for (const std::string& word : command_words()) json.value(word);
  json.end_array();
}

void add_device(JsonWriter& json, const runtime::Device& device) {
  const sched::Target& target = device.target();
  json.key("device").begin_object().member("name", device.name());
  json.member("description", target.device).member("vendor", target.vendor);
  json.member("driver", target.driver).member("target", target.id());
  add_clocks(json, device.pci_address());
  json.end_object();
}

void print_reports(const std::vector<std::string>& objects) {
  const bool is_list = objects.size() > 1;
  if (is_list) std::cout << "[\n";
  for (size_t i = 0; i < objects.size(); ++i)
    std::cout << objects[i] << (i + 1 < objects.size() ? ",\n" : "\n");
  if (is_list) std::cout << "]\n";
}

}  // namespace tcc::tools
