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
  bool guards = false;            // and ask whether there are such elements
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

// Does what plan_gemm does, for device sources whose threads copy vectors.
OrRefusal<ConvGemm> plan_vector_gemm(const Region& region, const Target& target,
                                     std::string_view unit);
// Where the product is a convolution whose image would be computed: finds whether its channels come
// in vectors of 16 or 8 bytes, each under one tap. Then the operand's load is im2col, its alignment
// that of the vectors, and `image` what they are of; else the product `gathers`.
void bring_by_vectors(const Region& region, Gemm& product, std::optional<ConvView>& image,
                      bool& gathers);
// Returns whether 32 bits may number the vectors of a buffer, each of `vector` elements. Where dims
// are open it is true: kernels count the vectors when sizes are known, or number them in 64 bits.
bool may_have_numbers(const Region& region, int buffer, int64_t vector);
// Adds the hooks that bring the image's vectors of `bytes` for device sources whose threads copy
// them, as A (`first`) or B:
//   vector_x(batch, at, k) -> number_type: the number in the image's buffer of the vector of
//     pixel `at` under tap and channels `k`. It is the sum of what `at` and what `k` add, and means
//     nothing where the window is beyond the image.
//   inside_x(batch, at, k) -> i32: whether the vector is in the image.
void add_image_hooks(Kernel& kernel, const ConvView& image, int64_t bytes,
                     const ContractionPlan& plan, bool first, DType number_type);

// Returns the image as device sources get it. Its pieces waste little of k.
kernels::Image device_image(const ConvView& image);

}  // namespace tcc::sched
