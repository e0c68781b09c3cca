// A convolution as a matrix product one of whose operands is an image under windows, which the copy
// engine reads by loads of kind im2col.
#pragma once

#include <optional>
#include <string>

#include "scheduler/templates/conv_view.h"
#include "scheduler/templates/gemm.h"

namespace tcc::sched {

struct ConvGemm : Gemm {
  std::optional<ConvView> image;  // of the operand whose load is im2col
  bool gathers = false;           // threads load the image's elements, which windows take apart
  // Matrices of the result's shape that the epilogue reads and the copy engine can bring; at most
  // two.
  std::vector<OperandView> residuals;
};

// Does what plan_gemm does. An operand that would be computed is loaded by im2col where the copy
// engine can read it so.
OrRefusal<ConvGemm> plan_conv_gemm(const Region& region, const Target& target,
                                   std::string_view unit);
// The same of f32 that FMA units multiply.
OrRefusal<ConvGemm> plan_exact_conv_gemm(const Region& region);

// Returns the image as device sources get it. Its pieces waste little of k.
kernels::Image device_image(const ConvView& image);

}  // namespace tcc::sched
