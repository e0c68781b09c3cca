// Following compile() and ending it early. docs/embedding.md.
#pragma once

#if __cplusplus < 202002L
#error "tcc needs C++20: compile with -std=c++20 (or use the C interface, tcc/c_api.h)"
#else

#include <cstddef>
#include <string_view>

#include "tcc/error.hpp"

#pragma GCC visibility push(default)
namespace tcc {

// How far compile() is. The stages, in this order: "graph" (passes over the graph), "kernels"
// (distinct kernels compiled or found in the cache), "load" (kernels and weights, on the device).
struct CompileProgress {
  std::string_view stage;
  std::size_t done = 0, total = 0;  // of the stage
};

// compile() throws this when the caller's `cancelled` said so.
class Cancelled : public Error {
 public:
  Cancelled() : Error(ErrorKind::cancelled, "cancelled by the caller") {}
};

}  // namespace tcc
#pragma GCC visibility pop
#endif
