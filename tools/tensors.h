// The tools' inputs and outputs: from files or drawn, and compared with the reference.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ir/graph.h"
#include "ir/reference/compare.h"
#include "ir/tensor.h"

namespace tcc::tools {

struct InputFiles {
  std::vector<std::string> named;  // NAME=FILE.npy
  std::string npz;                 // all by name; missing ones are drawn
  uint64_t seed = 0;
};

// A tensor for every input of the bound graph: from the files, else drawn. Throws Error(bad_input)
// for names, dtypes and shapes that do not fit. A float file may be of another float type: it is
// converted.
std::vector<Tensor> load_inputs(const ir::Graph& bound, const InputFiles& files);

// Writes an npz of the outputs.
void save_outputs(const ir::Graph& graph, const std::vector<Tensor>& outputs,
                  const std::string& path);

// The reference's view of the inputs and both its modes' outputs, compared with `outputs`, in the
// graph's order. `tf32`: products of f32 may have been computed so.
std::vector<ir::Comparison> check_outputs(const ir::Graph& bound, const std::vector<Tensor>& inputs,
                                          const std::vector<Tensor>& outputs, bool tf32);

}  // namespace tcc::tools
