// The safetensors format (https://huggingface.co/docs/safetensors): a JSON directory and raw
// little-endian data.
//
// Read: as the format demands, the tensors must cover the data without gaps or overlaps, and
// each must have the size that its type and shape say; so a truncated file never opens.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/graph_files.h"
#include "frontend/tensor_file.h"
#include "support/file.h"

namespace tcc {

class SafetensorsFile : public TensorFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path)
      : SafetensorsFile(path, FileBytes(path)) {}
  SafetensorsFile(const std::filesystem::path& path, FileBytes bytes);  // `path` stands in messages

  // Returns the names in the order of their data.
  std::vector<std::string> names() const override;
  bool contains(std::string_view name) const override;
  TensorInfo info(std::string_view name) const override;
  Tensor load(std::string_view name) const override;

  // Where the data of a tensor is in the file, in bytes.
  struct Place {
    int64_t offset = 0, bytes = 0;
  };
  Place place(std::string_view name) const;
  std::span<const std::byte> bytes() const;  // of the whole file

 private:
  struct Entry {
    std::string name;
    TensorInfo info;
    int64_t begin = 0, end = 0;  // in the data
  };
  class Parser;

  const Entry& find(std::string_view name) const;

  std::filesystem::path path_;
  FileBytes file_;
  int64_t data_offset_ = 0;
  std::vector<Entry> entries_;
  std::map<std::string, size_t, std::less<>> index_;  // name -> place in entries_
};

// Writes atomically: the file is complete or unchanged. `load` gives the data of tensor k of the
// list, which must have the type that the list says; one tensor is held at a time.
void write_safetensors(const std::filesystem::path& path,
                       std::span<const std::pair<std::string, TensorInfo>> tensors,
                       const std::function<TensorPtr(size_t k)>& load);

}  // namespace tcc
