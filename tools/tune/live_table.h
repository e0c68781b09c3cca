// A sweep draws on a terminal a progress bar with the time left, the rates, and a table of the
// kernels, redrawn in place.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "autotune/tune.h"
#include "tools/progress.h"

namespace tcc::tools {

// The settings of the sweep that the table shows.
struct SweepSetup {
  size_t kernels = 0;
  size_t trials = 0;          // of each kernel, in full measurements
  double budget_seconds = 0;  // 0: none
  int compile_threads = 1;
  bool several_devices = false;
  bool one_batch = true;  // whose launches are all kernels: their times are added up
  const std::atomic<bool>* interrupted = nullptr;  // whether it was told to end
};

// Makes the text that is drawn; it needs no terminal.
class LiveTable {
 public:
  explicit LiveTable(const SweepSetup& setup) : setup_(setup) {}

  // Takes the changes since the kernel's last update.
  void update(const autotune::KernelResult& kernel, bool finished);

  // Returns the lines for a terminal of `size`, `elapsed` seconds after the sweep's start: at most
  // size.rows - 1, each at most size.columns wide. Where the kernels do not fit, those that are
  // being tuned and the last to finish are shown.
  std::vector<std::string> frame(TerminalSize size, double elapsed) const;

 private:
  struct Row {
    size_t order = 0;  // of the start
    std::string name, output, device, status;
    size_t trials = 0, failures = 0, resumed = 0;
    double cost = 0, expected = 0;  // trials done and to do, quick ones counted in parts
    double today_seconds = 0, best_seconds = 0, gain = 0, roofline = 0;
    double compile_seconds = 0;
    int launches = 1;
    bool finished = false;
    size_t finish = 0;  // the how manieth to finish
  };
  struct Work {
    double done = 0, left = 0, measured = 0;  // in full trials; `measured`: without resumed ones
  };

  Work work() const;
  std::string bar_line(double elapsed, size_t columns) const;
  std::string rate_line(double elapsed) const;
  std::vector<const Row*> rows_that_fit(size_t count) const;

  SweepSetup setup_;
  std::map<autotune::RecordKey, Row> rows_;
  size_t finished_ = 0;
};

// Draws a LiveTable on standard error until it is destroyed, ten times a second, so that the clock
// runs and the terminal may be resized while nothing else happens.
class LiveView {
 public:
  explicit LiveView(const SweepSetup& setup);
  ~LiveView();
  LiveView(const LiveView&) = delete;
  LiveView& operator=(const LiveView&) = delete;

  autotune::TuneEvents events();  // to be outlived by this object
  // Prints a line above the table.
  void say(const std::string& text);

 private:
  void update(const autotune::KernelResult& kernel, bool finished);
  void draw_until_stopped();

  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopped_ = false;
  std::string said_;  // and not printed yet
  LiveTable table_;
  LiveLines lines_;  // the drawer's alone
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::thread drawer_;  // last: it uses all others
};

}  // namespace tcc::tools
