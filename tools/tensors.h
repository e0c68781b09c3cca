// The tools' inputs and outputs: from files or drawn, and compared with the reference.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "frontend/graph_file.h"
#include "ir/graph.h"
#include "ir/reference/compare.h"
#include "ir/tensor.h"

namespace tcc::tools {

struct InputOptions {
  std::vector<std::string> named;  // NAME=FILE.npy
  std::string npz;                 // all by name
};
// --input and --inputs.
void add_input_options(CLI::App& app, InputOptions& options);

// The files of inputs: what a graph is loaded with, and run on.
class InputFiles : public GivenInputs {
 public:
  // Throws Error(bad_input) for what is no NAME=FILE and for files that cannot be opened.
  explicit InputFiles(const InputOptions& options);

  std::optional<TensorInfo> info(const std::string& name) const override;
  TensorPtr load(const std::string& name) const override;
  // "x.npy", "inputs.npz: 'x'": where an input comes from, for messages.
  std::string source(const std::string& name) const;
  // Throws Error(bad_input) for a NAME=FILE that nobody asked for.
  void check_all_used() const;

 private:
  const TensorFile* file_of(const std::string& name, std::string& key) const;
  std::map<std::string, std::pair<std::string, std::unique_ptr<TensorFile>>> named_;
  std::string npz_path_;
  std::unique_ptr<TensorFile> npz_;
  mutable std::set<std::string> used_;
};

// A tensor for every input of the bound graph: from the files, else drawn with `seed`. Throws
// Error(bad_input) for names, dtypes and shapes that do not fit. A float file may be of another
// float type: it is converted.
std::vector<Tensor> load_inputs(const ir::Graph& bound, const InputFiles& files, uint64_t seed = 0);

// Throws Error(bad_input) where `path`, if given, does not end in .npz (all outputs by name) or
// .npy (a single output).
void check_outputs_path(const std::string& path, size_t num_outputs);
// Writes the outputs as the path's ending says.
void save_outputs(const ir::Graph& graph, const std::vector<Tensor>& outputs,
                  const std::string& path);

// The reference's view of the inputs and both its modes' outputs, compared with `outputs`, in the
// graph's order. `tf32`: products of f32 may have been computed so.
std::vector<ir::Comparison> check_outputs(const ir::Graph& bound, const std::vector<Tensor>& inputs,
                                          const std::vector<Tensor>& outputs, bool tf32);

}  // namespace tcc::tools
