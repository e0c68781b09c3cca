// A regression over a space predicts the time of configs that were not measured.
#pragma once

#include <vector>

namespace tcc::autotune {

// Gaussian-process regression (Rasmussen and Williams, 2006, algorithm 2.1) of a number per config.
// Its covariance has two parts: each parameter's own effect, shared by all configs that have nearly
// the same value of it, and a local one of configs that are near in all parameters. Deterministic.
class ResidualModel {
 public:
  struct Sample {
    std::vector<int> positions;  // as in ConfigList
    double value = 0;
    double noise = 0;  // standard deviation
  };
  // O(samples^3).
  explicit ResidualModel(std::vector<Sample> samples);

  // The expected value: O(samples).
  double mean(const std::vector<int>& positions) const;
  // The standard deviation of the value about the mean: O(samples^2).
  double deviation(const std::vector<int>& positions) const;

 private:
  std::vector<double> covariances(const std::vector<int>& positions) const;

  std::vector<Sample> samples_;
  std::vector<double> factor_;   // Cholesky's, row by row
  std::vector<double> weights_;  // of the samples in the mean
  double level_ = 0;             // far from all samples
  double scale_ = 1;             // of the covariance, from the samples' own spread
};

}  // namespace tcc::autotune
