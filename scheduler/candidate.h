// A candidate: a region that a kernel template takes, on one target, with everything that the
// template found out about it.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "scheduler/alternative.h"
#include "scheduler/config.h"
#include "scheduler/kernel_sequence.h"
#include "scheduler/refusal.h"
#include "scheduler/region.h"
#include "scheduler/target.h"

namespace tcc::sched {

class Template;

// Predicts the seconds of a legal config, for ranking. It is called for a million configs, so that
// it must be cheap. It owns what it needs.
using CostModel = std::function<double(const Config&)>;

// A layout in which a kernel would rather have one of its buffers.
struct LayoutWish {
  const ir::Value* value;
  Layout layout;
};

// Immutable and thread-safe. The graph outlives it; the region and the target are copies.
class Candidate {
 public:
  virtual ~Candidate() = default;
  Candidate(const Candidate&) = delete;
  Candidate& operator=(const Candidate&) = delete;

  const Template& kernel_template() const { return template_; }
  const Region& region() const { return region_; }
  const Target& target() const { return target_; }

  // Each of the three is made at the first call and kept. Configs that a quirk of the target
  // switches off are not legal.
  const ConfigSpace& space() const;
  // A legal config of the space without tuning: the analytic model's choice, where that is switched
  // off the fastest other one by the cost model. match_region() refuses regions without one.
  const Config& default_config() const;
  // The analytic model of the region's kernels (scheduler/cost.h).
  const CostModel& cost_model() const;
  double estimate(const Config& config) const { return cost_model()(config); }
  double default_seconds() const { return estimate(default_config()); }

  // Other graphs for the result of the anchor, which is the region's only node but for those that
  // cost nothing: where the kernels alone might take much longer than several would. Cost decides.
  virtual std::vector<Alternative> alternatives(AlternativeStage /*stage*/) const { return {}; }
  // Returns whether the kernels read along one dim and write along another at the speed of memory:
  // other kernels' wishes for the layouts of its buffers cost it nothing.
  virtual bool turns_layouts() const { return false; }
  // Returns whether `output` may be written to the buffer of `input`, of the same type and layout:
  // a thread that reads an element of the input stores this element of the output afterwards.
  virtual bool updates_in_place(const ir::Value* /*input*/, const ir::Value* /*output*/) const {
    return false;
  }
  // Returns whether the estimates count how often computed operands of the region's products are
  // computed: once in all, for each of few parts, or for each workgroup. They decide then.
  virtual bool computes_operands_once() const { return false; }
  // Orders of dims that the kernels want in memory, whatever else reads the buffers.
  virtual std::vector<LayoutWish> order_wishes() const { return {}; }
  // Longer rows, and other orders that come with them, in addition to the layouts that there are.
  virtual std::vector<LayoutWish> row_wishes() const { return {}; }

  // The node that calls a function of the host's (ir/external.h) in the place of kernels; null for
  // kernels. Such a candidate has one config, and its sequence is empty.
  virtual const ir::Node* host_call() const { return nullptr; }

  // The region's kernels, one in most cases. Deterministic; `config` is legal. The result is not
  // legalised yet.
  virtual KernelSequence lower(const Config& config) const = 0;

 protected:
  Candidate(const Template& by, const Region& region, const Target& target)
      : template_(by), region_(region), target_(target) {}

  // The space as make_space() has it, for make_default_config(): what a quirk switches off is
  // legal.
  const ConfigSpace& own_space() const;

 private:
  virtual ConfigSpace make_space() const = 0;
  virtual Config make_default_config() const = 0;
  virtual CostModel make_cost_model() const = 0;

  template <class T>
  struct Once {
    mutable std::once_flag flag;
    mutable std::optional<T> value;
  };

  const Template& template_;
  const Region region_;
  const Target target_;
  Once<ConfigSpace> own_space_, space_;
  Once<Config> default_config_;
  Once<CostModel> cost_model_;
};

using CandidatePtr = std::shared_ptr<const Candidate>;
using Match = OrRefusal<CandidatePtr>;

// A region of a program, and how it becomes a kernel.
class ScheduledRegion {
 public:
  ScheduledRegion(CandidatePtr candidate) : candidate_(std::move(candidate)) {}
  const Region& region() const { return candidate_->region(); }
  const Candidate& candidate() const { return *candidate_; }
  const CandidatePtr& shared() const { return candidate_; }
  operator const Region&() const { return region(); }

 private:
  CandidatePtr candidate_;
};

}  // namespace tcc::sched
