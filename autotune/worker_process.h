// A child process with which frames are exchanged, and the way it ended.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace tcc::autotune {

// Owns a file descriptor.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return number_; }
  void reset(int number);
  void close() { reset(-1); }

 private:
  int number_;
};

class WorkerProcess {
 public:
  // Starts `arguments[0]`. Its standard input and output are one socket, its standard error a pipe.
  // It goes on when the terminal interrupts its parent, which decides what to do. Throws
  // Error(device) when it cannot be started.
  explicit WorkerProcess(const std::vector<std::string>& arguments);
  ~WorkerProcess();  // kills it
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  enum class Outcome : uint8_t { replied, ended, timed_out };
  // Sends a request, unless it is null, and waits for the reply. Throws Error(bad_input) for bytes
  // that are no reply.
  Outcome exchange(const nlohmann::json& request, double limit_seconds, nlohmann::json& reply);

  // Kills the process, if it is alive, and collects it.
  void kill();
  // These are valid once the process has ended: its exit code (-1 after a signal); the signal that
  // ended it (0 if none); "was killed by SIGSEGV" or "exited with code 4"; the last line that it
  // wrote to its standard error ("" if none).
  int exit_code() const;
  int signal() const;
  std::string ending() const;
  std::string last_words() const;

 private:
  // Returns the reply, if all of it has come.
  bool take_reply(nlohmann::json& reply);
  // Waits until something comes from the process, at most until `deadline` (steady seconds), and
  // takes it. False when nothing more will come.
  bool take_input(double deadline);
  void take_errors();

  pid_t pid_ = -1;
  Descriptor socket_, errors_;
  std::vector<uint8_t> received_;
  std::string error_text_;  // the end of it
  bool collected_ = false;
  int wait_status_ = 0;
};

}  // namespace tcc::autotune
