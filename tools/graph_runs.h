// Runs of a graph one after another: the sizes of each, and the states between them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "backends/pipeline.h"
#include "frontend/state_file.h"
#include "ir/graph.h"
#include "ir/size_range.h"
#include "ir/tensor.h"

namespace tcc::tools {

class GraphRuns {
 public:
  // `sizes` has the dims of the first run, but for the lengths of states that grow: at first these
  // are the least of their ranges in `compile.open_dims`. All must outlive this.
  GraphRuns(const ir::Graph& graph, const ir::Numbers& sizes,
            const backends::CompileOptions& compile);

  bool grows() const { return !grown_.empty(); }
  // The graph at the sizes of the run at hand. Its states have all the room that they ever need.
  const ir::Graph& bound() const { return bound_; }
  // The values when the run at hand begins; of states that grow, the rows that count.
  const std::vector<Tensor>& states() const { return states_; }

  // Reads the states before the first run. Throws Error(bad_input), which names the file, for one
  // of other names, dtypes or shapes.
  void load_states(const std::filesystem::path& file);
  // The run is over: states are as long as it leaves them. `states` has their values, or is empty
  // where nobody needs them.
  void end(std::vector<Tensor> states);
  // The next run. Throws Error(bad_input) for a state that has no room for it.
  void begin();

 private:
  struct Grown {
    size_t state;  // its number
    int axis;
    std::string dim;
  };
  const Grown* grown(size_t state) const;
  void bind();
  Tensor first_value(size_t state) const;
  NamedType type_of(size_t state) const;
  bool fits(size_t state, const TensorInfo& info) const;

  ir::Graph graph_;  // with rooms
  const backends::CompileOptions& compile_;
  ir::Numbers sizes_;  // of the run at hand
  std::vector<Grown> grown_;
  ir::Graph bound_;
  std::vector<Tensor> states_;
  bool are_loaded_ = false;  // a file had the first values
};

}  // namespace tcc::tools
