// A line on a terminal that is drawn again and again; nothing elsewhere.
#pragma once

#include <chrono>
#include <string>

namespace tcc::tools {

class ProgressLine {
 public:
  // On standard error, if it is a terminal.
  ProgressLine();
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  bool on_terminal() const { return on_terminal_; }
  // At most ten times a second, unless `now`; cut to the terminal's width.
  void draw(const std::string& text, bool now = false);
  // "[#####.....] 50%  TEXT  ETA 0:42"; the time left is estimated from the share that is done.
  void draw_bar(double done, const std::string& text);
  // Before anything else is printed.
  void clear();

 private:
  bool on_terminal_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point start_, last_;
};

}  // namespace tcc::tools
