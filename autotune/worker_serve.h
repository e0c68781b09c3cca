// The worker's side: tcc-worker serves requests until its parent is gone.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace tcc::autotune {

// A worker's main() calls this first. Returns the socket that frames are written to: what drivers
// print on standard output goes to standard error from now on. The process leaves no core file, and
// ends when the other end of the socket is gone, even while a kernel hangs.
int begin_worker();

// Returns `work`'s reply, or {"error": {"kind", "message"}} where it throws.
nlohmann::json reply_or_error(const std::function<nlohmann::json()>& work);

// Opens `device` and answers requests (autotune/worker_protocol.h) that come from `input` on the
// socket `output`. Returns the exit code. Leaves by exit code kDeviceLostExit, the reason on
// standard error, when the device no longer runs the baseline kernel after a candidate.
int serve_worker(const std::string& device, int input, int output);

}  // namespace tcc::autotune
