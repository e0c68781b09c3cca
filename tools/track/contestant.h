// A comparison runs contestants: a case of a suite, compiled by one library.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ir/tensor.h"
#include "tools/track/library.h"
#include "tools/track/suite.h"

namespace tcc::tools {

struct TrackCompile {
  std::string device;               // "cuda:0"
  std::vector<std::string> tuning;  // files and folders of records
  std::string cache_dir;            // of compiled kernels; "": the library's default
};

struct CaseFacts {
  // Counts, which are the same in every run.
  int64_t launches = 0, arena_bytes = 0, constant_bytes = 0;
  double compile_seconds = 0;  // with the kernels that the disk cache has
  std::string kernels;         // tcc_kernel_report
};

class Contestant {
 public:
  // Compiles the case. Throws the library's errors.
  Contestant(const Library& library, const TrackCase& one, const TrackCompile& options);

  const CaseFacts& facts() const { return facts_; }
  // "f32[16], i32[4] -> f32[16]": types and shapes of inputs and outputs. Two libraries for which
  // they differ read different work from the case.
  std::string interface() const;
  // Returns the sources of the kernels, in their order; empty where the library does not give them.
  std::vector<std::string> sources() const;
  // Returns inputs, the same for every contestant of a case.
  std::vector<Tensor> draw_inputs() const;

  // Buffers and a recording of their own.
  class Session {
   public:
    Session(const Contestant& contestant, const std::vector<Tensor>& inputs);
    // Seconds of the device for one run, over `replays` in a row.
    double time(int replays) const;
    // Seconds of one launch of each kernel of the facts, in their order.
    std::vector<double> time_kernels() const;
    const std::vector<Tensor>& outputs() const { return outputs_; }

   private:
    struct Destroy {
      const Library* library;
      void operator()(tcc_context* context) const { library->context_destroy(context); }
    };
    const Library& library_;
    std::unique_ptr<tcc_context, Destroy> context_;
    std::vector<Tensor> outputs_;
    size_t num_kernels_ = 0;
  };

 private:
  struct Destroy {
    const Library* library;
    void operator()(tcc_graph* graph) const { library->graph_destroy(graph); }
    void operator()(tcc_compiled* compiled) const { library->compiled_destroy(compiled); }
  };
  const Library& library_;
  TrackCase case_;
  std::unique_ptr<tcc_graph, Destroy> graph_;
  std::unique_ptr<tcc_compiled, Destroy> compiled_;
  size_t num_kernels_ = 0;
  CaseFacts facts_;
};

// The root of the mean square of the differences over that of `base`, over all outputs; 0 for equal
// bits, infinity where types or shapes differ or one has a NaN or an infinity that the other has
// not.
double relative_difference(const std::vector<Tensor>& base, const std::vector<Tensor>& head);

}  // namespace tcc::tools
