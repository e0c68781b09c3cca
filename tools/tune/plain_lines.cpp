#include "tools/tune/plain_lines.h"

#include "support/error.h"
#include "tools/progress.h"
#include "tools/tune/summary.h"

namespace tcc::tools {

std::string plain_line(const autotune::KernelResult& kernel) {
  std::string text = kernel.task.name + " " + kernel.output + ": ";
  if (!kernel.record) text += "no result, ";
  if (kernel.record)
    text += time_text(kernel.default_seconds) + " -> " + time_text(kernel.best_seconds) + " (" +
            gain_text(gain(kernel)) + "), ";
  if (roofline_share(kernel) > 0) text += share_text(roofline_share(kernel)) + " of roofline, ";
  text += counts_text(kernel);
  if (!kernel.ended.empty()) text += "; ended: " + kernel.ended;
  if (!kernel.error.empty()) text += "; error: " + kernel.error;
  return printable(text);
}

autotune::TuneEvents PlainLines::events() {
  autotune::TuneEvents events;
  events.finished = [this](const autotune::KernelResult& kernel) {
    const size_t number =
        finished_.try_emplace(kernel.task.key, finished_.size() + 1).first->second;
    out_ << str("[", number, "/", kernels_, "] ", plain_line(kernel)) << std::endl;
  };
  return events;
}

}  // namespace tcc::tools
