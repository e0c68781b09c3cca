#include "tools/tune/plain_lines.h"

#include "support/error.h"
#include "tools/progress.h"
#include "tools/tune/summary.h"

namespace tcc::tools {

std::string plain_line(const autotune::KernelResult& kernel) {
  std::string text = kernel.task.name + " " + kernel.output + ": ";
  if (kernel.best_seconds <= 0)
    text += "no result, ";
  else if (!kernel.kept.empty())
    text += time_text(kernel.best_seconds) + ", " + outcome_text(kernel) + ", ";
  else
    text += (kernel.today_seconds > 0 ? time_text(kernel.today_seconds) : "what fails today") +
            " -> " + time_text(kernel.best_seconds) + " (" + gain_text(gain(kernel)) + "), ";
  if (roofline_share(kernel) > 0) text += share_text(roofline_share(kernel)) + " of roofline, ";
  text += counts_text(kernel);
  if (!kernel.ended.empty()) text += "; ended: " + kernel.ended;
  if (!kernel.error.empty()) text += "; error: " + kernel.error;
  return printable(text);
}

std::string progress_line(const autotune::KernelResult& kernel) {
  std::string text = kernel.task.name + " " + kernel.output + ": " + counts_text(kernel);
  if (kernel.today_seconds > 0) text += ", " + time_text(kernel.today_seconds) + " today";
  if (kernel.best_seconds > 0) text += ", " + time_text(kernel.best_seconds) + " so far";
  return printable(text);
}

void PlainLines::tell(const autotune::KernelResult& kernel) {
  const auto now = std::chrono::steady_clock::now();
  if (Seconds(now - told_) < every_) return;
  told_ = now;
  out_ << str(format_clock(Seconds(now - start_).count()), "  ", finished_.size(), " of ", kernels_,
              " kernels; ", progress_line(kernel))
       << std::endl;
}

autotune::TuneEvents PlainLines::events() {
  autotune::TuneEvents events;
  events.trial = [this](const autotune::KernelResult& kernel) { tell(kernel); };
  events.finished = [this](const autotune::KernelResult& kernel) {
    told_ = std::chrono::steady_clock::now();
    const auto [entry, is_first] = finished_.try_emplace(kernel.task.key, finished_.size() + 1);
    out_ << str("[", entry->second, "/", kernels_, "]",
                is_first ? " " : " again, with time left: ", plain_line(kernel))
         << std::endl;
  };
  return events;
}

}  // namespace tcc::tools
