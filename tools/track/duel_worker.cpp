#include "tools/track/duel_worker.h"

#include <malloc.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "backends/compile/process.h"
#include "support/error.h"
#include "tcc/track.hpp"
#include "tools/track/case_json.h"

namespace tcc::tools {
namespace {

using Json = nlohmann::json;

constexpr double kPairsSeconds = 50e-3;  // of all pairs, where a run is short
constexpr int kLeastPairs = 4, kMostPairs = 24;
constexpr int kKernelRounds = 9;

Json to_json(const CaseFacts& facts) {
  return {{"launches", facts.launches},
          {"arena_bytes", facts.arena_bytes},
          {"constant_bytes", facts.constant_bytes},
          {"compile_seconds", facts.compile_seconds},
          {"kernels", facts.kernels}};
}

DuelSetup setup_from(const Json& from) {
  return {.base = from.at("base"),
          .head = from.at("head"),
          .compile = {from.at("device"), from.at("tuning").get<std::vector<std::string>>(), ""},
          .head_first = from.at("head_first"),
          .cold = from.at("cold")};
}

class Duelist final : public Served {
 public:
  explicit Duelist(const DuelSetup& setup) : setup_(setup) {
    in_order([&](bool is_head) { open(is_head).emplace(is_head ? setup_.head : setup_.base); });
  }

  Json hello() override { return Json::object(); }

  Json answer(const Json& request) override {
    const TrackCase one = case_from(request.at("case"));
    // The contestants of the previous case live until here: an unused device is closed, and opening
    // it takes longer than a block.
    Sides<std::unique_ptr<Contestant>> before = compile(one);
    std::swap(before, compiled_);
    drop(before);
    const std::string base = compiled_.base->interface(), head = compiled_.head->interface();
    if (base != head)
      fail_input("the work differs: base reads ", base, " from the graph, head ", head,
                 "; they are not compared");
    Json reply = {{"base", to_json(compiled_.base->facts())},
                  {"head", to_json(compiled_.head->facts())}};
    const auto what = request.at("do").get<std::string>();
    if (what == "compile") return reply;
    const std::vector<Tensor> inputs = compiled_.head->draw_inputs();
    Sides<std::unique_ptr<Contestant::Session>> sessions;
    in_order([&](bool is_head) {
      named(is_head, [&] {
        sessions.of(is_head) =
            std::make_unique<Contestant::Session>(*compiled_.of(is_head), inputs);
      });
    });
    if (what == "kernels") {
      add_kernel_seconds(sessions, reply);
      reply["base"]["sources"] = compiled_.base->sources();
      reply["head"]["sources"] = compiled_.head->sources();
      return reply;
    }
    reply["difference"] = relative_difference(sessions.base->outputs(), sessions.head->outputs());
    reply["pairs"] = pairs(sessions);
    drop(sessions);
    return reply;
  }

 private:
  template <class T>
  struct Sides {
    T base, head;
    T& of(bool is_head) { return is_head ? head : base; }
    const T& of(bool is_head) const { return is_head ? head : base; }
  };

  std::optional<Library>& open(bool is_head) { return libraries_.of(is_head); }

  template <class Do>
  void in_order(const Do& work) {
    work(setup_.head_first);
    work(!setup_.head_first);
  }

  // Errors say whose they are.
  template <class Do>
  static void named(bool is_head, const Do& work) {
    try {
      work();
    } catch (const Error& error) {
      throw Error(error.kind(), str(is_head ? "head: " : "base: ", error.what()));
    }
  }

  Sides<std::unique_ptr<Contestant>> compile(const TrackCase& one) {
    Sides<std::unique_ptr<Contestant>> sides;
    in_order([&](bool is_head) {
      std::optional<backends::TemporaryFolder> cache;
      TrackCompile options = setup_.compile;
      if (setup_.cold) options.cache_dir = cache.emplace().path().string();
      named(is_head, [&] {
        sides.of(is_head) = std::make_unique<Contestant>(*open(is_head), one, options);
      });
    });
    return sides;
  }

  // Goes from the last to the first, as a mirror of how they came.
  template <class T>
  void drop(Sides<T>& sides) {
    sides.of(!setup_.head_first).reset();
    sides.of(setup_.head_first).reset();
  }

  // In the order first, second, second, first.
  Json pairs(const Sides<std::unique_ptr<Contestant::Session>>& sessions) {
    const Contestant::Session& first = *sessions.of(setup_.head_first);
    const Contestant::Session& second = *sessions.of(!setup_.head_first);
    first.time(1), second.time(1);
    const double once = std::max({first.time(1), second.time(1), 1e-7});
    const int replays =
        std::clamp(static_cast<int>(std::ceil(kSampleSeconds / once)), 1, kMostReplays);
    const int count =
        std::clamp(static_cast<int>(kPairsSeconds / (once * replays) / 2), kLeastPairs, kMostPairs);
    Json all = Json::array();
    for (int i = 0; i < count; ++i) {
      double of_first = 0, of_second = 0;
      if (i % 2 == 1) of_second = second.time(replays);
      of_first = first.time(replays);
      if (i % 2 == 0) of_second = second.time(replays);
      all.push_back(setup_.head_first ? Json{of_second, of_first} : Json{of_first, of_second});
    }
    return all;
  }

  static void add_kernel_seconds(const Sides<std::unique_ptr<Contestant::Session>>& sessions,
                                 Json& reply) {
    Sides<std::vector<std::vector<double>>> rounds;
    for (int i = 0; i < kKernelRounds; ++i)
      for (const bool is_head : {false, true})
        rounds.of(is_head).push_back(sessions.of(is_head)->time_kernels());
    for (const bool is_head : {false, true}) {
      std::vector<double> medians;
      for (size_t k = 0; k < rounds.of(is_head)[0].size(); ++k) {
        std::vector<double> samples;
        for (const std::vector<double>& round : rounds.of(is_head)) samples.push_back(round[k]);
        medians.push_back(track::median_of(samples));
      }
      reply[is_head ? "head" : "base"]["seconds"] = medians;
    }
  }

  DuelSetup setup_;
  Sides<std::optional<Library>> libraries_;
  Sides<std::unique_ptr<Contestant>> compiled_;  // for the last request
};

}  // namespace

Json to_json(const DuelSetup& setup) {
  return {{"base", setup.base},
          {"head", setup.head},
          {"device", setup.compile.device},
          {"tuning", setup.compile.tuning},
          {"head_first", setup.head_first},
          {"cold", setup.cold}};
}

std::unique_ptr<Served> serve_duels(const std::string& setup) {
  // Tensors come and go with every case: faulting their pages in again takes longer than a block.
  ::mallopt(M_MMAP_THRESHOLD, 1 << 30);
  ::mallopt(M_TRIM_THRESHOLD, 1 << 30);
  return std::make_unique<Duelist>(setup_from(Json::parse(setup)));
}

}  // namespace tcc::tools
