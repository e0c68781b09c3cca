#include "scheduler/state_plan.h"

#include <algorithm>

#include "ir/append.h"
#include "scheduler/template.h"
#include "support/error.h"

namespace tcc::sched {
namespace {

// The last region that reads `value` from its buffer; -1: none.
int last_reader(const std::vector<ScheduledRegion>& regions, const ir::Value* value) {
  int last = -1;
  for (size_t r = 0; r < regions.size(); ++r)
    if (regions[r].region().slot_of_input(value) >= 0) last = static_cast<int>(r);
  return last;
}

// The region that stores `value`; -1: none, as it has no elements.
int writer(const std::vector<ScheduledRegion>& regions, const ir::Value* value) {
  const auto found = std::ranges::find_if(
      regions, [&](const Region& region) { return region.slot_of_output(value) >= 0; });
  return found == regions.end() ? -1 : static_cast<int>(found - regions.begin());
}

void write_in_place(ScheduledRegion& scheduled, const StateUpdate& update) {
  Region region = scheduled.region();
  region.in_place[update.next] = update.state;
  Match match = match_region(region, scheduled.candidate().target());
  TCC_CHECK(match, region.name(), ": ", match.reason(), ", in place");
  TCC_CHECK(&(*match)->kernel_template() == &scheduled.candidate().kernel_template(), region.name(),
            " has another template in place");
  scheduled = ScheduledRegion(*std::move(match));
}

}  // namespace

std::vector<StateUpdate> plan_states(const ir::Graph& graph,
                                     std::vector<ScheduledRegion>& regions) {
  std::vector<StateUpdate> updates;
  for (const auto& node : graph.nodes()) {
    if (!node->stored_in()) continue;
    StateUpdate& update = updates.emplace_back(node->stored_in(), node->outputs[0]);
    const bool is_output = std::ranges::find(graph.outputs, update.next) != graph.outputs.end();
    const int at = writer(regions, update.next), read = last_reader(regions, update.state);
    if (ir::appends(*node) && read > at && at >= 0)
      fail_input(ir::to_string(node->location), ": state '", update.state->name,
                 "': its old value is read where rows are behind it already: read the result of ",
                 node->op_name());
    if (is_output || at < 0 || read > at) continue;
    ScheduledRegion& scheduled = regions[static_cast<size_t>(at)];
    const bool reads = scheduled.region().slot_of_input(update.state) >= 0;
    if (reads && !scheduled.candidate().updates_in_place(update.state, update.next)) continue;
    update.is_direct = true;
    TCC_CHECK(!reads || !ir::appends(*node), scheduled.region().name(),
              " reads what it appends to");
    if (reads) write_in_place(scheduled, update);
  }
  return updates;
}

}  // namespace tcc::sched
