// The tools' inputs come from files or are drawn; their outputs are compared with the reference and
// written.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "frontend/graph_file.h"
#include "ir/graph.h"
#include "ir/tensor.h"

namespace tcc::tools {

struct InputOptions {
  std::vector<std::string> named;   // NAME=FILE.npy, NAME=NUMBER, NAME=NUMBER,NUMBER,...
  std::string npz;                  // all by name
  std::vector<std::string> states;  // INPUT=OUTPUT
};
// --input, --inputs and --state.
void add_input_options(CLI::App& app, InputOptions& options);

// Reads the texts of --state.
StatePairs parse_states(const InputOptions& options);

// The user gives a graph's inputs by these: files, and numbers. A graph is loaded with it, and run
// on it.
class InputFiles : public GivenInputs {
 public:
  // Throws Error(bad_input) for what is no NAME=... and for files that cannot be opened.
  explicit InputFiles(const InputOptions& options);

  std::optional<TensorInfo> info(const std::string& name) const override;
  TensorPtr load(const std::string& name) const override;
  // Numbers become a tensor of the input's type; a single number fits any shape of one element.
  TensorPtr load_for(const ir::Value& input) const override;
  // Returns where an input comes from, for messages: "x.npy", "inputs.npz: 'x'".
  std::string source(const std::string& name) const;
  bool is_empty() const { return named_.empty() && !npz_; }
  // Throws Error(bad_input) for a name, of an option or in the .npz, that is none of `inputs` and
  // that was not used while the graph was loaded.
  void check_all_used(const std::vector<std::string>& inputs) const;

 private:
  struct Named {
    std::string text;                  // of the option, after the "="
    std::unique_ptr<TensorFile> file;  // null: the text is numbers
    TensorPtr numbers = nullptr;
  };
  const TensorFile* file_of(const std::string& name, std::string& key) const;
  std::map<std::string, Named> named_;
  std::string npz_path_;
  std::unique_ptr<TensorFile> npz_;
  mutable std::set<std::string> used_;
};

std::vector<std::string> input_names(const ir::Graph& graph);

// Returns a tensor for every input of the bound graph: the given one, else one that is drawn with
// `seed`. Throws Error(bad_input) for names, dtypes and shapes that do not fit. A float file may be
// of another float type: it is converted, and where that rounds, a line on stderr says so.
std::vector<Tensor> load_inputs(const std::string& program, const ir::Graph& bound,
                                const InputFiles& files, uint64_t seed = 0);

// Says on stderr, in one line, which inputs are drawn although others are given.
void say_drawn_inputs(const std::string& program, const ir::Graph& graph, const InputFiles& files);

// Returns "NaN" or "zero" where all elements of a float tensor are NaN or zero, which is suspicious
// even if the reference agrees; else "".
std::string_view emptiness_of(const Tensor& tensor);

// Throws Error(bad_input) where `path`, if given, does not end in .npz (all outputs by name) or
// .npy (a single output).
void check_outputs_path(const std::string& path, size_t num_outputs);
// Writes the outputs as the path's ending says.
void save_outputs(const ir::Graph& graph, const std::vector<Tensor>& outputs,
                  const std::string& path);

}  // namespace tcc::tools
