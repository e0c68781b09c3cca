// The whole compiler, stage by stage: a graph in, an Executable out. stage_names() lists the
// stages; graph_stages() in pipeline.cpp has those on the graph.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "backends/compile/kernel_cache.h"
#include "executable/executable.h"
#include "ir/equal_dims.h"
#include "ir/graph.h"
#include "ir/size_range.h"
#include "scheduler/kernel.h"
#include "scheduler/plan.h"
#include "scheduler/tuning.h"
#include "support/watch.h"

namespace tcc::backends {

// The precision of matrix products. highest: f32 operands and f32 sums (f8: each 128 of k's). high,
// medium: matrix units may read f32 operands as tf32 (10 bits of mantissa), as PyTorch's "high"
// does, and keep the sums of f8 operands (14 bits), as its use_fast_accum does.
enum class MatmulPrecision : uint8_t { highest, high, medium };
// Parses a name; returns nothing for others.
std::optional<MatmulPrecision> parse_matmul_precision(std::string_view name);

struct CompileOptions {
  std::map<std::string, int64_t, std::less<>> dims;  // symbols; the graph's defaults fill the rest
  // Dims that come when the program is bound: one executable for all sizes of the ranges. Their
  // values in `dims` are what estimates take.
  ir::SizeRanges open_dims;
  ir::DimExpressions equal_dims;  // dims that are expressions of others
  // Dims that settle_dims() has written into the graph as expressions of open dims and numbers.
  ir::DimExpressions settled_dims;
  // Sizes of open dims that kernels are made for beside those for all: one variant each, the ones
  // of most dims first.
  std::vector<std::map<std::string, int64_t, std::less<>>> specialize;
  std::optional<DType> dtype;  // casts the graph's floating point
  MatmulPrecision matmul_precision = MatmulPrecision::highest;
  bool strict_rounding = false;                  // round after every op, as an eager framework does
  bool fuse = true;                              // false: one kernel per op
  bool validate = false;                         // spirv-val on every module; so does TCC_LOGS
  const sched::ConfigSource* configs = nullptr;  // null: the templates' defaults
  const sched::PlanSource* plan = nullptr;       // null: the passes' defaults
  KernelCache* cache = nullptr;                  // null: compile everything
  bool binaries = true;                          // false: source text only
  const Watch* watch = nullptr;                  // told of stages and kernels; may end the work
  // Called, when set, after every stage with its name and the state as text.
  std::function<void(std::string_view stage, const std::string& text)> dump;
  // Gets a line for every pair of neighbouring regions that did not become one, for every set of
  // nodes that a template would have as one region, as attention, and for every composite op that
  // templates for such ops refuse, with the reason, when set. So does TCC_LOGS=fusion, but for
  // composite ops, which TCC_LOGS=compile names.
  std::function<void(const std::string& line)> explain_fusion;
};

// Returns the stages' names, in order; --dump-after takes them.
std::vector<std::string_view> stage_names();

// Writes options.equal_dims, and the dims that the graph takes for equal to open ones, into the
// graph as expressions, moves them to options.settled_dims, and returns them
// (ir::write_equal_dims). Compiling does so with its copy of both. Throws Error(bad_input).
ir::DimExpressions settle_dims(ir::Graph& graph, CompileOptions& options);

// Compiles for `target`; needs no device. Throws Error(bad_input) for mistakes in the graph, and
// Error(device) where the target or its compiler fails.
exec::Executable compile(const ir::Graph& graph, const sched::Target& target,
                         const CompileOptions& options = {});

// Adds the variants of options.specialize, which are compiled like `executable`.
void add_variants(exec::Executable& executable, const ir::Graph& graph, const sched::Target& target,
                  const CompileOptions& options);

// The first half: the bound, simplified, decomposed graph and its regions in execution order
// (pointing into it).
struct Scheduled {
  std::unique_ptr<ir::Graph> graph;
  std::vector<sched::ScheduledRegion> regions;
};
Scheduled schedule(const ir::Graph& graph, const sched::Target& target,
                   const CompileOptions& options = {});

// Compiles one region with one config; a tuner measures the result.
exec::StandaloneSequence compile_region(const sched::Candidate& candidate,
                                        const sched::Config& config,
                                        const CompileOptions& options = {});

// A kernel, legalised and compiled. Its scalars are the kernel's sizes.
exec::StandaloneKernel compile_kernel(const sched::Kernel& kernel, const sched::Target& target,
                                      const CompileOptions& options = {});

}  // namespace tcc::backends
