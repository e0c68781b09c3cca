#include "scheduler/made_of_weight.h"

#include <algorithm>
#include <string>

#include "ir/passes/fold_constants.h"
#include "ir/passes/graph_rewrite.h"
#include "support/error.h"

namespace tcc::sched {
namespace {

// Several nodes may read one weight.
std::string free_name(const ir::Graph& graph, const std::string& wished) {
  std::string name = wished;
  for (int number = 2;
       std::ranges::any_of(graph.values(), [&](const auto& value) { return value->name == name; });
       ++number)
    name = str(wished, ".", number);
  return name;
}

}  // namespace

ir::Value* made_of_weight(ir::Builder& builder, ir::Value* weight, std::string_view what,
                          const MakeOfWeight& make) {
  if (ir::is_fixed(weight)) {
    ir::Graph alone;
    ir::Builder inside(alone);
    alone.outputs = {make(inside, alone.add_constant(weight->name, weight->type, weight->data))};
    alone.output_names = {"w"};
    ir::fold_constants(alone);
    const ir::Value* folded = alone.outputs[0];
    if (folded->is_constant())
      return builder.graph().add_constant(free_name(builder.graph(), str(weight->name, ".", what)),
                                          folded->type, folded->data);
  }
  return builder.op("identity", {make(builder, weight)});
}

}  // namespace tcc::sched
