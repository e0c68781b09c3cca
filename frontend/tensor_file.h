// A graph's weights and the tools' inputs are read from files of named tensors.
//
// The files are untrusted: every fault of one is an Error(bad_input) that names the file, the place
// in it (tensor, member or offset) and the reason.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/graph_files.h"
#include "ir/tensor.h"

namespace tcc {

// More dims than any tensor of a model has; files that declare more are refused.
constexpr size_t kMaxFileRank = 16;

struct TensorInfo {
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
};

// Opening reads the directory of the file only; load() reads one tensor. All calls are const and
// may be made from several threads at once.
class TensorFile {
 public:
  virtual ~TensorFile() = default;

  // Returns the names in the file's order. A .npy file has one tensor, whose name is "".
  virtual std::vector<std::string> names() const = 0;
  virtual bool contains(std::string_view name) const = 0;
  // Both throw Error(bad_input) for a name that the file lacks.
  virtual TensorInfo info(std::string_view name) const = 0;
  virtual Tensor load(std::string_view name) const = 0;
};

// Opens a file by its extension: .npy, .npz or .safetensors.
std::unique_ptr<TensorFile> open_tensor_file(const std::filesystem::path& path);
// Does the same for the bytes that `open` returns.
std::unique_ptr<TensorFile> open_tensor_file(const std::filesystem::path& path,
                                             const std::function<FileBytes()>& open);

// A name from an untrusted file for a one-line message: quoted, shortened, control characters
// masked.
std::string quoted_name(std::string_view name);

// Throws the Error for a name that `file` lacks; the message lists the names of the file.
[[noreturn]] void fail_missing_tensor(const std::filesystem::path& path, const TensorFile& file,
                                      std::string_view name);

// memcpy on all cores, for large copies out of mapped files.
void copy_bytes(std::byte* to, const std::byte* from, size_t size);

// Makes 1 of every byte that is not 0, if the tensor is of bools.
void normalise_bools(Tensor& tensor);

}  // namespace tcc
