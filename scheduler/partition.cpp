// Cutting the graph into regions: greedy, in topological order, as far as some kernel template
// accepts the result.
#include "scheduler/partition.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "ir/append.h"
#include "ir/external.h"
#include "ir/layers.h"
#include "ir/sizes.h"
#include "scheduler/cost.h"
#include "scheduler/fusion_groups.h"
#include "scheduler/layout.h"
#include "scheduler/passed_templates.h"
#include "scheduler/seeds.h"
#include "scheduler/template.h"
#include "support/error.h"
#include "support/hash.h"

namespace tcc::sched {
namespace {

using ir::Node;
using ir::OpKind;
using ir::Value;

// A value without elements needs no kernel.
bool stores_elements(const Region& region) {
  return std::any_of(region.outputs.begin(), region.outputs.end(),
                     [](const Value* output) { return !ir::elements_of(output).is(0); });
}

constexpr const char* kKeptApart = "plan: it keeps them apart";

// "h, a (+2)".
std::string names_text(const ir::Layers& layers) {
  constexpr size_t kMost = 3;
  std::string text;
  for (size_t k = 0; k < std::min(layers.size(), kMost); ++k) text += (k ? ", " : "") + layers[k];
  return layers.size() <= kMost ? text : str(text, " (+", layers.size() - kMost, ")");
}

// "exp (weights)": the op, and the user's name of what it is a part of.
std::string described(const Node* node) {
  ir::Layers layers;
  ir::add_layers(layers, node->location);
  return layers.empty() ? std::string(node->op_name())
                        : str(node->op_name(), " (", names_text(layers), ")");
}

class Partitioner {
 public:
  Partitioner(const ir::Graph& graph, const Target& target, const PartitionOptions& options)
      : target_(target),
        groups_(graph, target, options.precision),
        subgraph_(graph),
        options_(options) {}

  std::vector<ScheduledRegion> run() {
    place_all();
    if (options_.fuse) {
      absorb_producers();
      join_beside();
      sink_views();
    }
    if (options_.explain) explain();
    std::vector<ScheduledRegion> regions;
    for (size_t g = 0; g < groups_.size(); ++g) {
      if (groups_.nodes(g).empty()) continue;
      const Match& match = groups_.match(groups_.nodes(g));
      if (!stores_elements(match ? (*match)->region() : groups_.region(groups_.nodes(g))) &&
          !ir::has_effects(*groups_.nodes(g).front()))
        continue;
      if (!match && match.refusal().of_device)
        fail_device(groups_.region(groups_.nodes(g)).name(), ": ", match.reason());
      TCC_CHECK(match, groups_.region(groups_.nodes(g)).name(), " has no kernel: ", match.reason());
      regions.emplace_back(*match);
    }
    return regions;
  }

 private:
  void place_all() {
    if (!options_.fuse) {
      for (const auto& node : groups_.graph().nodes()) place(node.get());
      return;
    }
    const auto refused = [&](const Unit& nodes, const std::string& reason) {
      if (options_.explain) options_.explain(str(names_of(nodes), " is not one kernel: ", reason));
    };
    for (const Unit& unit : units_with_seeds(groups_, target_, refused)) {
      if (unit.size() > 1) {
        // Each cast that is stored may join later by itself (absorb_producers).
        groups_.store_casts(unit);
        groups_.start(unit);
      } else {
        place(unit.front());
      }
    }
  }

  // Into the last of the groups that it reads from: every other one comes before that, so no cycle
  // can arise.
  void place(const Node* node) {
    if (groups_.is_light(node)) return;
    // A contraction starts a group of its own; what feeds it joins later, where that pays
    // (absorb_producers).
    bool joins = options_.fuse && node->op->kind != OpKind::contraction &&
                 node->op->kind != OpKind::external && !ir::appends(*node);
    if (joins && joins_reduction_with_index(node)) return;
    int last = joins ? groups_.last_producer(node) : -1;
    if (joins && joins_product_with_operand(node, last)) return;
    if (last >= 0) {
      const std::vector<const Node*>& group = groups_.nodes(static_cast<size_t>(last));
      const bool is_for_rows =
          groups_.has_contraction(static_cast<size_t>(last)) && groups_.is_made_for_rows(node);
      const std::string objection = is_for_rows ? str("rule: the rows that read ", described(node),
                                                      " compute it from what is stored")
                                                : against_joining(group, node);
      if (objection.empty() && (!meets_anchor(group, node) || is_fused(group, {node}))) {
        groups_.add(static_cast<size_t>(last), node);
        return;
      }
      if (objection.empty())
        keep_apart(group.back(), node);
      else
        note(group.back(), node, objection);
    }
    if (const int beside = joins ? part_beside(node, last) : -1; beside >= 0) {
      groups_.add(static_cast<size_t>(beside), node);
      return;
    }
    groups_.start({node});
  }

  // A node that reads a product's result, and what a pointwise group behind it makes of other
  // values for this node alone, joins the product's group with that group: an epilogue is one
  // wherever its operands are listed.
  bool joins_product_with_operand(const Node* node, int last) {
    if (node->op->kind != OpKind::pointwise || last < 0 ||
        !groups_.is_pointwise(static_cast<size_t>(last)))
      return false;
    int product = -1;
    for (const Value* input : node->inputs)
      if (const int from = input ? groups_.last_producer(*input) : -1; from != last)
        product = std::max(product, from);
    if (product < 0 || !groups_.has_contraction(static_cast<size_t>(product))) return false;
    const auto into = static_cast<size_t>(product), operand = static_cast<size_t>(last);
    const std::vector<const Node*> made = groups_.nodes(operand);
    for (const Node* n : made)
      if (const int from = groups_.last_producer(n); from > product && from != last) return false;
    if (!groups_.is_only_for(operand, node) || is_apart(groups_.nodes(into), made) ||
        !against_computing_again(made, {node}).empty())
      return false;
    std::vector<const Node*> all = groups_.nodes(into), after = made;
    all.insert(all.end(), made.begin(), made.end());
    after.push_back(node);
    if (!against_joining(all, node).empty() || !is_fused(groups_.nodes(into), after)) return false;
    groups_.merge(operand, into);
    groups_.add(into, node);
    return true;
  }

  // A pointwise group that reads another part of the same product (the gates of a recurrent step),
  // and has as many elements: what is done to the parts is one kernel. All that the node reads
  // comes before it.
  int part_beside(const Node* node, int last) const {
    constexpr size_t kNear = 4;  // groups back; parts of one product follow one another
    if (node->op->kind != OpKind::pointwise || last < 0 ||
        !groups_.has_contraction(static_cast<size_t>(last)))
      return -1;
    const std::set<const Value*> products = sliced_products(node);
    if (products.empty()) return -1;
    const size_t end = groups_.size(), first = static_cast<size_t>(last) + 1;
    for (size_t g = end; g-- > std::max(first, end - std::min(end, kNear));) {
      if (groups_.nodes(g).empty() || !groups_.is_pointwise(g)) continue;
      const auto reads_one = [&](const Node* n) {
        const auto others = sliced_products(n);
        return std::any_of(others.begin(), others.end(),
                           [&](const Value* v) { return products.count(v) > 0; });
      };
      const auto& nodes = groups_.nodes(g);
      if (elements_of(nodes.back()->outputs[0]) == elements_of(node->outputs[0]) &&
          std::any_of(nodes.begin(), nodes.end(), reads_one) &&
          against_joining(nodes, node).empty())
        return static_cast<int>(g);
    }
    return -1;
  }

  std::set<const Value*> sliced_products(const std::vector<const Node*>& nodes) const {
    std::set<const Value*> products;
    for (const Node* node : nodes) products.merge(sliced_products(node));
    return products;
  }

  // Results of contractions' groups of which the node reads slices, if only through casts.
  std::set<const Value*> sliced_products(const Node* node) const {
    std::set<const Value*> products;
    for (const Value* value : node->inputs) {
      bool is_part = false;
      while (value && value->producer && groups_.is_light(value->producer)) {
        const Node& by = *value->producer;
        if (by.op->kind != OpKind::view && by.op_name() != "cast") break;
        is_part |= by.op_name() == "slice";
        value = by.inputs[0];
      }
      if (!is_part || !value->producer || groups_.is_light(value->producer)) continue;
      const int group = groups_.last_producer(*value);
      if (group >= 0 && groups_.has_contraction(static_cast<size_t>(group))) products.insert(value);
    }
    return products;
  }

  // A gather of a few elements of a reduction's result (the loss of a row's target) joins the
  // reduction's kernel, which then need not store the rest; so do the nodes that only find the
  // index.
  bool joins_reduction_with_index(const Node* node) {
    if (node->inputs.size() != 2 || node->op_name() != "gather") return false;
    const int from = groups_.last_producer(*node->inputs[0]),
              by = groups_.last_producer(*node->inputs[1]);
    if (from < 0 || !groups_.is_reduction(static_cast<size_t>(from))) return false;
    if (usual_numel(node->outputs[0]) * 2 > usual_numel(node->inputs[0])) return false;
    const auto into = static_cast<size_t>(from);
    std::vector<const Node*> index;
    if (by > from) {
      const auto group = static_cast<size_t>(by);
      index = groups_.nodes(group);
      if (!groups_.is_pointwise(group)) return false;
      // Nothing between the two groups may come before the one and after the other.
      for (const Node* n : index)
        if (int producer = groups_.last_producer(n); producer > from && producer != by)
          return false;
    }
    std::vector<const Node*> after = index;
    after.push_back(node);
    std::vector<const Node*> all = groups_.nodes(into);
    all.insert(all.end(), after.begin(), after.end());
    if (!groups_.match(all) || stored(all) >= stored(groups_.nodes(into))) return false;
    if (!is_fused(groups_.nodes(into), after)) {
      keep_apart(groups_.nodes(into).back(), node);
      return false;
    }
    if (!index.empty()) groups_.merge(static_cast<size_t>(by), into);
    groups_.add(into, node);
    return true;
  }

  // Elements that the region of these nodes stores, as far as the graph is placed.
  int64_t stored(const std::vector<const Node*>& nodes) const {
    int64_t elements = 0;
    for (const Value* output : groups_.region(nodes).outputs) elements += usual_numel(output);
    return elements;
  }

  static bool is_anchor(const Node* node) {
    return node->op->kind == OpKind::reduce || node->op->kind == OpKind::contraction;
  }

  // A reduction, or what reads the result of a reduction or contraction in `group`, if only through
  // index maps.
  bool meets_anchor(const std::vector<const Node*>& group, const Node* node) const {
    if (is_anchor(node)) return true;
    return std::any_of(node->inputs.begin(), node->inputs.end(), [&](const Value* input) {
      if (!input || !input->producer) return false;
      const Node* producer = input->producer;
      if (groups_.is_light(producer)) return meets_anchor(group, producer);
      return is_anchor(producer) && std::find(group.begin(), group.end(), producer) != group.end();
    });
  }

  // Returns whether two parts that a template takes as one region are one.
  bool is_fused(const std::vector<const Node*>& before,
                const std::vector<const Node*>& after) const {
    std::vector<const Node*> both = before;
    both.insert(both.end(), after.begin(), after.end());
    PlanSite site;
    site.kind = "fuse";
    site.key = subgraph_.key(both, before.size());
    site.alternatives = {0, 1};
    site.default_choice = 1;
    site.description = str(groups_.region(before).name(), " with ", groups_.region(after).name(),
                           " ", ir::to_string(after.back()->outputs[0]->type));
    return options_.plan.choose(site) != 0;
  }

  bool is_apart(const std::vector<const Node*>& before,
                const std::vector<const Node*>& after) const {
    return std::any_of(before.begin(), before.end(), [&](const Node* a) {
      return std::any_of(after.begin(), after.end(), [&](const Node* b) {
        return apart_.count({a, b}) > 0;
      });
    });
  }

  void keep_apart(const Node* before, const Node* after) {
    apart_.insert({before, after});
    note(before, after, kKeptApart);
  }

  // Why the node does not join the group, or "".
  std::string against_joining(const std::vector<const Node*>& group, const Node* node) const {
    if (std::string why = against_computing_again(group, {node}); !why.empty()) return why;
    if (joins_too_much(group, {node})) return "rule: one kernel would join too many tensors";
    std::vector<const Node*> nodes = group;
    nodes.push_back(node);
    const Match& match = groups_.match(nodes);
    return match ? "" : match.reason_by();
  }

  // Why the elements of a group should not be computed where the others read them, or "": that
  // takes longer than a launch more, which stores them and loads them. Operations take their number
  // over the rate, bytes theirs over the bandwidth, a launch what it takes by itself. What rows and
  // products are reduced to is never computed again; that is for the templates to see to.
  std::string against_computing_again(const std::vector<const Node*>& group,
                                      const std::vector<const Node*>& others) const {
    double times = 0, within = 1;
    for (const Node* other : others) {
      if (other->op->kind != OpKind::pointwise && other->op->kind != OpKind::view) return "";
      times = std::max(times, groups_.times_read(group, other));
      if (others.size() > 1)
        for (const double reads : groups_.work(other).reads) within = std::max(within, reads);
    }
    return against_times(group, others.front(), times * within);
  }

  // The same where each element is computed so many times.
  std::string against_times(const std::vector<const Node*>& group, const Node* other,
                            double times) const {
    const double slots = groups_.slots(group);
    if (times <= 1 || std::isinf(slots)) return "";
    const GroupBytes bytes = groups_.bytes(group);
    const double again =
        (times - 1) * groups_.elements(group) * slots / operation_rate(target_) +
        times * std::max(0.0, bytes.read - bytes.written) / cache_bandwidth(target_);
    const double apart = launch_seconds(target_) + 2 * bytes.written / target_.bandwidth;
    if (again <= apart) return "";
    return str("cost: ", described(other), " would compute elements of ", described(group.back()),
               " ", std::lround(times), " times, which takes ", time_text(again),
               ", and to store and load them ", time_text(apart));
  }

  // Every element of a cat looks at all of its operands, and one of a cat of cats at all of theirs:
  // beyond a limit, the cats stay apart, as a graph that joins many tensors in parts intends.
  static bool joins_too_much(const std::vector<const Node*>& nodes,
                             const std::vector<const Node*>& others) {
    constexpr size_t most = 32;
    const auto joined = [](const std::vector<const Node*>& all) {
      size_t operands = 0;
      for (const Node* node : all)
        if (node->op_name() == "cat") operands += node->inputs.size();
      return operands;
    };
    const size_t a = joined(nodes), b = joined(others);
    return a > 0 && b > 0 && a + b > most;
  }

  // Pointwise groups that only one other group reads become its prologue, and reductions a part of
  // it.
  // The nodes that make an operand of several products, as a rotation of queries does, are one
  // group before it is weighed against a kernel of its own: a part of it alone would be a kernel
  // more.
  void absorb_producers() {
    absorb_producers([&](size_t into) {
      const int consumer = groups_.is_pointwise(into) ? groups_.only_consumer(into) : -1;
      return consumer >= 0 && groups_.has_products(static_cast<size_t>(consumer));
    });
    absorb_producers([](size_t) { return true; });
  }

  // Into the groups that `takes` accepts.
  void absorb_producers(const std::function<bool(size_t into)>& takes) {
    for (size_t g = groups_.size(); g-- > 0;) {
      if (groups_.nodes(g).empty()) continue;
      const int consumer = groups_.only_consumer(g);
      if (consumer < 0) continue;
      const auto into = static_cast<size_t>(consumer);
      if (!takes(into)) continue;
      const auto &nodes = groups_.nodes(g), &others = groups_.nodes(into);
      const std::string objection = against_absorbing(g, into);
      const bool is_choice = groups_.is_reduction(into) || groups_.has_contraction(into);
      if (objection.empty() && (!is_choice || is_fused(nodes, others)))
        groups_.merge(g, into);
      else
        note(nodes.back(), others.back(), objection.empty() ? kKeptApart : objection);
    }
  }

  // Why the group does not become a part of the only one that reads it, or "".
  std::string against_absorbing(size_t g, size_t into) const {
    if (groups_.has_contraction(g)) return "rule: the result of a product is not computed again";
    std::vector<const Node*> nodes = groups_.nodes(g);
    const bool product = groups_.has_contraction(into), widens = product && only_casts(nodes);
    const auto& others = groups_.nodes(into);
    if (const Candidate* both = computing_once(g, into); both && !is_copy(g)) {
      // Where launches overlap, a short kernel ahead of a product costs its own time alone:
      // measured behind others, 1.3 us of 3.7.
      const bool hides = target_.overlapping_launches && !groups_.has_products(into);
      return is_apart(nodes, others)
                 ? kKeptApart
                 : against_slower(g, into, *both, hides ? launch_seconds(target_) : 0);
    }
    // Reductions of the same rows stand side by side.
    if (!groups_.is_pointwise(g) && (!groups_.is_reduction(g) || !groups_.is_reduction(into)))
      return "rule: what is reduced, scanned or sorted is not computed again";
    // An epilogue computes its operands once per result.
    const bool feeds = product && groups_.feeds_products(nodes, others),
               is_operand = feeds || (product && groups_.has_products(into));
    if (is_operand && !widens && groups_.slots(nodes) > kLoadSlots) {
      // Ops between products are computed once per score, as random numbers of dropout are.
      if (feeds)
        return "rule: a product would compute its operands, which take long, once per tile";
      if (std::string why = against_times(nodes, others.front(), groups_.times_made(nodes, others));
          !why.empty())
        return why;
    }
    if (std::string why = against_computing_again(nodes, others); !why.empty()) return why;
    if (is_operand && reads_more_than_it_makes(nodes, groups_.has_products(into)))
      return "rule: a product would read its operands, which are larger, once per tile";
    if (is_operand && is_copy(g)) return "rule: it is a copy that lies as the product reads it";
    if (is_apart(nodes, others)) return kKeptApart;
    if (joins_too_much(nodes, others)) return "rule: one kernel would join too many tensors";
    nodes.insert(nodes.end(), others.begin(), others.end());
    const Match& match = groups_.match(nodes);
    if (!match) return match.reason_by();
    // The copy engine brings an image that is stored, with its dims in the order that it wants;
    // threads load one that is computed where windows take it apart.
    if (is_operand && !widens && has_windows(others))
      return against_slower(g, into, **match, 0, &Partitioner::seconds_as_wished);
    const bool is_other = groups_.has_products(into) && takes_another(into, **match);
    return is_other ? against_slower(g, into, **match) : "";
  }

  // The candidate of both where the first makes an operand of the second's products and the
  // estimate counts how often it is computed; else null.
  const Candidate* computing_once(size_t g, size_t into) const {
    const auto &nodes = groups_.nodes(g), &others = groups_.nodes(into);
    if (!groups_.has_contraction(into) || !groups_.feeds_products(nodes, others)) return nullptr;
    std::vector<const Node*> both = nodes;
    both.insert(both.end(), others.begin(), others.end());
    const Match& match = groups_.match(both);
    return match && (*match)->computes_operands_once() ? match->get() : nullptr;
  }

  // Whether another template computes a group with what it absorbs than alone.
  bool takes_another(size_t group, const Candidate& both) const {
    const Match& alone = groups_.match(groups_.nodes(group));
    return alone && &(*alone)->kernel_template() != &both.kernel_template();
  }

  // Why kernels of their own are better than one that computes the operands of the second, or "".
  // So many seconds of them overlap. `seconds` estimates the kernels of the second.
  using Estimate = double (Partitioner::*)(const Candidate&) const;
  std::string against_slower(size_t g, size_t into, const Candidate& both, double overlap = 0,
                             Estimate seconds = &Partitioner::default_seconds) const {
    const Match &first = groups_.match(groups_.nodes(g)),
                &second = groups_.match(groups_.nodes(into));
    if (!first || !second) return "";
    const double together = (this->*seconds)(both),
                 apart = (*first)->default_seconds() + (this->*seconds)(**second) - overlap;
    if (together <= apart) return "";
    return str("cost: ", both.kernel_template().name(), " would take ", time_text(together),
               " for both, ", (*first)->kernel_template().name(), " and ",
               (*second)->kernel_template().name(), " take ", time_text(apart));
  }

  double default_seconds(const Candidate& candidate) const { return candidate.default_seconds(); }
  // The seconds of a kernel whose buffers lie as it wishes, where that is free.
  double seconds_as_wished(const Candidate& candidate) const {
    Region region = candidate.region();
    for (const LayoutWish& wish : candidate.order_wishes())
      if (has_free_layout(groups_.graph(), wish.value)) region.layouts[wish.value] = wish.layout;
    const Match match = match_region(region, target_);
    return match ? (*match)->default_seconds() : candidate.default_seconds();
  }

  // The first reason counts: what a template says of the two comes before what absorbing says.
  void note(const Node* before, const Node* after, const std::string& why) {
    if (options_.explain) notes_.try_emplace({before, after}, why);
  }

  // Why two groups, of which `h` reads what `g` writes, are two.
  std::string why_apart(size_t g, size_t h) const {
    if (!options_.fuse) return "rule: nothing is fused";
    for (const Node* a : groups_.nodes(g))
      for (const Node* b : groups_.nodes(h))
        if (const auto found = notes_.find({a, b}); found != notes_.end()) return found->second;
    if (groups_.only_consumer(g) != static_cast<int>(h)) {
      const int last = last_producer_of(h);
      if (last >= 0 && last != static_cast<int>(g))
        return str("rule: it reads from ", names_of(groups_.nodes(static_cast<size_t>(last))),
                   ", too, and what others read is not computed again");
      return "rule: what others read, too, is not computed again";
    }
    const std::string objection = against_absorbing(g, h);
    return objection.empty() ? "rule: it became possible by other merges, after they were looked at"
                             : objection;
  }

  // The last group that others' nodes of this one read from.
  int last_producer_of(size_t h) const {
    int last = -1;
    for (const Node* node : groups_.nodes(h))
      for (const Value* input : node->inputs) {
        const int producer = input ? groups_.last_producer(*input) : -1;
        if (producer != static_cast<int>(h)) last = std::max(last, producer);
      }
    return last;
  }

  // "matmul_add_gelu (h, a)": the ops and the user's names of what they compute.
  std::string names_of(const std::vector<const Node*>& nodes) const {
    const Region region = groups_.region(nodes);
    return str(region.name(), " (", names_text(region.layers()), ")");
  }

  void explain() const {
    std::map<std::string, int> lines;
    std::vector<std::string> order;
    for (size_t h = 0; h < groups_.size(); ++h) {
      std::set<int> producers;
      for (const Node* node : groups_.nodes(h))
        for (const Value* input : node->inputs)
          if (input) groups_.add_producers(*input, producers);
      producers.erase(static_cast<int>(h));
      for (const int g : producers) {
        const auto from = static_cast<size_t>(g);
        const std::string line = str(names_of(groups_.nodes(from)), " | ",
                                     names_of(groups_.nodes(h)), ": ", why_apart(from, h));
        if (lines[line]++ == 0) order.push_back(line);
      }
    }
    for (const std::string& line : order) {
      const int count = lines.at(line);
      options_.explain(count == 1 ? line : str(line, " (", count, " times)"));
    }
  }

  bool is_copy(size_t group) const {
    const auto& nodes = groups_.nodes(group);
    return std::any_of(nodes.begin(), nodes.end(), FusionGroups::is_copy);
  }

  static bool has_windows(const std::vector<const Node*>& nodes) {
    return std::ranges::any_of(nodes,
                               [](const Node* node) { return node->op_name() == "convolution"; });
  }

  // A matrix kernel does this to its operands in any case.
  static bool only_casts(const std::vector<const Node*>& nodes) {
    return std::all_of(nodes.begin(), nodes.end(), [](const Node* node) {
      return node->op_name() == "cast" || node->op->kind == OpKind::view;
    });
  }

  // The inputs of a contraction's prologue are read once per tile of the other operand: a prologue
  // whose inputs are larger than its result does not join. With `parts`, of what is gathered, as
  // keys are of pages, those elements count that are read.
  bool reads_more_than_it_makes(const std::vector<const Node*>& nodes, bool parts) const {
    Region region = groups_.region(nodes);
    double in = 0, out = 0;
    for (const Value* v : region.inputs)
      in += (parts ? elements_read(nodes, v) : static_cast<double>(usual_numel(v))) *
            size_bytes(v->dtype());
    for (const Value* v : region.outputs)
      out += static_cast<double>(usual_numel(v) * size_bytes(v->dtype()));
    return in > 1.5 * out;
  }

  // The elements that the nodes read of a value; all where they read it through index maps.
  double elements_read(const std::vector<const Node*>& nodes, const Value* value) const {
    double read = 0;
    for (const Node* node : nodes)
      for (size_t k = 0; k < node->inputs.size(); ++k)
        if (node->inputs[k] == value)
          read = std::max(read, static_cast<double>(usual_numel(node->outputs[0])) *
                                    groups_.work(node).reads[k]);
    const auto all = static_cast<double>(usual_numel(value));
    return read == 0 ? all : std::min(read, all);
  }

  // Short element-wise groups that read columns of one product and nothing of each other become one
  // launch.
  void join_beside() {
    constexpr size_t kNear = 8;  // groups; parts of one product follow one another
    for (size_t g = 0; g < groups_.size(); ++g) {
      if (groups_.nodes(g).empty() || !groups_.is_pointwise(g)) continue;
      const std::set<const Value*> products = sliced_products(groups_.nodes(g));
      if (products.empty()) continue;
      // Into a later one, ahead of all that reads this one, so that no cycle can arise.
      size_t end = groups_.size();
      for (const int reader : groups_.consumers(g))
        if (reader >= 0) end = std::min(end, static_cast<size_t>(reader));
      for (size_t h = g + 1, seen = 0; h < end && seen < kNear; ++h) {
        const auto &nodes = groups_.nodes(g), &others = groups_.nodes(h);
        seen += !others.empty();
        if (others.empty() || !groups_.is_pointwise(h) || is_apart(nodes, others)) continue;
        const std::set<const Value*> same = sliced_products(others);
        if (std::ranges::none_of(same, [&](const Value* v) { return products.contains(v); }))
          continue;
        std::vector<const Node*> both = nodes;
        both.insert(both.end(), others.begin(), others.end());
        const Match& match = groups_.match(both);
        if (!match || !against_slower(g, h, **match).empty()) continue;
        groups_.merge(g, h);
        break;
      }
    }
  }

  // A bijective view that is all that reads a value moves into the value's group, which then stores
  // through it: what the next kernel reads is laid out as that kernel wants it.
  void sink_views() {
    for (size_t g = 0; g < groups_.size(); ++g) {
      if (is_copy(g)) continue;  // its result lies as its operand does
      for (bool moved = true; moved && !groups_.nodes(g).empty();) {
        moved = false;
        for (const Value* value : groups_.region(groups_.nodes(g)).outputs) {
          const Node* view = groups_.only_user(value);
          if (!view || !groups_.is_light(view) || view->op->kind != OpKind::view ||
              !view->op->inverse)
            continue;
          std::vector<const Node*> nodes = groups_.nodes(g);
          nodes.push_back(view);
          const Match& match = groups_.match(nodes);
          if (!match || loses_order(g, value, **match, view->outputs[0])) continue;
          groups_.claim(view, g);
          moved = true;
          break;
        }
      }
    }
  }

  // Whether the group wishes an order of the value's dims and could not have it of the view's.
  bool loses_order(size_t g, const Value* value, const Candidate& moved, const Value* shown) const {
    if (!has_free_layout(groups_.graph(), shown)) return false;
    const auto wishes = [](const Candidate& candidate, const Value* of) {
      return std::ranges::count(candidate.order_wishes(), of, &LayoutWish::value) > 0;
    };
    return wishes(**groups_.match(groups_.nodes(g)), value) && !wishes(moved, shown);
  }

  const Target& target_;
  FusionGroups groups_;
  Subgraph subgraph_;
  PartitionOptions options_;
  std::set<std::pair<const Node*, const Node*>> apart_;  // that the plan keeps in two regions
  std::map<std::pair<const Node*, const Node*>, std::string> notes_;  // why they are not in one
};

}  // namespace

std::vector<ScheduledRegion> partition(const ir::Graph& graph, const Target& target,
                                       const PartitionOptions& options) {
  std::vector<ScheduledRegion> regions = Partitioner(graph, target, options).run();
  order_regions(graph, regions);
  assign_layouts(graph, regions, options.free_layouts);
  return regions;
}

}  // namespace tcc::sched
