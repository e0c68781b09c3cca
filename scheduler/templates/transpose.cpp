// Pointwise regions that read some input along another dim than they write: tiles go through shared
// memory, so that both the reads and the writes are contiguous.
#include <algorithm>
#include <set>

#include "scheduler/templates/common.h"
#include "scheduler/templates/cost.h"
#include "scheduler/vectorize.h"
#include "support/checked.h"
#include "support/error.h"

namespace tcc::sched {
namespace {

using ir::ExprNode;

// Nothing but sums of axes with coefficients.
bool is_affine(const SymInt& offset) {
  for (const auto& term : offset.terms())
    if (term.atoms.size() != 1 || term.atoms[0]->kind != ir::Atom::Kind::axis) return false;
  return true;
}

// The region as a loop nest over the dims of its first output: which one is contiguous in the
// output (`p`), which one in the inputs that are read across (`q`), and those inputs' loads.
struct Plan {
  std::vector<int64_t> shape;
  std::vector<SymInt> axes;
  size_t p = 0, q = 0;
  std::set<std::string> across;  // texts of the loads to stage
};

std::string load_key(const Expr& e) {
  return std::to_string(e->buffer) + "@" + e->index.to_string();
}

std::optional<Plan> plan_transpose(const Region& region) {
  if (region.anchor || region.outputs.empty()) return std::nullopt;
  for (const ir::Node* node : region.nodes)
    if (node->op->expensive ||
        (node->op->kind != ir::OpKind::pointwise && node->op->kind != ir::OpKind::view))
      return std::nullopt;
  Plan plan;
  plan.shape = const_shape(*region.outputs[0]);
  const Layout& layout = region.layout(region.outputs[0]);
  for (const ir::Value* output : region.outputs)
    if (const_shape(*output) != plan.shape || !(region.layout(output) == layout))
      return std::nullopt;
  bool found = false;
  for (size_t d = 0; d < plan.shape.size(); ++d) {
    plan.axes.push_back(SymInt::axis("d" + std::to_string(d), plan.shape[d]));
    if (layout.strides[d] == 1 && plan.shape[d] > 1) {
      plan.p = d;
      found = true;
    }
  }
  if (!found || plan.shape[plan.p] < 16) return std::nullopt;
  Inliner inliner(region);
  std::map<size_t, int64_t> votes;  // dim -> bytes read along it
  std::map<size_t, std::set<std::string>> loads;
  for (const ir::Value* output : region.outputs)
    ir::visit(inliner.value_at(output, plan.axes), [&](const Expr& e) {
      if (e->kind != ExprNode::Kind::load || !is_affine(e->index)) return;
      if (coefficient(e->index, plan.axes[plan.p]) <= 1) return;  // contiguous, or the same for all
      for (size_t d = 0; d < plan.shape.size(); ++d)
        if (d != plan.p && plan.shape[d] >= 16 && coefficient(e->index, plan.axes[d]) == 1 &&
            loads[d].insert(load_key(e)).second)
          votes[d] += size_bytes(e->stored);
    });
  if (votes.empty()) return std::nullopt;
  plan.q = std::max_element(votes.begin(), votes.end(), [](auto& a, auto& b) {
             return a.second < b.second;
           })->first;
  plan.across = loads[plan.q];
  return plan;
}

class Transpose : public Template {
 public:
  std::string_view name() const override { return "transpose"; }
  int version() const override { return 1; }

  bool accepts(const Region& region, const Target&) const override {
    return plan_transpose(region).has_value();
  }

  ConfigSpace space(const Region& region, const Target& target) const override {
    auto staged = static_cast<int64_t>(plan_transpose(region)->across.size());
    ConfigSpace space;
    space.parameters = {
        {"tile", {16, 32, 64}, "side of the square tile"},
        {"rows", {2, 4, 8, 16, 32}, "rows of the tile that a workgroup takes at once"},
    };
    space.constraints = {
        {"a workgroup has at least 32 threads, and no more than the device allows",
         [max = target.max_workgroup_size](const Config& c) {
           return c["tile"] * c["rows"] <= max && c["tile"] * c["rows"] >= 32;
         }},
        {"no more rows than the tile has", [](const Config& c) { return c["rows"] <= c["tile"]; }},
        {"the tiles fit into shared memory",
         [staged, bytes = target.static_shared_bytes()](const Config& c) {
           return staged * c["tile"] * (c["tile"] + 1) * 8 <= bytes;
         }},
    };
    return space;
  }

  Config default_config(const Region& region, const Target& target) const override {
    ConfigSpace legal = space(region, target);
    for (Config config : {Config{{"tile", 32}, {"rows", 8}}, Config{{"tile", 16}, {"rows", 8}}})
      if (legal.violation(config).empty()) return config;
    return {{"tile", 16}, {"rows", 2}};
  }

  CostModel cost_model(const Region& region, const Target& target) const override {
    const Plan plan = *plan_transpose(region);
    Inliner inliner(region);
    std::vector<Expr> values;
    for (const ir::Value* output : region.outputs)
      values.push_back(inliner.value_at(output, plan.axes));
    const ElementWork work = element_work(values, plan.axes[plan.p]);
    double others = 1;
    for (size_t d = 0; d < plan.shape.size(); ++d)
      if (d != plan.p && d != plan.q) others *= static_cast<double>(plan.shape[d]);
    const int element = size_bytes(region.outputs[0]->dtype());
    const auto staged = static_cast<double>(plan.across.size());
    const double direct = work.contiguous + static_cast<double>(region.outputs.size());
    const double bytes = region_bytes(region);
    return [=, p = plan.shape[plan.p], q = plan.shape[plan.q]](const Config& c) {
      const int64_t tile = c["tile"];
      const auto steps = static_cast<double>(tile / c["rows"]);
      LaunchCost cost;
      cost.threads = static_cast<double>(tile * c["rows"]);
      cost.workgroups = others * static_cast<double>(ceil_div(p, tile) * ceil_div(q, tile));
      // The threads of tiles that stand out of the tensor run along.
      const double covered = cost.workgroups * static_cast<double>(tile * tile);
      cost.shared_bytes = staged * static_cast<double>(tile * (tile + 1)) * 4;
      cost.accesses = covered * (3 * staged + direct);
      // Rows of a tile that are shorter than a subgroup: more lines, and the padding no longer
      // keeps columns in different banks.
      const double rows = std::max(1.0, 32.0 / static_cast<double>(tile));
      cost.bank_cycles = covered / 32 * (rows - 1) * (2 * staged + direct);
      cost.elements = covered * (3 * staged + direct);
      cost.arithmetic = (work.arithmetic + 8) * covered;
      // Memory is moved in pieces of 64 bytes and more.
      const double piece = static_cast<double>(tile * element);
      cost.memory_bytes = bytes * std::max(1.0, 64 / piece);
      cost.cache_bytes = bytes * std::max(1.0, 64 / piece);
      cost.registers = 24 + 2 * steps * staged;
      cost.bytes_in_flight = std::min(steps, 16.0) * staged * element;
      cost.round_trips = 1 + steps / 16;
      cost.barriers = 1;
      return predicted_seconds(cost, target);
    };
  }

  Kernel lower(const Region& region, const Config& config, const Target&) const override {
    Plan plan = *plan_transpose(region);
    Kernel kernel = start_kernel(region);
    Inliner inliner(region);
    int64_t tile = config["tile"], rows = config["rows"];
    int64_t tiles_p = ceil_div(plan.shape[plan.p], tile),
            tiles_q = ceil_div(plan.shape[plan.q], tile);
    std::vector<int64_t> grid;  // the other dims, then the tiles
    std::vector<size_t> others;
    for (size_t d = 0; d < plan.shape.size(); ++d)
      if (d != plan.p && d != plan.q) {
        others.push_back(d);
        grid.push_back(plan.shape[d]);
      }
    grid.push_back(tiles_q);
    grid.push_back(tiles_p);
    kernel.grid = 1;
    for (int64_t g : grid) kernel.grid *= g;
    kernel.workgroup = static_cast<int>(tile * rows);
    SymInt thread = thread_axis(kernel.workgroup);
    std::vector<SymInt> at = delinearize_ints(block_axis(kernel.grid), grid);
    for (size_t i = 0; i < others.size(); ++i)
      if (!plan.axes[others[i]].is_const())
        kernel.body.push_back(let_index(plan.axes[others[i]], at[i]));
    SymInt base_q = at[at.size() - 2] * tile, base_p = at[at.size() - 1] * tile;
    SymInt fast = mod(thread, tile), slow = floordiv(thread, tile);
    SymInt step = SymInt::axis("s", tile / rows);
    SymInt row_in_tile = step * rows + slow;

    std::vector<Expr> values;
    for (const ir::Value* output : region.outputs)
      values.push_back(inliner.value_at(output, plan.axes));
    // In: neighbouring threads along q. Out: along p. Tiles are padded by one so that columns hit
    // different banks.
    std::map<std::string, std::string> tiles;
    Block in;
    for (const Expr& value : values)
      ir::visit(value, [&](const Expr& e) {
        if (e->kind != ExprNode::Kind::load || !plan.across.count(load_key(e))) return;
        auto [entry, inserted] =
            tiles.try_emplace(load_key(e), "tile" + std::to_string(tiles.size()));
        if (!inserted) return;
        kernel.shared.push_back({entry->second, e->dtype, tile * (tile + 1)});
        in.push_back(set_element(entry->second, fast * (tile + 1) + row_in_tile, e));
      });
    auto pass = [&](const SymInt& p, const SymInt& q, Block body) {
      Block block = {let_index(plan.axes[plan.p], p), let_index(plan.axes[plan.q], q)};
      append(block, std::move(body));
      std::vector<Expr> inside = {ir::index_less(p, plan.shape[plan.p]),
                                  ir::index_less(q, plan.shape[plan.q])};
      Expr guard = ir::all_of(inside);
      if (guard) block = {branch(guard, std::move(block))};
      kernel.body.push_back(loop(step, std::move(block), true));
    };
    pass(base_p + row_in_tile, base_q + fast, std::move(in));
    kernel.body.push_back(barrier());
    Block out;
    const Layout& layout = region.layout(region.outputs[0]);
    for (size_t i = 0; i < values.size(); ++i) {
      Expr value = ir::rewrite(values[i], [&](const Expr& e) -> Expr {
        if (e->kind != ExprNode::Kind::load) return nullptr;
        auto found = tiles.find(load_key(e));
        if (found == tiles.end()) return nullptr;
        return ir::element(found->second, e->dtype, row_in_tile * (tile + 1) + fast);
      });
      out.push_back(
          store(region.slot_of_output(region.outputs[i]), layout.offset(plan.axes), value));
    }
    pass(base_p + fast, base_q + row_in_tile, std::move(out));
    return kernel;
  }
};

}  // namespace

const Template& transpose_template() {
  static const Transpose instance;
  return instance;
}

}  // namespace tcc::sched
