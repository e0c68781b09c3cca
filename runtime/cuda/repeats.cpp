#include "runtime/cuda/repeats.h"

#include <algorithm>

#include "support/error.h"
#include "support/log.h"
#include "support/plural.h"

namespace tcc::runtime::cuda {
namespace {

// It covers the code, the arguments and the grid: tensor maps follow from the sizes in these.
uint64_t hash_of(const Function* code, const BoundStep& step) {
  uint64_t hash = reinterpret_cast<uintptr_t>(code) + step.index();
  const auto add = [&](uint64_t value) {
    hash = (hash ^ value) * 0x9E3779B97F4A7C15U;
    hash ^= hash >> 32;
  };
  if (const auto* launch = std::get_if<BoundLaunch>(&step)) {
    for (const uint64_t argument : launch->arguments) add(argument);
    for (const uint32_t groups : launch->grid) add(groups);
  } else if (const auto* copy = std::get_if<BoundCopy>(&step)) {
    add(copy->to);
    add(copy->from);
    add(static_cast<uint64_t>(copy->bytes));
  } else {
    const auto& fill = std::get<BoundFill>(step);
    add(fill.to);
    add(static_cast<uint64_t>(fill.bytes));
  }
  return hash;
}

template <class Entry>
void make_room(std::vector<Entry>& entries, size_t most) {
  if (entries.size() == most)
    entries.erase(std::ranges::min_element(entries, {}, &Entry::last_used));
}

}  // namespace

// The graph from whose steps the fewest differ, at most half; null: there is none.
Repeats::Captured* Repeats::nearest(const CheckedSteps& steps) {
  Captured* best = nullptr;
  size_t most = steps.size() / 2;
  for (Captured& graph : graphs_)
    if (const auto differences = graph.recording->differences(steps, most)) {
      best = &graph;
      if (*differences == 0) break;
      most = *differences - 1;
    }
  return best;
}

// Whether steps of which at least half are these have come in kRunsBefore runs.
bool Repeats::has_come(const CheckedSteps& steps) {
  hashes_.clear();
  for (size_t i = 0; i < steps.size(); ++i) hashes_.push_back(hash_of(steps.code(i), steps[i]));
  for (Candidate& candidate : candidates_) {
    if (candidate.hashes.size() != hashes_.size()) continue;
    size_t same = 0;
    for (size_t i = 0; i < hashes_.size(); ++i) same += candidate.hashes[i] == hashes_[i];
    if (2 * same < hashes_.size()) continue;
    if (candidate.runs == kRunsBefore) {
      candidates_.erase(candidates_.begin() + (&candidate - candidates_.data()));
      return true;
    }
    candidate.hashes = hashes_;
    ++candidate.runs;
    candidate.last_used = uses_;
    return false;
  }
  make_room(candidates_, kCandidates);
  candidates_.push_back({.hashes = hashes_, .runs = 1, .last_used = uses_});
  return false;
}

// The launches do without a graph: that there is no memory for it is no error of theirs.
bool Repeats::capture(const CheckedSteps& steps) {
  try {
    auto recording = std::make_unique<CudaRecording>(context_, steps);
    recording->capture();
    if (recording->may_change()) {
      make_room(graphs_, kGraphs);
      graphs_.push_back({.recording = std::move(recording), .last_used = uses_});
      return true;
    }
  } catch (const Error& error) {
    log_warning(LogChannel::device, context_->name(), ": ",
                counted(steps.size(), "launch", "launches"),
                " that come again have no graph: ", error.what());
  }
  captures_ = false;
  return false;
}

void Repeats::run(std::span<const BoundStep> given, CUstream stream) {
  const CheckedSteps steps(given, *context_);
  if (steps.size() >= kLeastSteps && captures_) {
    ++uses_;
    Captured* graph = nearest(steps);
    if (!graph && has_come(steps) && capture(steps)) graph = &graphs_.back();
    if (graph) {
      graph->last_used = uses_;
      try {
        graph->recording->change(steps);
      } catch (...) {  // some nodes may be changed
        graphs_.erase(graphs_.begin() + (graph - graphs_.data()));
        throw;
      }
      return graph->recording->replay(stream);
    }
  }
  for (size_t i = 0; i < steps.size(); ++i) enqueue(steps.code(i), steps[i], *context_, stream);
}

}  // namespace tcc::runtime::cuda
