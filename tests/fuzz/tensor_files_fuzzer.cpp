// libFuzzer target for the readers of .npy, .npz and .safetensors files: whatever the bytes are,
// they are read or refused with Error(bad_input).
//
//   CXX=clang++ cmake -S . -B build/fuzz -G Ninja -D TCC_FUZZERS=ON -D
//   TCC_SANITIZE=address,undefined ninja -C build/fuzz tensor_files_fuzzer mkdir -p corpus &&
//   build/fuzz/bin/tensor_files_fuzzer -max_len=8192 corpus
//
// or without CMake:
//
//   clang++ -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined -I.
//   tests/fuzz/tensor_files_fuzzer.cpp
//       frontend/{npy,npz,zip,safetensors,tensor_file}.cpp ir/{dtype,suggest,tensor}.cpp
//       support/{file,parallel}.cpp -ltbb -lz
//
// The first byte chooses the reader, the others are the file. A corpus from the tests' files:
//
//   for f in tests/data/tensor_files/*.npy; do { printf '\0'; cat $f; } > corpus/$(basename $f);
//   done for f in tests/data/tensor_files/*.npz; do { printf '\1'; cat $f; } > corpus/$(basename
//   $f); done
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>

#include "frontend/npy.h"
#include "frontend/npz.h"
#include "frontend/safetensors.h"
#include "support/error.h"

namespace {

using namespace tcc;

void require(bool condition) {
  if (!condition) std::abort();
}

std::unique_ptr<TensorFile> open_as(int kind, const std::string& path) {
  if (kind == 0) return std::make_unique<NpyFile>(path);
  if (kind == 1) return std::make_unique<NpzFile>(path);
  return std::make_unique<SafetensorsFile>(path);
}

void load_all(const TensorFile& file) {
  for (const std::string& name : file.names()) {
    try {
      const TensorInfo info = file.info(name);
      // Inflating a thousandfold is allowed, but would only make the fuzzer slow.
      const auto bytes = tensor_bytes(info.dtype, info.shape);
      require(bytes.has_value());
      if (*bytes > int64_t{1} << 22) continue;
      const Tensor tensor = file.load(name);
      require(tensor.dtype() == info.dtype && tensor.shape() == info.shape);
    } catch (const Error& error) { require(error.kind() == ErrorKind::bad_input); }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const int descriptor = ::memfd_create("tensor-file", MFD_CLOEXEC);
  require(descriptor >= 0);
  require(::write(descriptor, data + 1, size - 1) == static_cast<ssize_t>(size - 1));
  try {
    load_all(*open_as(data[0] % 3, str("/proc/self/fd/", descriptor)));
  } catch (const Error& error) { require(error.kind() == ErrorKind::bad_input); }
  ::close(descriptor);
  return 0;
}
