#include "scheduler/sized_choices.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "scheduler/template.h"
#include "support/checked.h"
#include "support/error.h"

namespace tcc::sched {
namespace {

// A further kernel must save that much of a program's time, on average over all sizes.
constexpr double kLeastGain = 0.003;
constexpr size_t kMostCells = 64;  // of a region
constexpr size_t kMostCellsOfOne = 24;
// Larger sizes than that times the usual one are one cell.
constexpr int64_t kFar = 64;

int64_t middle(int64_t least, int64_t most) {
  const double low = static_cast<double>(std::max<int64_t>(least, 1)),
               high = static_cast<double>(std::max<int64_t>(most, 1));
  return std::clamp(std::llround(std::sqrt(low * high)), static_cast<long long>(least),
                    static_cast<long long>(most));
}

// A product of symbols, by how often each is a factor.
using Product = std::map<std::string, int>;

template <class Use>
void each_symbol(const SymInt& size, const Use& use) {
  size.visit_atoms([&](const ir::AtomPtr& atom) {
    if (atom->kind == ir::Atom::Kind::symbol) use(*atom);
  });
}

// Those of the attributes.
template <class Use>
void each_symbol(const ir::Node& node, const Use& use) {
  for (const auto& [key, attr] : node.attrs)
    if (const auto* sizes = std::get_if<std::vector<SymInt>>(&attr))
      for (const SymInt& size : *sizes) each_symbol(size, use);
}

// Returns the products of symbols that the work in the region grows with: those of its values'
// numbers of elements, and each symbol that attributes alone have.
std::set<Product> products_of(const Region& region) {
  std::set<Product> products;
  const auto add = [&](std::span<const SymInt> sizes) {
    Product product;
    for (const SymInt& size : sizes) {
      Product largest;  // of a sum
      each_symbol(size, [&](const ir::Atom& atom) { largest[atom.name] = 1; });
      for (const ir::SymInt::Term& term : size.terms()) {
        std::map<std::string, int> factors;
        for (const ir::AtomPtr& atom : term.atoms)
          if (atom->kind == ir::Atom::Kind::symbol) ++factors[atom->name];
        for (const auto& [name, times] : factors) largest[name] = std::max(largest[name], times);
      }
      for (const auto& [name, times] : largest) product[name] += times;
    }
    if (!product.empty()) products.insert(std::move(product));
  };
  std::set<std::string> in_attributes;
  for (const ir::Node* node : region.nodes) {
    for (const auto* values : {&node->inputs, &node->outputs})
      for (const ir::Value* value : *values)
        if (value) add(value->shape());
    each_symbol(*node, [&](const ir::Atom& atom) { in_attributes.insert(atom.name); });
  }
  for (const std::string& symbol : in_attributes)
    if (std::ranges::none_of(products, [&](const Product& p) { return p.contains(symbol); }))
      products.insert({{symbol, 1}});
  return products;
}

int64_t saturated(int64_t a, int64_t b) {
  return std::min(checked_mul(a, b).value_or(ir::kUnbounded), ir::kUnbounded);
}

// -1: the candidate has no such config.
double seconds_of(const Candidate* candidate, const Config& config) {
  if (!candidate || !candidate->space().violation(config).empty()) return -1;
  return candidate->estimate(config);
}

// Returns the loss of each option in a cell. A measured option is taken for the best: another one
// whose estimate is shorter is estimated wrongly by so much at least.
std::vector<double> losses_of(const std::vector<double>& seconds, size_t chosen, bool is_record) {
  double best = seconds[chosen];
  for (const double one : seconds)
    if (!is_record && one > 0 && (best <= 0 || one < best)) best = one;
  std::vector<double> losses;
  for (const double one : seconds) {
    const bool is_known = one > 0 && best > 0;
    losses.push_back(one < 0 ? kNoChoice : is_known ? std::abs(std::log(one / best)) : 0);
  }
  return losses;
}

// Sizes are as likely as their logarithms: cells weigh as much as they span, one on average.
void weigh(const std::vector<SizeCell>& cells, std::vector<std::vector<double>>& losses) {
  const auto span = [](const SizeCell& cell) {
    const double least = static_cast<double>(std::max<int64_t>(cell.least, 1)),
                 most = static_cast<double>(std::max<int64_t>(cell.most, 1));
    return std::log((most + 1) / least);
  };
  double all = 0;
  for (const SizeCell& cell : cells) all += span(cell);
  for (size_t i = 0; i < cells.size(); ++i)
    for (double& loss : losses[i])
      if (loss < kNoChoice) loss *= span(cells[i]) / all * static_cast<double>(cells.size());
}

// Outputs that are in place must be so in these kernels, too.
bool keeps_places(const Candidate& candidate) {
  return std::ranges::all_of(candidate.region().in_place, [&](const auto& pair) {
    return candidate.updates_in_place(pair.second, pair.first);
  });
}

}  // namespace

std::vector<SizeCell> size_cells(ir::Interval range, int64_t usual, size_t count) {
  // Ends of cells: 1, 2, 3, 4, 6, 8, 12, ... A size of 0 is no cell of its own: nothing runs there.
  std::vector<int64_t> ends;
  for (int64_t end = 1; end < range.hi && end / kFar <= std::max<int64_t>(usual, 1);
       end = end == 1       ? 2
             : end % 3 == 0 ? end / 3 * 4
                            : end / 2 * 3)
    if (end >= range.lo) ends.push_back(end);
  const bool has_far_end = !ends.empty() && range.hi / 4 > ends.back();
  ends.push_back(range.hi);
  std::vector<SizeCell> cells;
  const size_t step = (ends.size() + count - 1) / count;
  int64_t least = range.lo;
  for (size_t i = 0; i < ends.size(); ++i) {
    if ((ends.size() - 1 - i) % step != 0) continue;
    const bool is_far = has_far_end && i + 1 == ends.size();
    cells.push_back({least, ends[i], is_far ? 2 * least : middle(least, ends[i])});
    least = ends[i] + 1;
  }
  return cells;
}

std::vector<SizeCell> fine_cells(const std::vector<SizeCell>& cells, std::vector<size_t>& part_of) {
  constexpr int64_t kLeastPart = 64, kMostParts = 8, kStep = 16;
  const auto parts_of = [](const SizeCell& cell, int64_t most) {
    const bool is_far = cell.most / 4 > cell.usual;
    return is_far ? 1 : std::clamp<int64_t>((cell.most - cell.least + 1) / kLeastPart, 1, most);
  };
  // Each fine cell may become a condition of its own.
  const auto all_parts = [&](int64_t most) {
    int64_t all = 0;
    for (const SizeCell& cell : cells) all += parts_of(cell, most);
    return all;
  };
  int64_t most_parts = kMostParts;
  while (most_parts > 1 && all_parts(most_parts) > exec::kMostConditions) --most_parts;
  std::vector<SizeCell> fine;
  part_of.clear();
  for (size_t i = 0; i < cells.size(); ++i) {
    const SizeCell& cell = cells[i];
    const int64_t width = cell.most - cell.least + 1;
    const int64_t parts = parts_of(cell, most_parts);
    int64_t least = cell.least;
    for (int64_t part = 1; part <= parts; ++part) {
      const int64_t end = cell.least - 1 + width * part / parts;
      const int64_t most = part == parts ? cell.most : end / kStep * kStep;
      fine.push_back({least, most, parts == 1 ? cell.usual : middle(least, most)});
      part_of.push_back(i);
      least = most + 1;
    }
  }
  return fine;
}

RegionAtSizes::RegionAtSizes(const ir::Graph& graph, const SizeBox& box) : box_(box) {
  ir::Numbers numbers;
  ir::SizeRanges open;
  for (const auto& [symbol, cell] : box) {
    numbers[symbol] = cell.usual;
    if (cell.least < cell.most) open[symbol] = {cell.least, cell.most, 1};
  }
  graph_ = std::make_unique<ir::Graph>(ir::bind_dims(graph, numbers, open));
  for (size_t i = 0; i < graph.values().size(); ++i)
    values_[graph.values()[i].get()] = graph_->values()[i].get();
  for (size_t i = 0; i < graph.nodes().size(); ++i)
    nodes_[graph.nodes()[i].get()] = graph_->nodes()[i].get();
}

Region RegionAtSizes::region(const Region& of_graph) const {
  const auto sized = [&](const SymInt& value) {
    return value.substitute([&](const ir::AtomPtr& atom) -> std::optional<SymInt> {
      const auto found = box_.find(atom->name);
      if (atom->kind != ir::Atom::Kind::symbol || found == box_.end()) return std::nullopt;
      const auto& [least, most, usual] = found->second;
      return least == most ? SymInt(least) : ir::bounded_symbol(atom->name, {least, most}, usual);
    });
  };
  Region region = of_graph;
  for (const ir::Node*& node : region.nodes) node = nodes_.at(node);
  for (auto* values : {&region.inputs, &region.outputs})
    for (const ir::Value*& value : *values) value = values_.at(value);
  if (region.anchor) region.anchor = nodes_.at(region.anchor);
  region.layouts.clear();
  for (const auto& [value, layout] : of_graph.layouts) {
    Layout& of_sizes = region.layouts[values_.at(value)];
    for (const SymInt& stride : layout.strides) of_sizes.strides.push_back(sized(stride));
    of_sizes.elements = sized(layout.elements);
  }
  region.in_place.clear();
  for (const auto& [output, input] : of_graph.in_place)
    region.in_place[values_.at(output)] = values_.at(input);
  return region;
}

SizedChoices::SizedChoices(const ir::Graph& graph, const Target& target,
                           const ConfigSource& configs)
    : graph_(graph), target_(target), configs_(configs) {
  const auto add = [&](const ir::Atom& atom) {
    symbols_[atom.name] = {atom.range.lo, atom.range.hi, atom.usual};
  };
  for (const auto& value : graph.values())
    for (const SymInt& size : value->shape()) each_symbol(size, add);
  for (const auto& node : graph.nodes()) each_symbol(*node, add);
}

CandidatePtr SizedChoices::match(const Region& region, const Template* by) const {
  if (by && !is_asked(*by, region, target_)) return nullptr;
  Match match = by ? by->match(region, target_) : match_region(region, target_);
  if (!match || !why_off(**match).empty() || !keeps_places(**match)) return nullptr;
  return *match;
}

std::vector<std::vector<double>> SizedChoices::losses(
    const Region& region, const std::vector<SizeAxis>& axes, const std::vector<Cell>& cells,
    const std::vector<SizedRegion::Option>& options, const std::vector<Chosen>& chosen) const {
  std::vector<std::vector<double>> losses;
  for (size_t i = 0; i < cells.size(); ++i) {
    const CandidatePtr& own = cells[i].candidate;
    std::map<const Template*, CandidatePtr> candidates;
    if (own) candidates[&own->kernel_template()] = own;
    std::vector<double> seconds;
    for (const SizedRegion::Option& option : options) {
      auto [candidate, is_new] = candidates.try_emplace(option.by);
      if (is_new && cells[i].owner)
        candidate->second = match(cells[i].owner->region(region), option.by);
      seconds.push_back(seconds_of(candidate->second.get(), option.config.config));
    }
    losses.push_back(losses_of(seconds, chosen[i].option, chosen[i].tier != Tier::analytic));
  }
  if (axes.size() == 1) weigh(axes.front().cells, losses);
  return losses;
}

std::shared_ptr<const RegionAtSizes> SizedChoices::at(const SizeBox& box) const {
  SizeBox whole = symbols_;
  for (const auto& [symbol, cell] : box) whole[symbol] = cell;
  decltype(made_)::key_type key;
  for (const auto& [symbol, cell] : whole)
    key.push_back({symbol, {cell.least, cell.most, cell.usual}});
  {
    std::lock_guard lock(mutex_);
    if (const auto found = made_.find(key); found != made_.end()) return found->second;
  }
  std::shared_ptr<const RegionAtSizes> made;
  try {
    made = std::make_shared<const RegionAtSizes>(graph_, whole);
  } catch (const Error& error) {
    // Values would be larger than any memory.
    if (error.kind() != ErrorKind::bad_input) throw;
  }
  std::lock_guard lock(mutex_);
  return made_.emplace(std::move(key), std::move(made)).first->second;
}

// The one product that all work grows with, or each symbol.
std::vector<SizeAxis> SizedChoices::axes(const Region& region) const {
  const std::set<Product> products = products_of(region);
  std::set<std::string> symbols;
  for (const Product& product : products)
    for (const auto& [symbol, times] : product) symbols.insert(symbol);
  const auto is_once = [](const auto& factor) { return factor.second == 1; };
  if (products.size() == 1 && std::ranges::all_of(*products.begin(), is_once)) {
    SizeAxis axis{1, {}};
    SizeCell all{1, 1, 1};
    for (const std::string& symbol : symbols) {
      const SizeCell& cell = symbols_.at(symbol);
      axis.number = axis.number * SymInt::symbol(symbol);
      all = {saturated(all.least, cell.least), saturated(all.most, cell.most),
             saturated(all.usual, cell.usual)};
    }
    axis.cells = size_cells({all.least, all.most}, all.usual, kMostCellsOfOne);
    return {axis};
  }
  std::vector<SizeAxis> axes;
  const double count = std::pow(static_cast<double>(kMostCells),
                                1.0 / static_cast<double>(std::max<size_t>(symbols.size(), 1)));
  for (const std::string& symbol : symbols) {
    const SizeCell& cell = symbols_.at(symbol);
    axes.push_back({SymInt::symbol(symbol), size_cells({cell.least, cell.most}, cell.usual,
                                                       static_cast<size_t>(count + 1e-6))});
  }
  return axes;
}

// The ranges that symbols have where each axis is within its cell, and usual sizes there.
SizeBox SizedChoices::box_of(const std::vector<SizeAxis>& axes,
                             const std::vector<SizeCell>& cells) const {
  SizeBox box;
  for (size_t d = 0; d < axes.size(); ++d) {
    std::vector<std::string> symbols;
    axes[d].number.visit_atoms([&](const ir::AtomPtr& atom) { symbols.push_back(atom->name); });
    const SizeCell& cell = cells[d];
    int64_t least = 1, most = 1;
    for (const std::string& symbol : symbols) {
      least = saturated(least, symbols_.at(symbol).least);
      most = saturated(most, symbols_.at(symbol).most);
    }
    // How far along its range, on a logarithmic scale.
    const auto log_of = [](int64_t n) {
      return std::log(static_cast<double>(std::max<int64_t>(n, 1)));
    };
    const double span = log_of(most) - log_of(least);
    const double part = span > 0 ? (log_of(cell.usual) - log_of(least)) / span : 0;
    int64_t usual = cell.usual;
    for (size_t i = 0; i < symbols.size(); ++i) {
      const SizeCell& all = symbols_.at(symbols[i]);
      SizeCell& sized = box[symbols[i]] = all;
      // The others are at least and at most so large.
      const auto others = [&](int64_t SizeCell::*end) {
        int64_t product = 1;
        for (const std::string& other : symbols)
          if (other != symbols[i]) product = saturated(product, symbols_.at(other).*end);
        return product;
      };
      if (const int64_t by = others(&SizeCell::least); by > 0)
        sized.most = std::min(all.most, cell.most / by);
      if (const int64_t by = others(&SizeCell::most); by > 0)
        sized.least = std::max(all.least, ceil_div(cell.least, by));
      // No sizes have such a product, so that any will do.
      if (sized.least > sized.most) sized = all;
      const double middle =
          std::exp(log_of(all.least) + part * (log_of(all.most) - log_of(all.least)));
      sized.usual = std::clamp<int64_t>(i + 1 < symbols.size() ? std::llround(middle) : usual,
                                        sized.least, sized.most);
      usual = std::max<int64_t>(usual / std::max<int64_t>(sized.usual, 1), 1);
    }
  }
  return box;
}

std::vector<SizedChoices::Cell> SizedChoices::cells(const Candidate& of,
                                                    const std::vector<SizeAxis>& axes,
                                                    std::span<const SizeCell> around) const {
  std::vector<std::vector<SizeCell>> all = {{}};
  for (const SizeAxis& axis : axes) {
    std::vector<std::vector<SizeCell>> more;
    for (const std::vector<SizeCell>& before : all)
      for (const SizeCell& cell : axis.cells) {
        more.push_back(before);
        more.back().push_back(cell);
      }
    all = std::move(more);
  }
  std::vector<Cell> cells;
  for (std::vector<SizeCell>& at_sizes : all) {
    if (!around.empty()) {
      const SizeCell& whole = around[cells.size()];
      at_sizes.front() = {whole.least, whole.most, at_sizes.front().usual};
    }
    Cell& cell = cells.emplace_back();
    cell.box = box_of(axes, at_sizes);
    cell.owner = at(cell.box);
    if (cell.owner) cell.candidate = match(cell.owner->region(of.region()), nullptr);
  }
  return cells;
}

SizedRegion SizedChoices::look_at(const CandidatePtr& candidate, int times) const {
  SizedRegion region{candidate, candidate->default_seconds() * times, configs_.choose(*candidate)};
  region.axes = axes(candidate->region());
  if (region.axes.empty()) return region;
  // A config is legal in a fine cell if it is so in the cell that this is a part of: a tile that
  // divides the sizes of the part need not divide those of others that the kernel serves.
  std::vector<SizeCell> around;
  if (region.axes.size() == 1) {
    std::vector<size_t> part_of;
    const std::vector<SizeCell> coarse = std::exchange(region.axes.front().cells, {});
    region.axes.front().cells = fine_cells(coarse, part_of);
    for (const size_t part : part_of) around.push_back(coarse[part]);
  }
  const std::vector<Cell> cells = this->cells(*candidate, region.axes, around);
  std::vector<SizedRegion::Option>& options = region.options;
  options = {{&candidate->kernel_template(), region.config}};
  std::vector<Chosen> chosen;  // by cell
  for (const Cell& cell : cells) {
    SizedRegion::Option option = options.front();
    if (cell.candidate)
      option = {&cell.candidate->kernel_template(), configs_.choose(*cell.candidate)};
    const auto known = std::ranges::find_if(options, [&](const SizedRegion::Option& other) {
      return other.by == option.by && other.config.config == option.config.config;
    });
    chosen.push_back({static_cast<size_t>(known - options.begin()), option.config.tier});
    if (known == options.end())
      options.push_back(std::move(option));
    else
      known->config.tier = std::min(known->config.tier, option.config.tier);
  }
  std::vector<size_t> shape;
  for (const SizeAxis& axis : region.axes) shape.push_back(axis.cells.size());
  region.division.emplace(std::move(shape),
                          losses(candidate->region(), region.axes, cells, options, chosen));
  return region;
}

void divide_sizes(std::span<SizedRegion> regions) {
  double all = 0;
  for (const SizedRegion& region : regions) all += region.seconds;
  std::vector<SizeDivision*> divisions;
  std::vector<double> weights;
  for (SizedRegion& region : regions) {
    if (!region.division) continue;
    divisions.push_back(&*region.division);
    weights.push_back(all > 0 ? region.seconds / all : 1);
  }
  const size_t most = std::max<size_t>(exec::kMostChoices - 1, divisions.size());
  divide_sizes(divisions, weights, exec::kMostChoices, most, kLeastGain);
}

std::vector<SizedChoice> SizedChoices::choices(const SizedRegion& region) const {
  if (!region.division) return {{{}, nullptr, region.candidate, region.config}};
  // The boxes of each choice, and the cells from the first to the last of them.
  struct Hull {
    std::vector<GridBox> boxes;
    GridBox all;
    bool is_usual = false;
  };
  std::map<size_t, Hull> hulls;
  std::vector<size_t> order;
  for (GridBox& box : region.division->boxes()) {
    const auto [entry, is_new] = hulls.try_emplace(box.choice);
    Hull& hull = entry->second;
    if (is_new) {
      order.push_back(box.choice);
      hull.all = box;
    }
    bool has_usual = true;
    for (size_t d = 0; d < region.axes.size(); ++d) {
      const SizeAxis& axis = region.axes[d];
      const int64_t usual = usual_of(axis.number);
      has_usual &= axis.cells[box.first[d]].least <= usual && usual <= axis.cells[box.last[d]].most;
      hull.all.first[d] = std::min(hull.all.first[d], box.first[d]);
      hull.all.last[d] = std::max(hull.all.last[d], box.last[d]);
    }
    hull.is_usual |= has_usual;
    hull.boxes.push_back(std::move(box));
  }
  std::vector<SizedChoice> choices;
  std::optional<SizedChoice> usual;
  for (const size_t option : order) {
    const Hull& hull = hulls.at(option);
    std::vector<SizeCell> sizes;
    for (size_t d = 0; d < region.axes.size(); ++d) {
      const SizeAxis& axis = region.axes[d];
      const SizeCell &low = axis.cells[hull.all.first[d]], &high = axis.cells[hull.all.last[d]];
      sizes.push_back({low.least, high.most,
                       hull.is_usual                           ? usual_of(axis.number)
                       : hull.all.first[d] == hull.all.last[d] ? low.usual
                                                               : middle(low.usual, high.usual)});
    }
    SizedChoice choice = in_hull(region, sizes, region.options[option]);
    if (hull.is_usual) {
      usual = std::move(choice);
      continue;
    }
    for (const GridBox& box : hull.boxes) {
      exec::SizeCondition& condition = choice.conditions.emplace_back();
      for (size_t d = 0; d < region.axes.size(); ++d) {
        const SizeAxis& axis = region.axes[d];
        if (box.first[d] > 0 || box.last[d] + 1 < axis.cells.size())
          condition.push_back(
              {axis.number, axis.cells[box.first[d]].least, axis.cells[box.last[d]].most});
      }
    }
    choices.push_back(std::move(choice));
  }
  TCC_CHECK(usual, region.candidate->region().name(), ": no choice is for usual sizes");
  choices.push_back(*std::move(usual));
  return choices;
}

std::vector<SizedKernel> SizedChoices::measured(const CandidatePtr& candidate) const {
  std::vector<SizeAxis> axes = this->axes(candidate->region());
  if (axes.empty() || candidate->host_call()) return {};
  // Each axis keeps its first cell, its last one, and some between them.
  const size_t most = axes.size() == 1 ? 8 : axes.size() == 2 ? 3 : 2;
  for (SizeAxis& axis : axes) {
    const std::vector<SizeCell> all = std::exchange(axis.cells, {});
    const size_t count = std::min(most, all.size());
    for (size_t i = 0; i < count; ++i)
      axis.cells.push_back(all[count == 1 ? 0 : i * (all.size() - 1) / (count - 1)]);
  }
  std::vector<SizedKernel> kernels;
  for (const Cell& cell : cells(*candidate, axes)) {
    if (!cell.candidate) continue;
    SizedKernel kernel{cell.candidate, cell.owner, {}, nullptr, {}, ""};
    SizeBox box;
    for (const auto& [symbol, of_symbol] : cell.box) {
      const int64_t usual = of_symbol.usual;
      box[symbol] = {usual, usual, usual};
      kernel.numbers.values[symbol] = usual;
      kernel.sizes += str(kernel.sizes.empty() ? "" : " ", symbol, "=", usual);
    }
    kernel.at_numbers = at(box);
    if (!kernel.at_numbers) continue;
    kernel.region = kernel.at_numbers->region(candidate->region());
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

SymInt SizedChoices::for_all_sizes(const SymInt& expression) const {
  return expression.substitute([&](const ir::AtomPtr& atom) -> std::optional<SymInt> {
    if (atom->kind != ir::Atom::Kind::symbol) return std::nullopt;
    const SizeCell& all = symbols_.at(atom->name);
    return ir::bounded_symbol(atom->name, {all.least, all.most}, all.usual);
  });
}

int64_t SizedChoices::usual_of(const SymInt& number) const {
  return number.evaluate(
      [&](const ir::Atom& atom) { return std::optional(symbols_.at(atom.name).usual); });
}

// The kernel where each axis is within its cell: the option's, or one that is right for all sizes.
SizedChoice SizedChoices::in_hull(const SizedRegion& region, const std::vector<SizeCell>& hull,
                                  const SizedRegion::Option& option) const {
  SizedChoice choice{{}, nullptr, region.candidate, region.config};
  bool is_whole = true;
  for (size_t d = 0; d < hull.size(); ++d) {
    const std::vector<SizeCell>& all = region.axes[d].cells;
    is_whole &= hull[d].least == all.front().least && hull[d].most == all.back().most;
  }
  const Config& config = option.config.config;
  if (is_whole) {
    const Candidate& whole = *region.candidate;
    if (&whole.kernel_template() == option.by && whole.space().violation(config).empty())
      choice.config = option.config;
    return choice;
  }
  const auto owner = at(box_of(region.axes, hull));
  const CandidatePtr here =
      owner ? match(owner->region(region.candidate->region()), option.by) : nullptr;
  if (!here) return choice;
  choice.owner = owner;
  choice.candidate = here;
  choice.config = here->space().violation(config).empty() ? option.config : configs_.choose(*here);
  return choice;
}

}  // namespace tcc::sched
