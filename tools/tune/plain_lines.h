// A sweep prints in a log (off a terminal) one line per finished kernel, and one now and then for
// those that take long.
#pragma once

#include <chrono>
#include <map>
#include <ostream>
#include <string>

#include "autotune/tune.h"

namespace tcc::tools {

// "matmul_gelu f32[32, 512]: 42.10 us -> 30.20 us (1.39x), 62% of roofline, 64 trials, 2 wrong;
// ended: bound reached".
std::string plain_line(const autotune::KernelResult& kernel);

// "matmul_gelu f32[32, 512]: 12 trials, 42.10 us today, 30.20 us so far".
std::string progress_line(const autotune::KernelResult& kernel);

class PlainLines {
 public:
  using Seconds = std::chrono::duration<double>;
  // A kernel that is being tuned gets a line each time `every` has passed.
  PlainLines(std::ostream& out, size_t kernels, Seconds every = Seconds(10))
      : out_(out), kernels_(kernels), every_(every) {}
  autotune::TuneEvents events();  // to be outlived by this object

 private:
  void tell(const autotune::KernelResult& kernel);

  std::ostream& out_;
  size_t kernels_;
  Seconds every_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now(), told_ = start_;
  std::map<autotune::RecordKey, size_t> finished_;  // their numbers: one may go on and end again
};

}  // namespace tcc::tools
