#include "tools/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace tcc::tools {
namespace {

constexpr const char* kHideCursor = "\033[?25l";
constexpr const char* kShowCursor = "\033[?25h";
constexpr const char* kClearToLineEnd = "\033[K";
constexpr const char* kClearBelow = "\033[J";

}  // namespace

bool LiveLines::possible() {
  const char* terminal = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) == 1 && terminal && std::string_view(terminal) != "dumb";
}

TerminalSize LiveLines::size() {
  winsize now{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &now) != 0 || now.ws_col == 0 || now.ws_row == 0)
    return {};
  return {now.ws_row, now.ws_col};
}

void LiveLines::draw(const std::vector<std::string>& lines) {
  const TerminalSize now = size();
  std::vector<std::string> cut(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                                  lines.size(), now.rows - 1)));
  // A line that fills the last column would leave the cursor there in some terminals, after the
  // line in others.
  for (std::string& line : cut)
    if (line.size() >= now.columns) line.resize(now.columns - 1);
  if (cut == drawn_ && now.columns == size_.columns && now.rows == size_.rows) return;
  std::string frame = rewind(drawn_, now.columns);
  for (const std::string& line : cut) frame += line + kClearToLineEnd + "\n";
  write_frame(frame + kClearBelow);
  drawn_ = std::move(cut);
  size_ = now;
}

void LiveLines::clear() {
  if (drawn_.empty()) return;
  write_frame(rewind(drawn_, size().columns) + kClearBelow);
  drawn_.clear();
}

void LiveLines::write_frame(const std::string& text) {
  const std::string frame = kHideCursor + text + kShowCursor;
  std::fflush(stdout);
  std::fwrite(frame.data(), 1, frame.size(), stderr);  // unbuffered: one write(2)
}

std::string rewind(const std::vector<std::string>& drawn, size_t columns) {
  size_t rows = 0;
  for (const std::string& line : drawn)
    rows += std::max<size_t>(1, (line.size() + columns - 1) / columns);
  return rows == 0 ? "\r" : "\r\033[" + std::to_string(rows) + "A";
}

std::string progress_bar(double share, size_t width) {
  const auto filled = static_cast<size_t>(std::clamp(share, 0.0, 1.0) * static_cast<double>(width));
  return "[" + std::string(filled, '#') + std::string(width - filled, '.') + "]";
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::string format_clock(double seconds) {
  const auto whole = static_cast<long>(std::clamp(seconds, 0.0, 360000.0 * 24));
  char text[40];
  if (whole >= 3600)
    std::snprintf(text, sizeof text, "%ld:%02ld:%02ld", whole / 3600, whole / 60 % 60, whole % 60);
  else
    std::snprintf(text, sizeof text, "%ld:%02ld", whole / 60, whole % 60);
  return text;
}

std::string fit(const std::string& text, size_t width) {
  if (text.size() <= width) return text + std::string(width - text.size(), ' ');
  return width == 0 ? "" : text.substr(0, width - 1) + "~";
}

std::string printable(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; }, '?');
  return text;
}

}  // namespace tcc::tools
