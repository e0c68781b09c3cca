// What the candidates of all attention templates share. A Case has the plan as its member.
#pragma once

#include <vector>

#include "scheduler/templates/attention_plan.h"
#include "scheduler/templates/rule_space.h"

namespace tcc::sched {

template <class Case>
class AttentionCandidate : public RuledCandidate<Case> {
 public:
  using RuledCandidate<Case>::RuledCandidate;

  std::vector<LayoutWish> order_wishes() const override {
    return wishes_of_rows(this->region(), plan());
  }

 protected:
  using typename RuledCandidate<Case>::ShapeModel;

  const AttentionPlan& plan() const { return this->rules().of().plan; }

  // Predicts the seconds of a legal shape at the queries and keys of a plan, which is this one or
  // this one at other lengths.
  virtual ShapeModel model_of(const AttentionPlan& plan) const = 0;

 private:
  ShapeModel shape_model() const override { return model_of(plan()); }
  // The length that estimates take is a short one where ranges are wide, and keys are split for the
  // long ones.
  std::vector<ShapeModel> models_of_other_sizes() const override {
    if (plan().has_fixed_lengths()) return {};
    return {model_of(plan().at_longest())};
  }
};

}  // namespace tcc::sched
