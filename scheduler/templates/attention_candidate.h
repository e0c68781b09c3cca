// The candidates of all attention templates share this. A Case has the plan as its member.
#pragma once

#include <vector>

#include "scheduler/templates/attention_list.h"
#include "scheduler/templates/attention_plan.h"
#include "scheduler/templates/rule_space.h"

namespace tcc::sched {

template <class Values>
Field<Values> field_of_lists() {
  return {
      "lists", {0, 1}, "whether a kernel ahead lists the tiles that tensors empty", &Values::lists};
}

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

  // With a list, behind the kernel that makes it.
  KernelSequence with_list(KernelSequence attention, const AttentionTile& tile, bool lists) const {
    if (!lists) return attention;
    return AttentionTileList(this->region(), plan(), tile)
        .before(std::move(attention), "tile_seen");
  }

  // Predicts the seconds of a legal shape at the queries and keys of a plan, which is this one or
  // this one at other lengths.
  virtual ShapeModel model_of(const AttentionPlan& plan) const = 0;

 private:
  ShapeModel with_lists(ShapeModel model) const {
    using Lists = typename Case::Shape;
    if constexpr (requires(const Lists& shape) { shape.lists; }) {
      if (AttentionTileList::is_possible(plan()))
        return [model = std::move(model), rest = 1 - AttentionTileList::expected(plan()),
                list = AttentionTileList::seconds(plan(), this->target())](const Lists& shape) {
          return shape.lists ? model(shape) * rest + list : model(shape);
        };
    }
    return model;
  }

  ShapeModel shape_model() const override { return with_lists(model_of(plan())); }
  // The usual lengths are short ones where ranges are wide, and take about as long as a launch
  // does: longer ones, four times each, up to the longest.
  std::vector<ShapeModel> models_of_sizes() const override {
    std::vector<ShapeModel> models;
    int64_t queries = -1, keys = -1;
    for (const int64_t most : {256, 1024, 4096, 16384}) {
      const AttentionPlan longer = plan().at_length(most);
      if (longer.queries == queries && longer.keys == keys) continue;
      queries = longer.queries;
      keys = longer.keys;
      models.push_back(with_lists(model_of(longer)));
    }
    return models;
  }
};

}  // namespace tcc::sched
