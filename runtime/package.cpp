#include "runtime/package.h"

#include <optional>
#include <string>
#include <string_view>

#include "executable/fit.h"
#include "support/error.h"

namespace tcc::runtime {
namespace {

// "vulkan:llvmpipe:sg8" is of the API "vulkan".
std::string_view api_of_id(std::string_view target) { return target.substr(0, target.find(':')); }

// Returns why the device cannot run the part, "": it can.
std::string reason_against(const exec::Executable& part, const Device& device) {
  try {
    exec::check_fit(part, device.target());
    exec::each_executable(part, [&](const exec::Executable& executable) {
      for (const exec::KernelBinary& kernel : executable.kernels) device.check(kernel);
    });
    return "";
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::device) throw;
    const std::string_view what = error.what();
    const std::string prefix = device.name() + ": ";
    return exec::one_line(what.starts_with(prefix) ? what.substr(prefix.size()) : what);
  }
}

}  // namespace

ChosenPart choose_part(const exec::Package& package, const Device& device) {
  std::optional<ChosenPart> best;
  exec::Nearness best_nearness;
  std::string refusals;
  const auto parts = package.parts();
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::string_view api = api_of_id(parts[i].target);
    std::string reason;
    if (api != exec::name(device.target().api)) {
      // Parts of other back ends are not even read: this program may not know them.
      reason = str("it is for ", api);
    } else {
      exec::Executable part = package.executable(i);
      reason = reason_against(part, device);
      const exec::Nearness nearness = exec::nearness(part, device.target());
      if (reason.empty() && (!best || nearness > best_nearness)) {
        best = ChosenPart{i, std::move(part)};
        best_nearness = nearness;
      }
    }
    if (!reason.empty()) refusals += str("; ", parts[i].target, ": ", reason);
  }
  if (!best)
    fail_device(package.file(), ": no part of it runs on ", device.name(), " (",
                device.target().id(), ")", refusals);
  return std::move(*best);
}

}  // namespace tcc::runtime
