// Runs of a stream that come again, perhaps with other sizes and addresses.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/cuda/recording.h"

namespace tcc::runtime::cuda {

// The launch of one CUDA graph takes the host less time than the launches of its kernels. Steps
// that come again are captured, and the graph's nodes are told what differs in each later run: a
// decoder whose state grows has other sizes at each run, on which a part of its launches depends.
// Where most differ, the launches take no longer, and begin at once.
class Repeats {
 public:
  explicit Repeats(std::shared_ptr<const Context> context)
      : context_(std::move(context)), captures_(context_->api().cuStreamGetCaptureInfo_v3) {}

  // Asynchronous. The context must be current, and the stream not captured.
  void run(std::span<const BoundStep> steps, CUstream stream);

 private:
  static constexpr size_t kLeastSteps = 4;  // fewer are launched one by one
  static constexpr int kRunsBefore = 2;     // steps are captured
  static constexpr size_t kCandidates = 8, kGraphs = 8;

  // Steps without a graph: a hash of each.
  struct Candidate {
    std::vector<uint64_t> hashes;
    int runs = 0;
    uint64_t last_used = 0;
  };
  struct Captured {
    std::unique_ptr<CudaRecording> recording;
    uint64_t last_used = 0;
  };
  Captured* nearest(const CheckedSteps& steps);
  bool has_come(const CheckedSteps& steps);
  bool capture(const CheckedSteps& steps);

  std::shared_ptr<const Context> context_;
  bool captures_;  // the driver tells what it captured, and has not refused a graph
  std::vector<Captured> graphs_;
  std::vector<Candidate> candidates_;
  std::vector<uint64_t> hashes_;  // of the steps at hand
  uint64_t uses_ = 0;
};

}  // namespace tcc::runtime::cuda
