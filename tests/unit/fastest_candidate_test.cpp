// The default config of a matrix product among a template's candidates.
#include <gtest/gtest.h>

#include <optional>

#include "scheduler/target_profile.h"
#include "scheduler/templates/gemm.h"

namespace tcc::sched {
namespace {

ConfigSpace space() {
  ConfigSpace space;
  space.parameters = {{"band", {1, 2, 4, 8}, ""}, {"block", {1, 2}, ""}, {"swapped", {0, 1}, ""}};
  return space;
}

// Seconds by block; the other side is slower.
double seconds(const Config& config) {
  return static_cast<double>(config["block"] + config["swapped"]);
}

// The choice for tiles of 64 rows and 256 columns, where bands up to `most` are legal.
struct Chosen {
  Config config;
  int asked = 0;
};
Chosen chosen(int64_t tiles_m, int64_t tiles_n, int64_t most, int64_t least_block = 1) {
  Chosen result;
  const LegalGrid legal = [&](const Config& config) -> std::optional<TileGrid> {
    ++result.asked;
    if (config["band"] > most || config["block"] < least_block) return std::nullopt;
    return TileGrid{tiles_m, tiles_n, 64, 256, 1};
  };
  const std::vector<Config> candidates = {{{"block", 2}}, {{"block", 1}}};
  result.config =
      fastest_candidate(candidates, space(), seconds, legal, target_by_name("cuda:sm_90a"));
  return result;
}

TEST(FastestCandidate, HasTheLegalBandThatReadsLeast) {
  const Target target = target_by_name("cuda:sm_90a");
  for (const int64_t tiles_m : {1, 2, 3, 5, 8, 64})
    for (const int64_t tiles_n : {1, 2, 7, 64})
      for (const int64_t most : {1, 2, 4, 8}) {
        int64_t best = 1;
        const auto reads = [&](int64_t band) {
          return read_by_neighbours({tiles_m, tiles_n, 64, 256, 1}, band, target);
        };
        for (int64_t band = 2; band <= most; band *= 2)
          if (reads(band) < reads(best)) best = band;
        EXPECT_EQ(chosen(tiles_m, tiles_n, most).config,
                  (Config{{"band", best}, {"block", 1}, {"swapped", 0}}))
            << tiles_m << " x " << tiles_n << ", at most " << most;
      }
}

// Shapes and rules take most of the time: bands that read no less are not looked at.
TEST(FastestCandidate, AsksForFewConfigs) {
  EXPECT_EQ(chosen(1, 64, 8).asked, 4) << "two candidates on two sides";
  EXPECT_EQ(chosen(64, 64, 8, 2).asked, 6) << "what is not legal in a band of 1 is in none";
}

TEST(FastestCandidate, IsTheFirstOfTheSpaceWhereNoneIsLegal) {
  EXPECT_EQ(chosen(8, 8, 8, 3).config, (Config{{"band", 1}, {"block", 1}, {"swapped", 0}}));
}

}  // namespace
}  // namespace tcc::sched
