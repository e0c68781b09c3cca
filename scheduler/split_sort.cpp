#include "scheduler/split_sort.h"

#include <algorithm>

namespace tcc::sched {
namespace {

struct Row {
  size_t dim;
  int64_t extent, keep;
};

Row row_of(const ir::Node& node) {
  const ir::Value* x = node.inputs[0];
  int64_t dim = node.attr<int64_t>("dim");
  if (dim < 0) dim += x->rank();
  const int64_t extent = x->shape()[static_cast<size_t>(dim)].value();
  const int64_t keep = node.attr<int64_t>("keep");
  return {static_cast<size_t>(dim), extent, keep == 0 ? extent : keep};
}

// The steps of one sort; the last one's results.
class Steps {
 public:
  Steps(ir::Builder& builder, const ir::Node& node) : b_(builder), node_(node) {
    values_ = {node.inputs[0], node.inputs.size() > 1 ? node.inputs[1] : nullptr};
  }

  const std::vector<ir::Value*>& take(int64_t longest) {
    const Row row = row_of(node_);
    // The steps of a top-k leave a quarter or less each.
    const bool selects = row.keep <= longest / 4;
    step(longest, std::min(row.keep, longest), 0, false);
    if (selects) {
      while (extent() > longest) step(longest, row.keep, 0, false);
      step(0, row.keep, 0, true);
      return values_;
    }
    for (int64_t sorted = std::min(row.keep, longest); extent() > sorted;) {
      const int64_t keep = std::min(row.keep, 2 * sorted);
      const bool last = extent() <= 2 * sorted;
      step(2 * sorted, keep, sorted, last);
      if (last) break;
      sorted = keep;
    }
    return values_;
  }

 private:
  int64_t extent() const { return values_[0]->shape()[row_of(node_).dim].value(); }

  // Places in a row take 32 bits until the last step.
  void step(int64_t run, int64_t keep, int64_t sorted, bool last) {
    ir::Attrs attrs = node_.attrs;
    attrs["run"] = run;
    attrs["keep"] = keep;
    attrs["sorted"] = sorted;
    if (!last) attrs["index"] = DType::i32;
    if (!values_[1]) values_.pop_back();
    values_ = b_.ops("sort_runs", values_, attrs);
  }

  ir::Builder& b_;
  const ir::Node& node_;
  std::vector<ir::Value*> values_;
};

}  // namespace

ir::Replacement split_sort(ir::Builder& builder, const ir::Node& node, int64_t longest) {
  return Steps(builder, node).take(longest);
}

}  // namespace tcc::sched
