#include "scheduler/split_contractions.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "ir/passes/graph_rewrite.h"
#include "ir/sizes.h"
#include "scheduler/fusion_groups.h"
#include "support/checked.h"
#include "support/error.h"

namespace tcc::sched {
namespace {

using ir::Builder;
using ir::Node;
using ir::Value;

constexpr int64_t kTile = 64;           // of a usual contraction kernel, rows and columns
constexpr int64_t kShortestPart = 128;  // products of one part
// Products are split by default where every tuned device gains from it.
constexpr int64_t kClearlyLong = 2048, kShortestDefaultPart = 512;

struct Extents {
  int64_t batch = 1, m = 1, n = 1, k = 1;
  int64_t tiles() const { return batch * ceil_div(m, kTile) * ceil_div(n, kTile); }
};

// The operands of the matmul may be vectors and batches.
Extents extents_of(const Node& matmul) {
  const std::vector<int64_t> a = ir::const_shape(*matmul.inputs[0]),
                             b = ir::const_shape(*matmul.inputs[1]),
                             out = ir::const_shape(*matmul.outputs[0]);
  Extents extents;
  extents.k = a.back();
  if (a.size() > 1) extents.m = a[a.size() - 2];
  if (b.size() > 1) extents.n = b.back();
  const int64_t elements = std::accumulate(out.begin(), out.end(), int64_t{1}, std::multiplies<>());
  extents.batch = elements / std::max<int64_t>(1, extents.m * extents.n);
  return extents;
}

int64_t default_parts(const Extents& extents, const Target& target,
                      const std::vector<int64_t>& alternatives) {
  if (extents.k < kClearlyLong || 2 * extents.tiles() >= target.compute_units) return 1;
  int64_t parts = 1;
  for (int64_t count : alternatives)
    if (extents.tiles() * parts < target.compute_units && extents.k / count >= kShortestDefaultPart)
      parts = count;
  return parts;
}

int64_t choose_parts(const Node& node, const Target& target, const Plan& plan,
                     const FusionGroups& groups, const Subgraph& subgraph) {
  if (node.op_name() != "matmul" || !is_float(node.outputs[0]->dtype())) return 1;
  for (const Value* operand : node.inputs)
    if (!ir::open_dims(operand->shape()).empty()) return 1;
  const Extents extents = extents_of(node);
  if (extents.tiles() == 0 || extents.tiles() >= 2 * target.compute_units) return 1;
  PlanSite site;
  // There are no more parts than give every compute unit four workgroups.
  site.alternatives = divisors_among(
      {1, 2, 4, 8, 16, 32, 64}, extents.k, 1,
      std::min(extents.k / kShortestPart, ceil_div(4 * target.compute_units, extents.tiles())));
  if (site.alternatives.size() < 2) return 1;
  const Node* self = &node;
  site.kind = "split_k";
  site.key = subgraph.key({&self, 1});
  const Match& product = groups.match({self});
  const bool within_kernel = product && (*product)->splits_sums();
  site.default_choice = within_kernel ? 1 : default_parts(extents, target, site.alternatives);
  site.description = str("matmul of ", extents.m, " x ", extents.n, " x ", extents.k, " ",
                         name(node.inputs[0]->dtype()), ": parts of K");
  return plan.choose(site);
}

// `x` with dim `k` cut into [parts, k / parts], the parts as its first dim, then as many dims of
// extent 1 as bring its rank to `rank`.
Value* cut(Builder& b, Value* x, int64_t k, int64_t parts, int rank) {
  std::vector<int64_t> shape = ir::const_shape(*x);
  const auto at = static_cast<size_t>(k);
  shape[at] /= parts;
  shape.insert(shape.begin() + k, parts);
  std::vector<int64_t> order = {k};
  for (int64_t d = 0; d < static_cast<int64_t>(shape.size()); ++d)
    if (d != k) order.push_back(d);
  x = b.permute(b.reshape(x, {shape.begin(), shape.end()}), order);
  while (x->rank() < rank) x = b.unsqueeze(x, 1);
  return x;
}

// The sum of `parts` partial products, in place of `node`.
Value* split(Builder& b, const Node& node, int64_t parts) {
  Value *x = node.inputs[0], *y = node.inputs[1];
  if (x->rank() == 1) x = b.unsqueeze(x, 0);
  if (y->rank() == 1) y = b.unsqueeze(y, 1);
  const int rank = std::max(x->rank(), y->rank()) + 1;
  x = cut(b, x, x->rank() - 1, parts, rank);
  y = cut(b, y, y->rank() - 2, parts, rank);
  // Partial sums are not rounded. Casts come last: views of weights fold as narrow as they are.
  ir::Attrs attrs = node.attrs;
  if (is_f8(x->dtype())) {
    attrs["out_dtype"] = std::string(name(DType::f32));
  } else {
    x = b.compute(x);
    y = b.compute(y);
  }
  Value* sum = b.reduce("sum", b.op("matmul", {x, y}, attrs), {0});
  return b.cast(b.reshape(sum, node.outputs[0]->shape()), node.outputs[0]->dtype());
}

}  // namespace

void split_contractions(ir::Graph& graph, const Target& target, const Plan& plan,
                        const RegionPrecision& precision, const std::set<const Node*>& kept) {
  std::map<const Node*, int64_t> parts;
  const FusionGroups groups(graph, target, precision);
  const Subgraph subgraph(graph);
  for (const auto& node : graph.nodes())
    parts[node.get()] =
        kept.contains(node.get()) ? 1 : choose_parts(*node, target, plan, groups, subgraph);
  ir::rewrite_nodes(graph, [&](Builder& b, const Node& node) -> ir::Replacement {
    const int64_t count = parts.at(&node);
    return count == 1 ? ir::Replacement{} : ir::Replacement{split(b, node, count)};
  });
}

}  // namespace tcc::sched
