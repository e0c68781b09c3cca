#include "frontend/npy.h"
#include "frontend/npz.h"
#include "frontend/safetensors.h"
#include "frontend/tensor_file.h"
#include "support/error.h"

namespace tcc {

std::unique_ptr<TensorFile> open_tensor_file(const std::filesystem::path& path) {
  return open_tensor_file(path, [&] { return FileBytes(path); });
}

std::unique_ptr<TensorFile> open_tensor_file(const std::filesystem::path& path,
                                             const std::function<FileBytes()>& open) {
  const std::string extension = path.extension().string();
  if (extension == ".npy") return std::make_unique<NpyFile>(path, open());
  if (extension == ".npz") return std::make_unique<NpzFile>(path, open());
  if (extension == ".safetensors") return std::make_unique<SafetensorsFile>(path, open());
  fail_input(path.string(), ": unknown kind of tensor file; use .npy, .npz or .safetensors");
}

}  // namespace tcc
