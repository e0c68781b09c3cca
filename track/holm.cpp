#include <algorithm>
#include <numeric>

#include "track/inference.h"

namespace tcc::track {

std::vector<double> holm(const std::vector<double>& p) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return p[a] < p[b]; });
  std::vector<double> corrected(p.size());
  double least = 0;
  for (std::size_t k = 0; k < order.size(); ++k) {
    least = std::max(least, std::min(1.0, p[order[k]] * static_cast<double>(order.size() - k)));
    corrected[order[k]] = least;
  }
  return corrected;
}

}  // namespace tcc::track
