// The tests of the tensor-file readers share a temporary folder, random tensors, and functions that
// damage files.
#pragma once

#include <stdlib.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "frontend/tensor_file.h"
#include "ir/tensor.h"
#include "support/error.h"
#include "tests/source_dir.h"

namespace tcc::testing {

// Bytes as they are in the file, for comparisons.
inline std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class TensorFileTest : public ::testing::Test {
 protected:
  TensorFileTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tcc-test-XXXXXX").string();
    folder = ::mkdtemp(pattern.data());
  }
  ~TensorFileTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  }

  std::filesystem::path put(const std::string& name, std::string_view content) const {
    // A new file each time: ext4 waits for the disk when a file is truncated and written again.
    std::filesystem::remove(folder / name);
    std::ofstream(folder / name, std::ios::binary) << content;
    return folder / name;
  }

  std::filesystem::path fixture(const char* name) const {
    return source_dir() / "tests/data/tensor_files" / name;
  }

  size_t files_in_folder() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder),
                                             std::filesystem::directory_iterator()));
  }

  // Any bytes, so NaN and infinities too; bools are 0 or 1.
  Tensor random(DType dtype, std::vector<int64_t> shape) {
    Tensor tensor(dtype, std::move(shape));
    for (uint8_t& byte : tensor.as<uint8_t>())
      byte = static_cast<uint8_t>(dtype == DType::boolean ? bits() & 1 : bits());
    return tensor;
  }

  std::vector<int64_t> random_shape(size_t max_rank = 4) {
    std::vector<int64_t> shape(bits() % (max_rank + 1));
    for (int64_t& dim : shape) dim = static_cast<int64_t>(bits() % 6);
    return shape;
  }

  std::filesystem::path folder;
  std::mt19937 bits{12345};
};

inline void expect_same(const Tensor& got, const Tensor& want) {
  ASSERT_EQ(got.dtype(), want.dtype());
  ASSERT_EQ(got.shape(), want.shape());
  EXPECT_TRUE(want.bytes() == 0 || std::memcmp(got.data(), want.data(), want.bytes()) == 0);
}

// Runs `action`, which must throw an Error(bad_input) of one line that contains `part`.
template <class Action>
void expect_bad_input(Action&& action, const std::string& part) {
  try {
    action();
    ADD_FAILURE() << "no error; expected one with: " << part;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_input) << error.what();
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
  }
}

// Opens the file and loads everything in it. Whether it was refused; any other outcome than success
// or Error(bad_input) fails the test.
inline bool refuses(const std::filesystem::path& path) {
  try {
    const auto file = open_tensor_file(path);
    for (const std::string& name : file->names()) {
      const TensorInfo info = file->info(name);
      const Tensor tensor = file->load(name);
      EXPECT_EQ(tensor.shape(), info.shape);
      EXPECT_EQ(tensor.dtype(), info.dtype);
    }
    return false;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_input) << error.what();
    EXPECT_NE(std::string(error.what()).find(path.filename().string()), std::string::npos)
        << error.what();
    return true;
  }
}

}  // namespace tcc::testing
