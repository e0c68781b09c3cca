// The configs of contraction kernels on FMA units as sizes: what is legal, and what a launch costs.
#pragma once

#include <optional>

#include "scheduler/target.h"
#include "scheduler/templates/rule_space.h"

namespace tcc::sched {

// Products of a sum of f32 that are summed in one go before they join the total, where the result
// is as wide as the accumulator.
int64_t folded(int64_t sum);

struct FmaTile {
  int64_t block_m = 1, block_n = 1, block_k = 1;  // of a workgroup
  int64_t thread_m = 1, thread_n = 1;
  int64_t slices = 1;   // groups of threads that share the products of a tile
  int64_t cluster = 1;  // workgroups that share k

  int64_t threads() const { return block_m / thread_m * (block_n / thread_n) * slices; }
  // Four f32 are what one shared-memory access brings: neighbouring threads on neighbouring
  // segments hit all banks.
  int64_t segment() const { return thread_n < 4 ? thread_n : 4; }
  // For the tiles of both operands, two of each.
  int64_t tile_bytes(int element) const;
};

// A product as rules and estimates see it: usual sizes where dims are open.
struct FmaProduct {
  // How an operand is read: vectors along k, or along its own axis.
  struct Operand {
    bool along_k = true;
    int64_t vector = 1;
    double slots = 16;         // issue slots of a vector's place
    bool is_computed = false;  // no view of a buffer: each place is computed by itself
  };
  int64_t batch = 1, m = 1, n = 1, k = 1;  // k counts words
  int64_t most_k = 1;                      // of all sizes
  int64_t pack = 1;                        // products of a word
  Operand a, b;
  int element = 4;           // bytes of a sum
  bool fold = false;         // long sums are folded in parts
  double operand_bytes = 4;  // of an element in memory
  double bytes = 0;          // of the region
  double epilogue = 0;       // issue slots of all other ops
};

struct FmaCase {
  using Values = FmaTile;
  using Shape = FmaTile;
  FmaTile values() const { return {}; }
  const FmaTile& shape(const FmaTile& tile) const { return tile; }

  FmaProduct product;
  Target target;
};
using FmaRules = RuleSpace<FmaCase>;
std::vector<Field<FmaTile>> all_fma_fields();
// On targets without clusters there is no such parameter.
FmaRules fma_rules(const FmaProduct& product, const Target& target);

// The number of tiles along k after which partial sums join the total; 0: never.
int64_t fold_tiles(const FmaTile& tile, const FmaProduct& product);
// Whether the total is in shared memory: registers hold the partial sums alone.
bool totals_are_shared(const FmaTile& tile, const FmaProduct& product);
int64_t shared_bytes(const FmaTile& tile, const FmaProduct& product);

double predicted_seconds(const FmaTile& tile, const FmaProduct& product, const Target& target);
// The fastest of the usual tiles by that, if one is legal.
std::optional<FmaTile> fastest_tile(const FmaRules& rules);

}  // namespace tcc::sched
