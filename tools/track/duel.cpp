#include "tools/track/duel.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "support/error.h"
#include "tools/track/case_json.h"

namespace tcc::tools {
namespace {

using Json = nlohmann::json;

// Results of two builds differ by rounding; beyond this of their scale one of them is wrong.
constexpr double kDifference = 0.02;
constexpr double kStartSecondsOfBoth = 120;  // until both libraries are open
constexpr size_t kMostCompilers = 8;         // processes that compile at a time

CaseFacts facts_from(const Json& from) {
  return {.launches = from.at("launches"),
          .arena_bytes = from.at("arena_bytes"),
          .constant_bytes = from.at("constant_bytes"),
          .compile_seconds = from.at("compile_seconds"),
          .kernels = from.at("kernels")};
}

}  // namespace

Json DuelProcess::ask(const char* what, const TrackCase& one, bool head_first) {
  const bool usable = worker_ && worker_->is_alive() && setup_.head_first == head_first;
  if (!usable || seen_.contains(one.name)) {
    setup_.head_first = head_first;
    seen_.clear();
    worker_.reset();
    worker_ = std::make_unique<Worker>("duel", to_json(setup_).dump(), kStartSecondsOfBoth);
  }
  seen_.insert(one.name);
  return worker_->ask({{"do", what}, {"case", to_json(one)}}, limit_);
}

Duels::Duels(const std::vector<TrackCase>& cases, const DuelSetup& setup, double limit)
    : setup_(setup), limit_(limit), process_(setup, limit), asked_(cases.size()) {
  for (const TrackCase& one : cases) cases_.push_back({.what = one});
}

Json Duels::ask(const char* what, size_t number) {
  Case& one = cases_[number];
  const bool head_first = asked_[number]++ % 2 == 1;
  Json reply;
  try {
    reply = process_.ask(what, one.what, head_first);
  } catch (const WorkerEnded& error) {
    if (!error.killed_from_outside) throw;
    notes_.push_back(str(one.what.name, ": ", error.what(), "; another took its place"));
    reply = process_.ask(what, one.what, head_first);
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
    DuelProcess process(setup_, limit_);
    for (size_t i; (i = next++) < cases_.size();) {
      try {
        process.ask("compile", cases_[i].what, false);
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
  const Json reply = ask("block", number);
  Case& one = cases_[number];
  one.difference = reply.at("difference");
  if (!(one.difference <= kDifference))
    fail_device("the results differ by ", one.difference, " of their scale");
  track::Block block;
  std::vector<double> bases, heads;
  for (const Json& pair : reply.at("pairs")) {
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
  const Json reply = ask("kernels", number);
  Case& one = cases_[number];
  for (const auto& [side, name] : {std::pair(&one.base, "base"), std::pair(&one.head, "head")}) {
    side->kernel_seconds = reply.at(name).at("seconds").get<std::vector<double>>();
    side->sources = reply.at(name).at("sources").get<std::vector<std::string>>();
  }
}

}  // namespace tcc::tools
