// Every report in JSON says how it was made: tcc's version, when, by which command, on
// which device.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/device.h"
#include "support/json_writer.h"

namespace tcc::tools {

struct UtcTime {
  std::string date;  // "2026-11-22T12:31:05Z"
  int milliseconds = 0;
};
UtcTime utc_time();
std::string utc_now();  // its date

// The words of the command line, kept by run_program() for reports.
void keep_command(int argc, char** argv);
const std::vector<std::string>& command_words();

// Members of the open object: "tcc" {version, commit: null where unknown}, "date", "command".
void add_made_by(JsonWriter& json);

// Member "device" of the open object: {name, description, vendor, driver, target, clocks now: null
// where the driver does not tell}.
void add_device(JsonWriter& json, const runtime::Device& device);

// Prints the objects of the runs: the only one as it is, several as a list.
void print_reports(const std::vector<std::string>& objects);

}  // namespace tcc::tools
