#include "tools/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace tcc::tools {
namespace {

size_t terminal_width() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

}  // namespace

ProgressLine::ProgressLine()
    : on_terminal_(::isatty(STDERR_FILENO) == 1), start_(std::chrono::steady_clock::now()) {}

void ProgressLine::draw(const std::string& text, bool now) {
  if (!on_terminal_) return;
  auto time = std::chrono::steady_clock::now();
  if (!now && drawn_ && time - last_ < std::chrono::milliseconds(100)) return;
  last_ = time;
  drawn_ = true;
  std::fprintf(stderr, "\r\033[K%s", text.substr(0, terminal_width() - 1).c_str());
  std::fflush(stderr);
}

void ProgressLine::draw_bar(double done, const std::string& text) {
  constexpr size_t kWidth = 20;
  done = std::clamp(done, 0.0, 1.0);
  auto filled = static_cast<size_t>(done * kWidth);
  std::string bar = "[" + std::string(filled, '#') + std::string(kWidth - filled, '.') + "]";
  char share[16], eta[32] = "";
  std::snprintf(share, sizeof share, "%4.0f%%", 100 * done);
  std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start_;
  if (done > 0) {
    auto left = static_cast<long>(elapsed.count() / done * (1 - done));
    std::snprintf(eta, sizeof eta, "  ETA %ld:%02ld", left / 60, left % 60);
  }
  draw(bar + share + "  " + text + eta);
}

void ProgressLine::clear() {
  if (!drawn_) return;
  std::fprintf(stderr, "\r\033[K");
  std::fflush(stderr);
  drawn_ = false;
}

}  // namespace tcc::tools
