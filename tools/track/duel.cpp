#include "tools/track/duel.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "support/error.h"
#include "tcc/progress.hpp"
#include "tools/track/told.h"

namespace tcc::tools {
namespace {

using autotune::WorkerProcess;
using nlohmann::json;

// Results of two builds differ by rounding; beyond this of their scale one of them is wrong.
constexpr double kDifference = 0.02;
constexpr double kStartSeconds = 120;   // until both libraries are open
constexpr size_t kMostCompilers = 8;    // processes that compile at a time
constexpr double kListenSeconds = 0.1;  // between looks for an interrupt

CaseFacts facts_from(const json& from) {
  return {.launches = from.at("launches"),
          .arena_bytes = from.at("arena_bytes"),
          .constant_bytes = from.at("constant_bytes"),
          .compile_seconds = from.at("compile_seconds"),
          .kernels = from.at("kernels")};
}

// Somebody ended the process: the kernel, for want of memory, or a user.
struct KilledFromOutside : Error {
  using Error::Error;
};

}  // namespace

Duels::Duels(std::vector<TrackCase> cases, DuelSetup setup, double limit)
    : setup_(std::move(setup)), limit_(limit), seen_(cases.size()), asked_(cases.size()) {
  for (TrackCase& one : cases) cases_.push_back({.what = std::move(one)});
}

void Duels::start(bool head_first) {
  setup_.head_first = head_first;
  std::fill(seen_.begin(), seen_.end(), false);
  worker_ = std::make_unique<WorkerProcess>(
      std::vector<std::string>{"/proc/self/exe", "--worker", to_json(setup_).dump()});
  exchange(nullptr, kStartSeconds);
}

// Throws, and gives the worker up, where no good reply comes: after an error, what it still has of
// the device may be unusable for the cases that follow.
json Duels::exchange(const json& request, double limit) {
  using Clock = std::chrono::steady_clock;
  std::unique_ptr<WorkerProcess> worker = std::move(worker_);
  const auto deadline = Clock::now() + std::chrono::duration<double>(limit);
  const auto left = [&] { return std::chrono::duration<double>(deadline - Clock::now()).count(); };
  json reply;
  auto outcome = worker->exchange(request, std::min(limit, kListenSeconds), reply);
  while (outcome == WorkerProcess::Outcome::timed_out && left() > 0) {
    if (OnInterrupt::came()) throw Cancelled();
    outcome = worker->exchange(nullptr, std::min(left(), kListenSeconds), reply);
  }
  if (outcome == WorkerProcess::Outcome::replied) {
    if (reply.contains("error")) {
      const json& error = reply.at("error");
      throw Error(static_cast<ErrorKind>(error.at("kind").get<int>()),
                  error.at("message").get<std::string>());
    }
    worker_ = std::move(worker);
    return reply;
  }
  worker->kill();
  const bool late = outcome == WorkerProcess::Outcome::timed_out;
  std::string message = "the measuring process ";
  message += late ? str("took more than ", limit, " s") : worker->ending();
  if (const std::string words = worker->last_words(); !words.empty()) message += ": " + words;
  if (!late && worker->signal() == SIGKILL) throw KilledFromOutside(ErrorKind::device, message);
  throw Error(ErrorKind::device, message);
}

json Duels::ask(const char* what, size_t number) {
  Case& one = cases_[number];
  const bool head_first = asked_[number]++ % 2 == 1;
  const auto attempt = [&] {
    if (!worker_ || seen_[number] || setup_.head_first != head_first) start(head_first);
    seen_[number] = true;
    return exchange({{"do", what}, {"case", to_json(one.what)}}, limit_);
  };
  json reply;
  try {
    reply = attempt();
  } catch (const KilledFromOutside& error) {
    notes_.push_back(str(one.what.name, ": ", error.what(), "; another took its place"));
    reply = attempt();
  }
  one.base.facts = facts_from(reply.at("base"));
  one.head.facts = facts_from(reply.at("head"));
  return reply;
}

void Duels::fill_cache(const std::function<bool(size_t)>& told) {
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  size_t done = 0;
  bool goes_on = true;
  const auto work = [&] {
    // Whatever is wrong with a case is found, and said, by the process that measures it.
    Duels part(std::vector<TrackCase>{}, setup_, limit_);
    for (size_t i; (i = next++) < cases_.size();) {
      part.cases_.assign(1, {.what = cases_[i].what});
      part.seen_.assign(1, false);
      part.asked_.assign(1, 0);
      try {
        part.ask("compile", 0);
      } catch (const std::exception&) {}
      const std::lock_guard lock(mutex);
      if (!(goes_on = goes_on && told(++done))) return;
    }
  };
  const size_t count = std::clamp<size_t>(std::thread::hardware_concurrency(), 1, kMostCompilers);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < std::min(count, cases_.size()); ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
}

track::Block Duels::block(size_t number) {
  const json reply = ask("block", number);
  Case& one = cases_[number];
  one.difference = reply.at("difference");
  if (!(one.difference <= kDifference))
    fail_device("the results differ by ", one.difference, " of their scale");
  track::Block block;
  std::vector<double> bases, heads;
  for (const json& pair : reply.at("pairs")) {
    block.push_back({pair.at(0).get<double>(), pair.at(1).get<double>()});
    bases.push_back(block.back().base);
    heads.push_back(block.back().head);
  }
  one.base.seconds.push_back(track::median_of(std::move(bases)));
  one.head.seconds.push_back(track::median_of(std::move(heads)));
  one.blocks.push_back(block);
  return block;
}

track::Block Duels::compile_block(size_t number) {
  ask("compile", number);
  const Case& one = cases_[number];
  return {{one.base.facts->compile_seconds, one.head.facts->compile_seconds}};
}

void Duels::time_kernels(size_t number) {
  const json reply = ask("kernels", number);
  Case& one = cases_[number];
  for (const auto& [side, name] : {std::pair(&one.base, "base"), std::pair(&one.head, "head")}) {
    side->kernel_seconds = reply.at(name).at("seconds").get<std::vector<double>>();
    side->sources = reply.at(name).at("sources").get<std::vector<std::string>>();
  }
}

}  // namespace tcc::tools
