// A caller can follow compile() and end it early; docs/embedding.md describes it.
#pragma once

#if __cplusplus < 202002L
#error "tcc needs C++20: compile with -std=c++20 (or use the C interface, tcc/c_api.h)"
#else

#include <cstddef>
#include <string_view>

#include "tcc/error.hpp"

#pragma GCC visibility push(default)
namespace tcc {

// The progress of compile(). The stages are, in this order, "graph" (passes over the graph),
// "kernels" (distinct kernels are compiled or found in the cache) and "load" (kernels and weights
// are loaded to the device).
struct CompileProgress {
  std::string_view stage;
  std::size_t done = 0, total = 0;  // steps of the stage
};

// compile() throws this when CompileOptions::cancelled returned true.
class Cancelled : public Error {
 public:
  Cancelled() : Error(ErrorKind::cancelled, "cancelled by the caller") {}
};

}  // namespace tcc
#pragma GCC visibility pop
#endif
