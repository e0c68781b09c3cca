#include "tools/track/told.h"

#include <atomic>
#include <csignal>
#include <iostream>

namespace tcc::tools {
namespace {

std::atomic<bool> interrupt_came{false};

// The second one ends the process.
void note_interrupt(int number) {
  interrupt_came = true;
  std::signal(number, SIG_DFL);
}

}  // namespace

OnInterrupt::OnInterrupt()
    : interrupt_before_(std::signal(SIGINT, note_interrupt)),
      terminate_before_(std::signal(SIGTERM, note_interrupt)) {}

OnInterrupt::~OnInterrupt() {
  std::signal(SIGINT, interrupt_before_);
  std::signal(SIGTERM, terminate_before_);
}

bool OnInterrupt::came() { return interrupt_came; }

void Told::tell(const std::string& text) {
  if (LiveLines::possible()) return lines_.draw({text});
  const auto now = std::chrono::steady_clock::now();
  if (now - last_ < std::chrono::seconds(10)) return;
  last_ = now;
  std::cerr << text << "\n";
}

}  // namespace tcc::tools
