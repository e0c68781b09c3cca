#include "ir/passes/materialize_outputs.h"

#include <set>

#include "ir/builder.h"

namespace tcc::ir {

void materialize_outputs(Graph& graph) {
  Builder builder(graph);
  std::set<const Value*> seen;
  for (Value*& output : graph.outputs) {
    bool repeated = !seen.insert(output).second;
    if (output->kind == Value::Kind::result && !repeated) continue;
    builder.set_location(output->producer ? output->producer->location : output->location);
    output = builder.op("identity", {output});
  }
}

}  // namespace tcc::ir
