// How tools open the device that a user names.
#pragma once

#include <memory>
#include <string>

#include "runtime/device.h"

namespace tcc::tools {

// Opens it as runtime::open_device does. At the first use of a driver that no quirk file calls
// tested, one line on stderr says so and how to test it; a file in the folder of compiled kernels
// keeps that it was said.
std::shared_ptr<runtime::Device> open_device(const std::string& program, const std::string& name);

// The line for an untested driver, or "": it is tested, or nothing is known of it.
std::string untested_note(const std::string& device_name, const exec::Target& target);

}  // namespace tcc::tools
