#include "scheduler/templates/contraction_tile.h"

#include <algorithm>
#include <cmath>

#include "scheduler/cost.h"
#include "support/checked.h"

namespace tcc::sched {
namespace {

// Registers of a thread's sums, in words.
constexpr int64_t kMostWords = 128;
int64_t register_words(const FmaTile& t, const FmaProduct& p) {
  return t.thread_m * t.thread_n * p.element / 4;
}

constexpr Rule<FmaTile, FmaCase> kRules[] = {
    {"a workgroup has 32 to 512 threads, and no more than the device allows",
     [](const auto& t, const auto& of) {
       return t.block_m >= t.thread_m && t.block_n >= t.thread_n && t.threads() >= 32 &&
              t.threads() <= std::min(512, of.target.max_workgroup_size);
     }},
    {"a thread's sums fit into registers; on targets with little shared memory, the totals of long "
     "sums, too",
     [](const auto& t, const auto& of) {
       return register_words(t, of.product) <= kMostWords &&
              (!totals_are_shared(t, of.product) || of.target.declared_shared_bytes > 0);
     }},
    {"the tiles fit into shared memory",
     [](const auto& t, const auto& of) {
       return shared_bytes(t, of.product) <= of.target.shared_bytes;
     }},
    {"slices have four products of a tile or more, and share whole segments of sums, which fit "
     "into the tiles' memory",
     [](const auto& t, const auto& of) {
       const int element = of.product.element;
       return t.slices == 1 ||
              (t.block_k >= 4 * t.slices && t.thread_m * t.thread_n >= t.segment() * t.slices &&
               t.threads() * t.slices * t.segment() * element <= t.tile_bytes(element));
     }},
    {"workgroups of a cluster have two tiles or more, and share whole segments of sums",
     [](const auto& t, const auto& of) {
       return t.cluster == 1 || (2 * t.cluster * t.block_k <= of.product.k &&
                                 t.thread_m * t.thread_n >= t.segment() * t.slices * t.cluster);
     }},
    {"tiles are made of whole vectors",
     [](const auto& t, const auto& of) {
       const FmaProduct& p = of.product;
       const int64_t k = t.block_k * p.pack;
       return (p.a.along_k ? k : t.block_m) % p.a.vector == 0 &&
              (p.b.along_k ? k : t.block_n) % p.b.vector == 0;
     }},
};

// Tiles that are worth a look, with slices and clusters of all sizes.
constexpr FmaTile kGpuTiles[] = {
    {128, 128, 8, 8, 16}, {128, 128, 16, 8, 8}, {64, 128, 16, 8, 8}, {128, 64, 16, 8, 8},
    {64, 64, 16, 8, 8},   {64, 64, 16, 8, 4},   {32, 128, 16, 8, 4}, {64, 32, 16, 8, 4},
    {32, 64, 16, 8, 4},   {32, 32, 16, 8, 4},   {32, 32, 16, 4, 4},  {16, 64, 16, 4, 4},
    {16, 32, 16, 4, 4},   {16, 16, 16, 4, 2},   {8, 64, 16, 4, 4},   {8, 128, 16, 4, 4},
    {8, 32, 16, 2, 4},    {64, 16, 16, 4, 4},   {64, 8, 16, 4, 4},   {32, 128, 16, 8, 8},
    {128, 32, 16, 8, 4},  {64, 32, 16, 8, 8},   {32, 64, 16, 4, 8},  {32, 32, 16, 8, 2},
    {32, 16, 16, 8, 2},   {16, 128, 16, 8, 2},  {16, 64, 16, 8, 2},  {16, 64, 16, 4, 2},
    {16, 32, 16, 8, 2},
};
// A load or store of a lane is what costs most: a thread's tile is large, and a workgroup's as
// large as shared memory and the number of workgroups allow.
constexpr FmaTile kCpuTiles[] = {
    {128, 256, 8, 8, 8}, {256, 128, 8, 8, 8}, {128, 128, 8, 8, 8}, {64, 256, 8, 8, 8},
    {256, 64, 8, 8, 8},  {64, 128, 16, 8, 8}, {128, 64, 16, 8, 8}, {64, 128, 8, 8, 8},
    {128, 64, 8, 8, 8},  {32, 256, 8, 8, 8},  {256, 32, 8, 8, 8},  {32, 128, 8, 8, 8},
    {128, 32, 8, 8, 8},  {64, 64, 16, 8, 8},  {64, 64, 8, 8, 8},   {32, 64, 16, 8, 8},
    {64, 32, 16, 8, 8},  {16, 256, 8, 8, 8},  {16, 128, 8, 8, 8},  {8, 256, 8, 4, 8},
    {8, 128, 8, 4, 8},   {32, 32, 16, 4, 8},  {16, 32, 16, 2, 8},  {32, 16, 16, 4, 4},
    {16, 16, 16, 2, 4},  {8, 32, 16, 1, 8},
};

// A thread's sums, fragments, and its part of the next tile, which is on its way, with its places:
// what the compiler of CUDA takes, to an eighth.
int64_t registers(const FmaTile& t, const FmaProduct& p, const Target& target) {
  const bool folds = fold_tiles(t, p) > 0 && !totals_are_shared(t, p);
  int64_t places = 0;
  for (const auto& [operand, block] : {std::pair{p.a, t.block_m}, {p.b, t.block_n}})
    if (operand.is_computed)
      places += target.load_registers * ceil_div(t.block_k * block, t.threads() * operand.vector);
  return 12 + places + register_words(t, p) * (folds ? 2 : 1) + 2 * (t.thread_m + t.thread_n) +
         ceil_div(8 * t.block_k * (t.block_m + t.block_n), 5 * t.threads());
}

}  // namespace

// The parts of long sums are many, and their sum errs, too.
int64_t folded(int64_t sum) { return sum <= 1024 ? 64 : 128; }

// Two tiles of each operand; rows are padded by 4 against bank conflicts.
int64_t FmaTile::tile_bytes(int element) const {
  return 2 * block_k * (block_m + block_n + 8) * element;
}

std::vector<Field<FmaTile>> all_fma_fields() {
  return {
      {"block_m", {8, 16, 32, 64, 128, 256}, "rows of a workgroup's tile", &FmaTile::block_m},
      {"block_n", {8, 16, 32, 64, 128, 256}, "columns of a workgroup's tile", &FmaTile::block_n},
      {"block_k",
       {8, 16, 32, 64},
       "products (of bytes: words) summed between two barriers",
       &FmaTile::block_k},
      {"thread_m", {1, 2, 4, 8}, "rows of a thread's tile", &FmaTile::thread_m},
      {"thread_n", {1, 2, 4, 8, 16}, "columns of a thread's tile", &FmaTile::thread_n},
      {"slices",
       {1, 2, 4, 8},
       "groups of threads that share the products of a tile",
       &FmaTile::slices},
      {"cluster", {1, 2, 4, 8}, "workgroups that share k", &FmaTile::cluster},
  };
}

FmaRules fma_rules(const FmaProduct& product, const Target& target) {
  std::vector<Field<FmaTile>> fields = all_fma_fields();
  std::vector<int64_t>& clusters = values_of(fields, "cluster");
  std::erase_if(clusters, [&](int64_t cluster) { return cluster > target.max_cluster; });
  if (clusters.size() <= 1) leave_out(fields, "cluster");
  return {std::make_shared<const FmaCase>(product, target), std::move(fields), {}, kRules};
}

int64_t fold_tiles(const FmaTile& t, const FmaProduct& p) {
  const int64_t sum = p.most_k / (t.slices * t.cluster);  // of one thread
  if (!p.fold || sum <= folded(sum)) return 0;
  return std::max<int64_t>(1, folded(sum) * t.slices / t.block_k);
}

bool totals_are_shared(const FmaTile& t, const FmaProduct& p) {
  return fold_tiles(t, p) > 0 && 2 * register_words(t, p) > kMostWords;
}

// Sums from the other workgroups of a cluster take the place of the tiles; its barrier has 16
// bytes.
int64_t shared_bytes(const FmaTile& t, const FmaProduct& p) {
  const int64_t sums = t.block_m * t.block_n * p.element;
  return std::max(t.tile_bytes(p.element), sums / t.cluster * (t.cluster - 1)) +
         (totals_are_shared(t, p) ? sums * t.slices : 0) + (t.cluster > 1 ? 16 : 0);
}

// The constants of a GPU were fitted to 475 configs of five linear layers and 30 defaults of
// others, measured on an H200 through CUDA. Of 357 configs of six other products and convolutions,
// those that they think fastest take 1.02 times as long as the fastest measured ones.
double predicted_seconds(const FmaTile& t, const FmaProduct& p, const Target& target) {
  constexpr double kWordCycles = 0.16;  // of shared memory's pipe: neighbours share some words
  constexpr double kStoreCycles = 9.8;  // likewise, with the barrier's waves
  constexpr double kIssued = 1.04;      // cycles of an instruction: conflicts of registers' banks
  constexpr double kAlone = 1.46;       // the same of a workgroup alone
  constexpr double kTile = 400e-9;      // seconds of a tile, in which nothing is multiplied
  constexpr double kMoved = 5.1e-9;     // and of each word that a thread moves to the next one
  constexpr double kLatency = 700e-9;   // memory's, as LaunchCost counts
  constexpr double kSchedulers = 4;     // of a unit
  const auto number = [](int64_t value) { return static_cast<double>(value); };
  const bool serial = target.serial_workgroups;
  LaunchCost cost;
  cost.threads = number(t.threads());
  cost.workgroups =
      number(p.batch * ceil_div(p.m, t.block_m) * ceil_div(p.n, t.block_n) * t.cluster);
  cost.cluster = t.cluster;
  cost.shared_bytes = number(shared_bytes(t, p));
  const double k_tiles = number(ceil_div(ceil_div(p.k, t.block_k), t.cluster));
  const double sums = number(t.thread_m * t.thread_n), rows = number(t.block_m + t.block_n);
  const double block_k = number(t.block_k);
  const bool folds = fold_tiles(t, p) > 0;
  // Counts of a thread and a tile. Fragments are vectors of four where they align.
  const double steps = block_k / number(t.slices);
  const double parts = number(ceil_div(t.thread_m, 4) + ceil_div(t.thread_n, 4));
  const double words = number((t.thread_m + t.thread_n) * p.element) / 4;
  // Whole vectors go to registers, then to shared memory, element by element where they run along
  // k.
  double vectors = 0, stores = 0, places = 0;
  for (const auto& [operand, block] : {std::pair{p.a, t.block_m}, {p.b, t.block_n}}) {
    const double elements = block_k * number(block) / cost.threads;
    const double moves = elements / number(operand.vector);
    vectors += moves;
    places += moves * operand.slots;
    stores += operand.along_k ? elements : elements / number(std::min<int64_t>(4, operand.vector));
  }
  const double issued =
      steps * (sums + parts / 2) + places + 2 * stores + 10 + (folds ? 2 * steps * sums / 64 : 0);
  const double last = sums * (8 + (t.cluster > 1 ? 4 : 0) + (t.slices > 1 ? 4 : 0));

  const double threads = cost.workgroups * cost.threads, tiles = threads * k_tiles;
  const double moved = tiles * block_k * rows / cost.threads;
  cost.accesses = tiles * (steps * parts + vectors + stores);
  cost.bank_cycles =
      tiles * (steps * std::max(0.0, words * kWordCycles - parts) + (kStoreCycles - 1) * stores) /
      32;
  cost.elements = 2 * moved + tiles * steps * words / 2 + (t.slices > 1 ? 2 * threads * sums : 0);
  cost.arithmetic = (serial ? 1 : kIssued) * tiles * issued + threads * last + p.epilogue;
  cost.memory_bytes = p.bytes;
  cost.cache_bytes = p.bytes + moved * p.operand_bytes;
  cost.registers = number(registers(t, p, target));
  cost.barriers = serial ? k_tiles + (t.slices > 1 ? 2 : 0) : 0;
  if (serial) return predicted_seconds(cost, target);

  // The next tile is on its way while one is multiplied.
  const double clock = operation_rate(target) / target.compute_units / target.fma_lanes;
  const double alone = std::ceil(cost.threads / 32 / kSchedulers) * kAlone / clock;
  cost.bytes_in_flight = HUGE_VAL;
  const double waiting = kTile + kMoved * block_k * rows / cost.threads;
  cost.round_trips = (k_tiles * (alone * issued + waiting) + alone * last) / kLatency;
  cost.first_share = 1 / std::max(1.0, k_tiles);
  // Each workgroup finishes its share of a tile's sums.
  cost.peer_bytes =
      cost.workgroups * number(t.block_m * t.block_n * p.element) * (1 - 1 / number(t.cluster));
  cost.parallelism = 16;
  return predicted_seconds(cost, target);
}

std::optional<FmaTile> fastest_tile(const FmaRules& rules) {
  const FmaProduct& product = rules.of().product;
  const Target& target = rules.of().target;
  std::optional<FmaTile> best;
  double best_seconds = 0;
  const auto consider = [&](const FmaTile& tile) {
    if (rules.against(tile)) return;
    const double seconds = predicted_seconds(tile, product, target);
    if (best && seconds >= best_seconds) return;
    best = tile;
    best_seconds = seconds;
  };
  if (target.serial_workgroups) {
    for (FmaTile tile : kCpuTiles)
      for (tile.slices = 1; tile.slices <= 2; ++tile.slices) consider(tile);
    return best;
  }
  constexpr int64_t kMostRegisters = 224;  // with more, compilers spill
  for (FmaTile tile : kGpuTiles)
    for (tile.slices = 1; tile.slices <= 8; tile.slices *= 2)
      for (tile.cluster = 1; tile.cluster <= std::min(8, target.max_cluster); tile.cluster *= 2) {
        FmaTile deep = tile;
        for (const int64_t block_k : {tile.block_k, int64_t{32}, int64_t{64}}) {
          deep.block_k = block_k;
          if (registers(deep, product, target) <= kMostRegisters) consider(deep);
        }
      }
  return best;
}

}  // namespace tcc::sched
