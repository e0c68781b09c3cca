// Values next to a tie, where rounding to a narrow float decides the result.
#pragma once

#include <array>
#include <cmath>

namespace tcc::test {

// A number of the narrow type, the middle between it and the next one, and what lies just beside.
inline std::array<double, 6> near_tie(float here, float next) {
  const double middle = (static_cast<double>(here) + next) / 2;
  return {static_cast<double>(here),   middle,
          std::nextafter(middle, 0.0), std::nextafter(middle, HUGE_VAL),
          middle * (1 + 0x1p-23),      middle * (1 - 0x1p-23)};
}

}  // namespace tcc::test
