// A part of a device that tcc does not use, because a quirk file says that it is faulty or slow.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tcc::exec {

enum class Part : uint8_t {
  unit,             // a matrix unit, as to_string(MatrixUnit) has it
  feature,          // a capability of the target: "float64"
  kernel_template,  // "gemm_coopmat"
  config            // configs of a template that have these values: "gemm_sm80 stages=4"
};

struct SwitchedOff {
  Part part = Part::unit;
  std::string what;
  std::string source;  // "FILE:LINE"
  std::string reason;
  // For a config: the template, and the values.
  std::string template_name = {};
  std::vector<std::pair<std::string, int64_t>> values = {};

  // "switched off by quirk FILE:LINE: REASON"
  std::string text() const { return "switched off by quirk " + source + ": " + reason; }
  friend bool operator==(const SwitchedOff&, const SwitchedOff&) = default;
};

}  // namespace tcc::exec
