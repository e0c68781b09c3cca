#include "tools/track/worker.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <nlohmann/json.hpp>

#include "autotune/worker_protocol.h"
#include "autotune/worker_serve.h"
#include "tcc/progress.hpp"
#include "tools/track/case_worker.h"
#include "tools/track/duel_worker.h"
#include "tools/track/library.h"
#include "tools/track/told.h"

namespace tcc::tools {
namespace {

using Clock = std::chrono::steady_clock;
using autotune::WorkerProcess;
using Json = nlohmann::json;

constexpr double kListenSeconds = 0.1;  // between looks for an interrupt

std::unique_ptr<Served> served(const std::string& kind, const std::string& setup) {
  if (kind == "duel") return serve_duels(setup);
  if (kind == "cases") return serve_cases(setup);
  if (kind == "library") return serve_library(setup);
  fail_input("there is no worker '", kind, "'");
}

}  // namespace

int serve_worker(const std::string& kind, const std::string& setup) {
  const int output = autotune::begin_worker();
  std::unique_ptr<Served> one;
  const Json hello = autotune::reply_or_error([&] {
    one = served(kind, setup);
    return one->hello();
  });
  if (!autotune::write_frame(output, hello) || hello.contains("error")) return 1;
  while (const std::optional<Json> request = autotune::read_frame(STDIN_FILENO))
    if (!autotune::write_frame(output,
                               autotune::reply_or_error([&] { return one->answer(*request); })))
      return 1;
  return 0;
}

Error error_from(const Json& error) {
  return {static_cast<ErrorKind>(error.at("kind").get<int>()),
          error.at("message").get<std::string>()};
}

Worker::Worker(const std::string& kind, const std::string& setup, double limit)
    : process_(std::make_unique<WorkerProcess>(
          std::vector<std::string>{"/proc/self/exe", "--worker", kind, setup})) {
  hello_ = std::make_unique<Json>(ask(nullptr, limit));
}

Worker::~Worker() = default;

Json Worker::ask(const Json& request, double limit) {
  TCC_CHECK(process_, "a worker is asked that is gone");
  std::unique_ptr<WorkerProcess> process = std::move(process_);
  const auto deadline = Clock::now() + std::chrono::duration<double>(limit);
  const auto left = [&] { return std::chrono::duration<double>(deadline - Clock::now()).count(); };
  Json reply;
  auto outcome = process->exchange(request, std::min(limit, kListenSeconds), reply);
  while (outcome == WorkerProcess::Outcome::timed_out && left() > 0) {
    if (OnInterrupt::came()) throw Cancelled();
    outcome = process->exchange(nullptr, std::min(left(), kListenSeconds), reply);
  }
  if (outcome == WorkerProcess::Outcome::replied) {
    if (reply.contains("error")) throw error_from(reply.at("error"));
    process_ = std::move(process);
    return reply;
  }
  process->kill();
  const bool late = outcome == WorkerProcess::Outcome::timed_out;
  std::string message = "the measuring process ";
  message += late ? str("took more than ", limit, " s") : process->ending();
  if (const std::string words = process->last_words(); !words.empty()) message += ": " + words;
  throw WorkerEnded(message, !late && process->signal() == SIGKILL);
}

}  // namespace tcc::tools
