// How a sweep looks off a terminal, in a log: one line per finished kernel.
#pragma once

#include <map>
#include <ostream>
#include <string>

#include "autotune/tune.h"

namespace tcc::tools {

// "matmul_gelu f32[32, 512]: 42.10 us -> 30.20 us (1.39x), 62% of roofline, 64 trials, 2 wrong;
// ended: bound reached".
std::string plain_line(const autotune::KernelResult& kernel);

class PlainLines {
 public:
  PlainLines(std::ostream& out, size_t kernels) : out_(out), kernels_(kernels) {}
  autotune::TuneEvents events();  // to be outlived by this object

 private:
  std::ostream& out_;
  size_t kernels_;
  std::map<autotune::RecordKey, size_t> finished_;  // their numbers: one may go on and end again
};

}  // namespace tcc::tools
