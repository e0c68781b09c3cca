// Windows for spectra: sums of cosines.
#pragma once

#include <array>
#include <functional>
#include <string>

#include "ir/op.h"

namespace tcc::ir::ops {

// `coefficients(node)` = {a, b, c}: element k of N is a - b cos(2 pi k / N) + c cos(4 pi k / N).
// With attributes `window_length`, `periodic` (N is that length, else one less) and `dtype`.
OpDef cosine_window(std::string name, std::string doc,
                    std::function<std::array<double, 3>(const Node&)> coefficients);

}  // namespace tcc::ir::ops
