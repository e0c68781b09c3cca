// NumPy's .npy format, versions 1 to 3:
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
//
// Read: C and Fortran order, both byte orders, the types of ir/dtype.h but bf16 and f8
// (which NumPy lacks). Objects (pickles), structured types, text and complex numbers are refused.
// Written: version 1, C order, little endian; bf16 and f8 as f32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/graph_files.h"
#include "frontend/tensor_file.h"
#include "support/file.h"

namespace tcc {

struct NpyHeader {
  TensorInfo info;
  bool fortran_order = false;  // the first dim is the fastest
  bool big_endian = false;
  int64_t data_offset = 0;  // bytes before the elements
  int64_t data_bytes = 0;
};

// Gives the next `size` bytes of a stream, all of them, or throws.
using ByteSource = std::function<void(std::byte* to, size_t size)>;

// Read a header, or a header and its elements, from a stream of exactly `size` bytes. Nothing
// larger than `size` is ever allocated. `where` begins every message: the file, or the file and the
// member.
NpyHeader read_npy_header(const ByteSource& source, int64_t size, const std::string& where);
Tensor read_npy(const ByteSource& source, int64_t size, const std::string& where);

Tensor read_npy(const std::filesystem::path& path);
// Writes atomically: the file is complete or unchanged.
void write_npy(const std::filesystem::path& path, const Tensor& tensor);

bool has_npy_code(DType dtype);  // NumPy has the type

// Returns the header that tcc writes before the elements; its length is a multiple of 64.
std::string npy_header_text(DType dtype, const std::vector<int64_t>& shape);

class NpyFile : public TensorFile {
 public:
  explicit NpyFile(const std::filesystem::path& path) : NpyFile(path, FileBytes(path)) {}
  NpyFile(const std::filesystem::path& path, FileBytes bytes);  // `path` stands in messages
  std::vector<std::string> names() const override { return {""}; }
  bool contains(std::string_view name) const override { return name.empty(); }
  TensorInfo info(std::string_view name) const override;
  Tensor load(std::string_view name) const override;

 private:
  std::filesystem::path path_;
  FileBytes file_;
  TensorInfo info_;
};

}  // namespace tcc
