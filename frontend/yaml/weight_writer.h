// The weights and states of a graph that is written as YAML: entries of the text, and one file of
// data.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/yaml/writer_names.h"
#include "ir/graph.h"

namespace tcc::yaml {

class WeightWriter {
 public:
  // Both must outlive it.
  WeightWriter(const ir::Graph& graph, const WriterNames& names);

  // Returns one line per weight, indented. Weights that are drawn, or have one value everywhere,
  // need no file.
  std::string text() const;
  // Returns one line per state.
  std::string states_text(const ir::Graph& graph) const;
  // Writes the file that text() names, if it names one; one weight is loaded at a time.
  void write_file(const std::filesystem::path& folder) const;

 private:
  struct Entry {
    const ir::Value* value;
    std::string init;  // "" for data in the file
  };

  // `entry` is null for a value without data.
  std::string line(const ir::Value& value, const Entry* entry, std::string_view rest) const;
  std::string file_name() const;

  const WriterNames& names_;
  std::vector<Entry> entries_;
  bool any_file_ = false;  // any weight in the file
  bool fits_npz_ = true;   // NumPy has their types
};

}  // namespace tcc::yaml
