#include "autotune/search_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <utility>

namespace tcc::autotune {
namespace {

// Shares of the two parts, and over how many steps of a parameter they fade.
constexpr double kOwnShare = 0.7, kLocalShare = 0.3;
constexpr double kOwnReach = 2.0, kLocalReach = 3.0;

// exp(-steps / reach) for every distance of two positions that occurs in practice.
class Decay {
 public:
  explicit Decay(double reach) {
    for (size_t steps = 0; steps < values_.size(); ++steps)
      values_[steps] = std::exp(-static_cast<double>(steps) / reach);
  }
  double operator()(int steps) const {
    return values_[std::min(static_cast<size_t>(steps), values_.size() - 1)];
  }

 private:
  std::array<double, 64> values_;
};

double covariance(const std::vector<int>& a, const std::vector<int>& b) {
  static const Decay of_own(kOwnReach), of_local(kLocalReach);
  double own = 0;
  int distance = 0;
  for (size_t p = 0; p < a.size(); ++p) {
    const int steps = std::abs(a[p] - b[p]);
    own += of_own(steps);
    distance += steps;
  }
  const double parameters = std::max<double>(1, static_cast<double>(a.size()));
  return kOwnShare * own / parameters + kLocalShare * of_local(distance);
}

}  // namespace

ResidualModel::ResidualModel(std::vector<Sample> samples) : samples_(std::move(samples)) {
  const size_t n = samples_.size();
  if (n == 0) return;
  double spread = 0;
  for (const Sample& sample : samples_) level_ += sample.value / static_cast<double>(n);
  for (const Sample& sample : samples_)
    spread += (sample.value - level_) * (sample.value - level_) / static_cast<double>(n);
  // The prior is as wide as the samples are, and never so narrow that noise looks like signal.
  scale_ = std::max(spread, 1e-4);
  factor_.assign(n * n, 0);
  for (size_t i = 0; i < n; ++i)
    for (size_t j = 0; j <= i; ++j) {
      double sum = scale_ * covariance(samples_[i].positions, samples_[j].positions);
      if (i == j) sum += samples_[i].noise * samples_[i].noise + 1e-6 * scale_;
      for (size_t k = 0; k < j; ++k) sum -= factor_[i * n + k] * factor_[j * n + k];
      factor_[i * n + j] = i == j ? std::sqrt(std::max(sum, 1e-12)) : sum / factor_[j * n + j];
    }
  weights_.resize(n);
  for (size_t i = 0; i < n; ++i) {
    double sum = samples_[i].value - level_;
    for (size_t k = 0; k < i; ++k) sum -= factor_[i * n + k] * weights_[k];
    weights_[i] = sum / factor_[i * n + i];
  }
  for (size_t i = n; i-- > 0;) {
    double sum = weights_[i];
    for (size_t k = i + 1; k < n; ++k) sum -= factor_[k * n + i] * weights_[k];
    weights_[i] = sum / factor_[i * n + i];
  }
}

std::vector<double> ResidualModel::covariances(const std::vector<int>& positions) const {
  std::vector<double> row;
  row.reserve(samples_.size());
  for (const Sample& sample : samples_)
    row.push_back(scale_ * covariance(sample.positions, positions));
  return row;
}

double ResidualModel::mean(const std::vector<int>& positions) const {
  double mean = level_;
  const std::vector<double> row = covariances(positions);
  for (size_t i = 0; i < row.size(); ++i) mean += row[i] * weights_[i];
  return mean;
}

double ResidualModel::deviation(const std::vector<int>& positions) const {
  std::vector<double> row = covariances(positions);
  double variance = scale_;
  for (size_t i = 0; i < row.size(); ++i) {
    for (size_t k = 0; k < i; ++k) row[i] -= factor_[i * row.size() + k] * row[k];
    row[i] /= factor_[i * row.size() + i];
    variance -= row[i] * row[i];
  }
  return std::sqrt(std::max(variance, 0.0));
}

}  // namespace tcc::autotune
