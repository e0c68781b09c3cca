// Worker processes of this program measure for it, so that a crash or hang of a library, a compiler
// or a device hits only them.
//
// Frames are those of autotune/worker_protocol.h. The worker speaks first, with Served::hello().
// Then every request has one reply, or {"error": {"kind", "message"}}.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "autotune/worker_process.h"
#include "support/error.h"

namespace tcc::tools {

// The worker's side.
class Served {
 public:
  virtual ~Served() = default;
  virtual nlohmann::json hello() = 0;
  virtual nlohmann::json answer(const nlohmann::json& request) = 0;
};
// Runs `tcc-track --worker KIND SETUP` until its parent is gone: KIND is "duel", "cases" or
// "library". Returns the exit code.
int serve_worker(const std::string& kind, const std::string& setup);

// The process died, or took too long.
struct WorkerEnded : Error {
  WorkerEnded(const std::string& message, bool killed)
      : Error(ErrorKind::device, message), killed_from_outside(killed) {}
  // It was killed by SIGKILL, by the operating system for lack of memory or by a user.
  bool killed_from_outside;
};

// {"kind", "message"} of a reply.
Error error_from(const nlohmann::json& error);

// The parent's side.
class Worker {
 public:
  // Starts a worker, which must say hello within `limit` seconds. Throws the errors of ask().
  Worker(const std::string& kind, const std::string& setup, double limit);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  const nlohmann::json& hello() const { return *hello_; }
  // Throws the worker's error, WorkerEnded, and Cancelled after an interrupt. After WorkerEnded and
  // Cancelled the worker is killed, since its device may be unusable.
  nlohmann::json ask(const nlohmann::json& request, double limit);
  bool is_alive() const { return process_ != nullptr; }

 private:
  std::unique_ptr<autotune::WorkerProcess> process_;
  std::unique_ptr<nlohmann::json> hello_;
};

}  // namespace tcc::tools
