// Asks the compiler of an API's device sources what its language has, for templates whose sources
// need extensions that older compilers lack.
#pragma once

#include <string>

#include "scheduler/target.h"

namespace tcc::sched {

// Returns why device sources of the API cannot use an extension of the language
// ("GL_KHR_cooperative_matrix"), or "": the compiler has it, or the API has no such compiler.
std::string lacking_extension(Api api, const std::string& extension);

// Makes a compiler known, from the file of its back end:
//   const RegisterSourceCompiler compiler({Api::vulkan, glsl_lacking});
struct SourceCompiler {
  Api api;
  std::string (*lacking)(const std::string& extension);  // thread-safe
};
class RegisterSourceCompiler {
 public:
  explicit RegisterSourceCompiler(const SourceCompiler& compiler);
};

}  // namespace tcc::sched
