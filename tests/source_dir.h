// Tests find the repository's files and the build's programs with these functions.
#pragma once

#include <cstdlib>
#include <filesystem>

namespace tcc::testing {

inline std::filesystem::path from_environment(const char* variable, const char* compiled_in) {
  const char* value = std::getenv(variable);
  return value && *value ? value : compiled_in;
}

// The repository's root, for configs/ and the tests' data. The environment variable TCC_SOURCE_DIR
// replaces the path that was compiled in, so that test programs run on another machine beside a
// copy of those files.
inline std::filesystem::path source_dir() {
  return from_environment("TCC_SOURCE_DIR", TCC_SOURCE_DIR);
}

// The build folder, replaced by the environment variable TCC_BINARY_DIR.
inline std::filesystem::path binary_dir() {
  return from_environment("TCC_BINARY_DIR", TCC_BINARY_DIR);
}

// A program of ours: program("tcc-run").
inline std::filesystem::path program(const char* name) { return binary_dir() / "bin" / name; }

}  // namespace tcc::testing
