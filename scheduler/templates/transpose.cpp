// Pointwise regions that read some input along another dim than they write: tiles go through shared
// memory, so that both the reads and the writes are contiguous.
#include <algorithm>
#include <set>

#include "scheduler/cost.h"
#include "scheduler/templates/common.h"
#include "scheduler/vectorize.h"
#include "scheduler/work.h"
#include "support/checked.h"
#include "support/error.h"

namespace tcc::sched::template_transpose {
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
  int64_t extent_p() const { return shape[p]; }
  int64_t extent_q() const { return shape[q]; }
  std::set<Expr, LoadLess> across;  // the loads to stage
};

// Elements that a thread holds while the tile is filled, at most.
constexpr int64_t kMaxHeld = 32;

int64_t threads(const Config& config) { return config["tile"] * config["rows"] / config["vector"]; }

OrRefusal<Plan> plan_transpose(const Region& region) {
  if (region.anchor || region.outputs.empty())
    return Refusal{"it is anchored by more than elements", true};
  for (const ir::Node* node : region.nodes)
    if ((node->op->kind != ir::OpKind::pointwise && node->op->kind != ir::OpKind::view) ||
        op_work(*node).is_long())
      return Refusal{str(node->op_name(), " takes long for an element"), true};
  Plan plan;
  plan.shape = const_shape(*region.outputs[0]);
  const Layout& layout = region.layout(region.outputs[0]);
  bool found = false;
  for (size_t d = 0; d < plan.shape.size(); ++d) {
    plan.axes.push_back(SymInt::axis("d" + std::to_string(d), plan.shape[d]));
    if (layout.strides[d] == 1 && plan.shape[d] > 1) {
      plan.p = d;
      found = true;
    }
  }
  if (!found || plan.shape[plan.p] < 16)
    return Refusal{"the first output has no contiguous dim of 16 elements", true};
  for (const ir::Value* output : region.outputs)
    if (const_shape(*output) != plan.shape || region.layout(output).strides[plan.p] != 1)
      return Refusal{"its outputs lie differently", true};
  Inliner inliner(region);
  std::map<size_t, int64_t> votes;  // dim -> bytes read along it
  std::map<size_t, std::set<Expr, LoadLess>> loads;
  for (const ir::Value* output : region.outputs)
    ir::visit(inliner.value_at(output, plan.axes), [&](const Expr& e) {
      if (e->kind != ExprNode::Kind::load || !is_affine(e->index)) return;
      if (coefficient(e->index, plan.axes[plan.p]) <= 1) return;  // contiguous, or the same for all
      for (size_t d = 0; d < plan.shape.size(); ++d)
        if (d != plan.p && plan.shape[d] >= 16 && coefficient(e->index, plan.axes[d]) == 1 &&
            loads[d].insert(e).second)
          votes[d] += size_bytes(e->stored);
    });
  if (votes.empty()) return Refusal{"nothing is read along another dim than is written", true};
  plan.q = std::max_element(votes.begin(), votes.end(), [](auto& a, auto& b) {
             return a.second < b.second;
           })->first;
  plan.across = loads[plan.q];
  return plan;
}

class Turned : public Candidate {
 public:
  Turned(const Template& by, const Region& region, const Target& target, Plan plan)
      : Candidate(by, region, target), plan_(std::move(plan)) {}

  bool turns_layouts() const override { return true; }

 private:
  ConfigSpace make_space() const override {
    const Target& target = this->target();
    const Plan& plan = plan_;
    const auto staged = static_cast<int64_t>(plan.across.size());
    ConfigSpace space;
    space.parameters = kernel_template().parameters();
    space.constraints = {
        {"a workgroup has at least 32 threads, and no more than the device allows",
         [max = target.max_workgroup_size](const Config& c) {
           return threads(c) <= max && threads(c) >= 32;
         }},
        {"no more rows than the tile has", [](const Config& c) { return c["rows"] <= c["tile"]; }},
        {"vectors divide the dims that are crossed, and a subgroup takes 32 elements of a row",
         [plan](const Config& c) {
           return plan.extent_p() % c["vector"] == 0 && plan.extent_q() % c["vector"] == 0 &&
                  (c["vector"] == 1 || (c["tile"] >= 32 && c["rows"] >= c["vector"]));
         }},
        {"at most 64 elements in one thread",
         [](const Config& c) { return c["tile"] / c["rows"] * c["vector"] <= 64; }},
        {"the tiles fit into shared memory",
         [staged, bytes = target.static_shared_bytes()](const Config& c) {
           return staged * c["tile"] * (c["tile"] + 1) * 8 <= bytes;
         }},
    };
    return space;
  }

  Config make_default_config() const override {
    const Region& region = this->region();
    const Target& target = this->target();
    const ConfigSpace& legal = own_space();
    // 16 bytes of an access, while that leaves enough tiles for all compute units.
    int64_t vector = target.wide_accesses ? 16 / size_bytes(region.outputs[0]->dtype()) : 1;
    const int64_t elements = numel(region.outputs[0]);
    for (; vector > 1; vector /= 2) {
      const Config config{{"tile", 64}, {"rows", 4 * vector}, {"vector", vector}};
      if (elements / (64 * 64) >= 2 * target.compute_units && legal.violation(config).empty())
        return config;
    }
    for (int64_t tile : {32, 16}) {
      const Config config{{"tile", tile}, {"rows", 8}, {"vector", 1}};
      if (legal.violation(config).empty()) return config;
    }
    return {{"tile", 16}, {"rows", 2}, {"vector", 1}};
  }

  CostModel make_cost_model() const override {
    const Region& region = this->region();
    const Plan& plan = plan_;
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
    return [=, target = target(), p = plan.shape[plan.p], q = plan.shape[plan.q]](const Config& c) {
      const int64_t tile = c["tile"];
      const auto steps = static_cast<double>(tile / c["rows"]);
      const auto width = static_cast<double>(c["vector"]);
      LaunchCost cost;
      cost.threads = static_cast<double>(threads(c));
      cost.workgroups = others * static_cast<double>(ceil_div(p, tile) * ceil_div(q, tile));
      // The threads of tiles that stand out of the tensor run along.
      const double covered = cost.workgroups * static_cast<double>(tile * tile);
      cost.shared_bytes = staged * static_cast<double>(tile * (tile + 1)) * 4;
      // In and out of shared memory element by element.
      cost.accesses = covered * (2 * staged + (staged + direct) / width);
      // Rows of a tile that are shorter than a subgroup: more lines, and the padding no longer
      // keeps columns in different banks.
      const double rows = std::max(1.0, 32.0 / static_cast<double>(tile));
      cost.bank_cycles = covered / 32 * (rows - 1) * (2 * staged + direct);
      cost.elements = covered * (3 * staged + direct);
      cost.arithmetic = (work.slots + 2 + 6 / width) * covered;
      // Memory is moved in pieces of 64 bytes and more.
      const double piece = static_cast<double>(tile * element);
      cost.memory_bytes = bytes * std::max(1.0, 64 / piece);
      cost.cache_bytes = bytes * std::max(1.0, 64 / piece);
      cost.registers = 24 + 2 * steps * width * staged;
      cost.bytes_in_flight = std::min(steps, 16.0) * width * staged * element;
      cost.round_trips = 1 + steps / 16;
      cost.barriers = 1;
      return predicted_seconds(cost, target);
    };
  }

 public:
  KernelSequence lower(const Config& config) const override {
    const Region& region = this->region();
    const Plan& plan = plan_;
    Kernel kernel = start_kernel(region);
    Inliner inliner(region);
    const int64_t tile = config["tile"], rows = config["rows"], width = config["vector"];
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
    kernel.grid = *checked_product(grid);
    kernel.workgroup = static_cast<int>(threads(config));
    SymInt thread = thread_axis(kernel.workgroup);
    std::vector<SymInt> at = delinearize_ints(block_axis(kernel.grid), grid);
    for (size_t i = 0; i < others.size(); ++i)
      if (!plan.axes[others[i]].is_const())
        kernel.body.push_back(let_index(plan.axes[others[i]], at[i]));
    SymInt base_q = at[at.size() - 2] * tile, base_p = at[at.size() - 1] * tile;
    // A thread's place in a tile: a vector of a row, and which row. With vectors, a subgroup takes
    // 32 elements of some rows: an element of all its vectors then lies in different banks, of the
    // tile's rows when they are written and of its columns when they are read.
    const int64_t across = std::min<int64_t>(tile, 32) / width, pieces = tile / (across * width);
    SymInt lane = SymInt::axis("v", width);
    SymInt fast = mod(thread, across) * width;
    SymInt slow = mod(floordiv(thread, across), rows);
    if (pieces > 1) fast = fast + floordiv(thread, across * rows) * (across * width);
    SymInt step = SymInt::axis("s", tile / rows);
    SymInt row_in_tile = step * rows + slow;

    std::vector<Expr> values;
    for (const ir::Value* output : region.outputs)
      values.push_back(inliner.value_at(output, plan.axes));
    // In: neighbouring threads along q. Out: along p. Tiles are padded by one so that columns hit
    // different banks.
    std::map<Expr, Variable, LoadLess> tiles;
    std::vector<Sink> in, out;
    for (const Expr& value : values)
      ir::visit(value, [&](const Expr& e) {
        if (e->kind != ExprNode::Kind::load || !plan.across.count(e)) return;
        auto [entry, inserted] = tiles.try_emplace(e, ir::new_variable("tile", e->dtype));
        if (!inserted) return;
        kernel.shared.push_back({entry->second, tile * (tile + 1)});
        in.push_back({-1, entry->second, (fast + lane) * (tile + 1) + row_in_tile, e});
      });
    // Values that are read in the direction in which they are written are loaded before the
    // barrier, so that all loads are in flight together.
    std::map<Expr, Variable, LoadLess> held;
    std::vector<Sink> direct;
    const SymInt held_at = step * width + lane;
    for (const Expr& value : values)
      ir::visit(value, [&](const Expr& e) {
        if (width == 1 || e->kind != ExprNode::Kind::load || tiles.count(e)) return;
        if (coefficient(e->index, plan.axes[plan.p]) != 1) return;
        if (static_cast<int64_t>(held.size() + 1) * width * (tile / rows) > kMaxHeld) return;
        auto [entry, inserted] = held.try_emplace(e, ir::new_variable("held", e->dtype));
        if (!inserted) return;
        kernel.body.push_back(array(entry->second, width * (tile / rows)));
        direct.push_back({-1, entry->second, held_at, e});
      });
    for (size_t i = 0; i < values.size(); ++i) {
      const ir::Value* output = region.outputs[i];
      Expr value = ir::rewrite(values[i], [&](const Expr& e) -> Expr {
        if (e->kind != ExprNode::Kind::load) return nullptr;
        if (auto found = held.find(e); found != held.end())
          return ir::element(found->second, held_at);
        auto found = tiles.find(e);
        if (found == tiles.end()) return nullptr;
        return ir::element(found->second, row_in_tile * (tile + 1) + fast + lane);
      });
      const SymInt offset = region.layout(output).offset(plan.axes);
      out.push_back({region.slot_of_output(output), {}, offset, value});
    }
    // A step of all threads: a vector along the dim `along`, in a row of the dim `other`.
    auto pass = [&](size_t along, const SymInt& base_along, size_t other, const SymInt& base_other,
                    std::vector<Sink> sinks, bool early = false) {
      const SymInt first = base_along + fast, row = base_other + row_in_tile;
      const SymInt start = SymInt::axis("first", plan.shape[along] / width);
      const SymInt moved = start * width + lane;
      auto place = [&](const SymInt& index) { return index.substitute(plan.axes[along], moved); };
      for (Sink& sink : sinks) {
        sink.offset = place(sink.offset);
        sink.value = ir::rewrite(
            sink.value, [](const Expr&) { return nullptr; }, place);
      }
      Block block = {let_index(start, floordiv(first, width)), let_index(plan.axes[other], row)};
      append(block, vectorize(sinks, lane));
      for (Stmt& stmt : block) stmt.early = early && stmt.kind == Stmt::Kind::load_vector;
      std::vector<Expr> inside = {ir::index_less(first, plan.shape[along]),
                                  ir::index_less(row, plan.shape[other])};
      Expr guard = ir::all_of(inside);
      if (guard) block = {branch(guard, std::move(block))};
      kernel.body.push_back(loop(step, std::move(block), true));
    };
    if (!direct.empty()) pass(plan.p, base_p, plan.q, base_q, std::move(direct), true);
    pass(plan.q, base_q, plan.p, base_p, std::move(in));
    kernel.body.push_back(barrier());
    pass(plan.p, base_p, plan.q, base_q, std::move(out));
    return kernel;
  }

 private:
  Plan plan_;
};

class Transpose : public Template {
 public:
  std::string_view name() const override { return "transpose"; }
  int version() const override { return 2; }
  int specificity() const override { return 1; }
  std::vector<Parameter> parameters() const override {
    return {
        {"tile", {16, 32, 64, 128}, "side of the square tile"},
        {"rows", {2, 4, 8, 16, 32, 64}, "rows of the tile that a workgroup takes at once"},
        {"vector", {1, 2, 4, 8}, "neighbouring elements of one access to memory"},
    };
  }

  Match match(const Region& region, const Target& target) const override {
    OrRefusal<Plan> plan = plan_transpose(region);
    if (!plan) return plan.refusal();
    return std::make_shared<const Turned>(*this, region, target, *std::move(plan));
  }
};

const RegisterTemplate<Transpose> registered;

}  // namespace

}  // namespace tcc::sched::template_transpose
