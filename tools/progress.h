// Draws the progress of a program on a terminal.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace tcc::tools {

struct TerminalSize {
  size_t rows = 24, columns = 80;
};

// Lines that are drawn again and again in one place of a terminal, standard error. The cursor
// stands below them and is hidden only within one write: whatever ends the program, even a signal,
// leaves the terminal as it should be.
class LiveLines {
 public:
  ~LiveLines() { clear(); }
  LiveLines() = default;
  LiveLines(const LiveLines&) = delete;
  LiveLines& operator=(const LiveLines&) = delete;

  // Returns whether standard error is a terminal that can move its cursor.
  static bool possible();
  // Reads the current size: terminals are resized.
  static TerminalSize size();

  // Draws `lines` in the place of the ones before, in one write; what does not fit the terminal is
  // cut. Nothing is written when they are the same in a terminal of the same size.
  void draw(const std::vector<std::string>& lines);
  // Removes them, before anything else is printed.
  void clear();

 private:
  void write_frame(const std::string& text);

  std::vector<std::string> drawn_;
  TerminalSize size_;  // when they were drawn
};

// Returns the control sequences that move the cursor to where `drawn` began, in a terminal that now
// has `columns`, where longer lines were broken.
std::string rewind(const std::vector<std::string>& drawn, size_t columns);

// "[#####.....]" of `width` cells; `share` is clamped to [0, 1].
std::string progress_bar(double share, size_t width);

double seconds_since(std::chrono::steady_clock::time_point start);
// "0:42", "12:05", "1:02:03".
std::string format_clock(double seconds);

// `text` in `width` columns: padded, or cut with a "~" at its end.
std::string fit(const std::string& text, size_t width);

// Returns the text without control characters: names from files must not move the cursor.
std::string printable(std::string text);

}  // namespace tcc::tools
