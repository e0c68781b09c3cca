#include "scheduler/sized_choices.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "scheduler/template.h"
#include "support/checked.h"
#include "support/error.h"

namespace tcc::sched {
namespace {

// A further kernel must save that much of a program's time, on average over all sizes, times the
// cube of the number of open dims: what is saved at the sizes of one dim is spread over those of
// the others, and programs of several dims have more kernels to look at as it is. In programs of
// more than kFewRegions regions, each of which takes little of the time, it is the less the more
// they are.
constexpr double kLeastGain = 0.001;
constexpr size_t kFewRegions = 12;
// In programs of many regions, that many kernels are added for each on average.
constexpr size_t kMostAdded = 4;
constexpr size_t kMostCells = 64;  // of a region
constexpr size_t kMostCellsOfOne = 24;
// The most where several axes have several classes.
constexpr size_t kMostCellsOfClasses = 32;
// The largest number whose multiples are a class: elements of one access.
constexpr int64_t kMostMultiple = 16;
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

// How far apart two kernels are: octaves between the values of their parameters.
double octaves_between(const SizedRegion::Option& a, const SizedRegion::Option& b) {
  constexpr double kOtherTemplate = 4;
  if (a.by != b.by) return kOtherTemplate;
  const auto more = [](int64_t value) { return static_cast<double>(1 + std::abs(value)); };
  double octaves = 0;
  for (const auto& [name, value] : a.config.config.values())
    if (b.config.config.has(name))
      octaves += std::abs(std::log2(more(value) / more(b.config.config[name])));
  return octaves;
}

// Returns the loss of each option in a cell. The one that a program of such a size has is taken for
// the best, measured or by a template's rules: another one whose estimate is shorter is estimated
// wrongly by so much at least, and the model is the less sure of one the less they are alike.
std::vector<double> losses_of(const std::vector<double>& seconds,
                              const std::vector<SizedRegion::Option>& options, size_t chosen) {
  constexpr double kDoubt = 0.01;  // of an octave
  const double best = seconds[chosen];
  std::vector<double> losses;
  for (size_t i = 0; i < seconds.size(); ++i) {
    const double one = seconds[i];
    const bool is_known = one > 0 && best > 0;
    losses.push_back(one < 0 ? kNoChoice
                             : (is_known ? std::abs(std::log(one / best)) : 0) +
                                   kDoubt * octaves_between(options[i], options[chosen]));
  }
  return losses;
}

// Sizes are as likely as their logarithms.
double span_of(const SizeCell& cell) {
  const double least = static_cast<double>(std::max<int64_t>(cell.least, 1)),
               most = static_cast<double>(std::max<int64_t>(cell.most, 1));
  return std::log((most + static_cast<double>(cell.multiple)) / least);
}

// The class of a size.
size_t class_of(const SizeClasses& classes, int64_t size) {
  const auto& multiples = classes.multiples;
  return static_cast<size_t>(
      std::ranges::find_if(multiples, [&](int64_t m) { return size % m == 0; }) -
      multiples.begin());
}

// Appends what tells sizes of the classes from `first` to `last` from others.
void add_classes(exec::SizeCondition& condition, const SymInt& number, const SizeClasses& classes,
                 size_t first, size_t last) {
  for (size_t i = 0; i < first; ++i)
    condition.push_back({ir::mod(number, classes.multiples[i]), 1, classes.multiples[i] - 1});
  if (const int64_t multiple = classes.multiples[last]; multiple > 1)
    condition.push_back({ir::mod(number, multiple), 0, 0});
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
  constexpr int64_t kLeastPart = 4, kMostParts = 8, kStep = 4;
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

std::optional<SizeCell> multiples_in(const SizeCell& cell, int64_t multiple) {
  const int64_t least = ceil_div(cell.least, multiple) * multiple,
                most = cell.most / multiple * multiple;
  if (least > most || most <= 0) return std::nullopt;
  const int64_t usual = std::clamp(cell.usual / multiple * multiple, least, most);
  return SizeCell{least, most, usual, multiple};
}

namespace {

SymInt size_in(const SizeCell& cell, const std::string& symbol) {
  const auto& [least, most, usual, multiple] = cell;
  return least == most ? SymInt(least) : ir::known_multiple(symbol, {least, most}, usual, multiple);
}

}  // namespace

RegionsAtSizes::RegionsAtSizes(std::span<const ir::Node* const> nodes,
                               const ir::GrowingDims& growing, const SizeBox& box)
    : box_(box) {
  ir::Numbers numbers;
  ir::OpenSizes open;
  for (const auto& [symbol, cell] : box) {
    numbers[symbol] = cell.usual;
    if (cell.least < cell.most) open[symbol] = size_in(cell, symbol);
  }
  part_ = ir::bind_nodes(nodes, growing, numbers, open);
}

Region RegionsAtSizes::region(const Region& of_graph) const {
  const auto sized = [&](const SymInt& value) {
    return value.substitute([&](const ir::AtomPtr& atom) -> std::optional<SymInt> {
      const auto found = box_.find(atom->name);
      if (atom->kind != ir::Atom::Kind::symbol || found == box_.end()) return std::nullopt;
      return size_in(found->second, atom->name);
    });
  };
  Region region = of_graph;
  for (const ir::Node*& node : region.nodes) node = part_.nodes.at(node);
  for (auto* values : {&region.inputs, &region.outputs})
    for (const ir::Value*& value : *values) value = part_.values.at(value);
  if (region.anchor) region.anchor = part_.nodes.at(region.anchor);
  region.layouts.clear();
  for (const auto& [value, layout] : of_graph.layouts) {
    Layout& of_sizes = region.layouts[part_.values.at(value)];
    for (const SymInt& stride : layout.strides) of_sizes.strides.push_back(sized(stride));
    of_sizes.elements = sized(layout.elements);
  }
  region.in_place.clear();
  for (const auto& [output, input] : of_graph.in_place)
    region.in_place[part_.values.at(output)] = part_.values.at(input);
  return region;
}

SizedChoices::SizedChoices(const ir::Graph& graph, std::span<const Region* const> regions,
                           const Target& target, const ConfigSource& configs)
    : growing_(ir::growing_dims(graph)), target_(target), configs_(configs) {
  std::set<const ir::Node*> known;
  for (const Region* region : regions) known.insert(region->nodes.begin(), region->nodes.end());
  for (const auto& node : graph.nodes())
    if (known.contains(node.get())) nodes_.push_back(node.get());
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

void SizedChoices::estimate(SizedRegion& region, const std::vector<Cell>& cells,
                            const std::vector<size_t>& chosen, int times) const {
  const ir::AtomPtr classed = region.axes[region.classes.axis].number.as_atom();
  for (size_t i = 0; i < cells.size(); ++i) {
    const Cell& cell = cells[i];
    std::map<std::tuple<const Template*, int64_t, bool>, CandidatePtr> known;
    if (cell.candidate)
      known[{&cell.candidate->kernel_template(), cell.multiple, false}] = cell.candidate;
    // An option's kernel in the cell, which knows of its multiples as much as the option's does.
    const auto candidate = [&](const SizedRegion::Option& option, bool is_wide) {
      const auto [entry, is_new] = known.try_emplace({option.by, option.multiple, is_wide});
      if (!is_new || !cell.owner) return entry->second.get();
      SizeBox box = cell.box;
      if (option.multiple != cell.multiple) box.at(classed->name).multiple = option.multiple;
      if (is_wide) box = widened(box);
      const auto owner = box == cell.box ? cell.owner : at(box);
      if (owner && !(is_wide && box == cell.box))
        entry->second = match(owner->region(region.candidate->region()), option.by);
      return entry->second.get();
    };
    std::vector<double> seconds;
    for (const SizedRegion::Option& option : region.options) {
      double& one = seconds.emplace_back(-1);
      if (cell.multiple % option.multiple != 0) continue;
      one = seconds_of(candidate(option, false), option.config.config);
      // A kernel of a range of sizes need be none where one of them is a number.
      if (one < 0) one = seconds_of(candidate(option, true), option.config.config);
    }
    SizedRegion::Cell& estimated = region.cells.emplace_back();
    estimated.weight = cell.weight;
    estimated.seconds = std::max(0.0, seconds[chosen[i]]) * times;
    for (const auto& [symbol, all] : symbols_) estimated.sizes[symbol] = all.usual;
    for (const auto& [symbol, sized] : cell.box) estimated.sizes[symbol] = sized.usual;
    estimated.losses = losses_of(seconds, region.options, chosen[i]);
  }
}

// The box with neighbours of the sizes that are numbers there, though not everywhere.
SizeBox SizedChoices::widened(SizeBox box) const {
  for (auto& [symbol, cell] : box) {
    const SizeCell& all = symbols_.at(symbol);
    if (cell.least < cell.most) continue;
    if (cell.most + cell.multiple <= all.most)
      cell.most += cell.multiple;
    else if (cell.least - cell.multiple >= all.least)
      cell.least -= cell.multiple;
  }
  return box;
}

std::shared_ptr<const RegionsAtSizes> SizedChoices::at(const SizeBox& box) const {
  SizeBox whole = symbols_;
  for (const auto& [symbol, cell] : box) whole[symbol] = cell;
  decltype(made_)::key_type key;
  for (const auto& [symbol, cell] : whole)
    key.push_back({symbol, {cell.least, cell.most, cell.usual, cell.multiple}});
  {
    std::lock_guard lock(mutex_);
    if (const auto found = made_.find(key); found != made_.end()) return found->second;
  }
  std::shared_ptr<const RegionsAtSizes> made;
  try {
    made = std::make_shared<const RegionsAtSizes>(nodes_, growing_, whole);
  } catch (const Error& error) {
    // Values would be larger than any memory.
    if (error.kind() != ErrorKind::bad_input) throw;
  }
  std::lock_guard lock(mutex_);
  return made_.emplace(std::move(key), std::move(made)).first->second;
}

// The one product that all work grows with, or each symbol.
std::vector<SizeAxis> SizedChoices::axes(const Region& region, size_t most_cells) const {
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
  const double count = std::pow(static_cast<double>(most_cells),
                                1.0 / static_cast<double>(std::max<size_t>(symbols.size(), 1)));
  for (const std::string& symbol : symbols) {
    const SizeCell& cell = symbols_.at(symbol);
    axes.push_back({SymInt::symbol(symbol), size_cells({cell.least, cell.most}, cell.usual,
                                                       static_cast<size_t>(count + 1e-6))});
  }
  return axes;
}

// Returns the numbers whose multiples have another kernel by default than multiples of their
// halves, in descending order, and 1.
std::vector<int64_t> SizedChoices::multiples(const Candidate& candidate,
                                             const std::string& symbol) const {
  const SizeCell& all = symbols_.at(symbol);
  SizeCell cell = all;
  // Long sizes decide: short ones take little more than a launch.
  cell.usual = std::min(all.most, saturated(all.usual, kFar)) / kMostMultiple * kMostMultiple;
  if (cell.usual < std::max<int64_t>(all.least, 1)) return {1};
  std::vector<int64_t> found;
  constexpr double kOther = 0.01;  // part of the seconds that tells kernels of one config apart
  std::optional<std::pair<const Template*, Config>> before;
  double seconds_before = 0;
  for (int64_t multiple = kMostMultiple; multiple >= 1; multiple /= 2) {
    const auto cells = multiples_in(cell, multiple);
    const auto owner = cells ? at({{symbol, *cells}}) : nullptr;
    const CandidatePtr here = owner ? match(owner->region(candidate.region()), nullptr) : nullptr;
    if (!here) return {1};
    std::pair<const Template*, Config> kernel(&here->kernel_template(), here->default_config());
    const double seconds = here->default_seconds();
    if (before && (*before != kernel || std::abs(seconds - seconds_before) > kOther * seconds))
      found.push_back(2 * multiple);
    before = std::move(kernel);
    seconds_before = seconds;
  }
  found.push_back(1);
  return found;
}

// Sizes of the first axis whose divisors matter.
SizeClasses SizedChoices::classes(const Candidate& candidate,
                                  const std::vector<SizeAxis>& axes) const {
  for (size_t d = 0; d < axes.size(); ++d) {
    const ir::AtomPtr symbol = axes[d].number.as_atom();
    if (!symbol) continue;
    std::vector<int64_t> found = multiples(candidate, symbol->name);
    if (found.size() > 1) return {d, std::move(found)};
  }
  return {};
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
    if (symbols.size() == 1) {
      box[symbols.front()] = cell;
      continue;
    }
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
                                                    const SizeClasses& classes,
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
  for (const int64_t multiple : classes.multiples)
    for (std::vector<SizeCell> at_sizes : all) {
      Cell& cell = cells.emplace_back();
      cell.multiple = multiple;
      const auto sizes = multiples_in(at_sizes[classes.axis], multiple);
      if (!sizes) continue;
      at_sizes[classes.axis] = *sizes;
      cell.weight = axes.size() == 1 ? span_of(at_sizes.front()) : 1;
      if (!around.empty()) {
        const SizeCell& whole = around[cells.size() - 1];
        at_sizes.front() = {whole.least, whole.most, at_sizes.front().usual};
      }
      cell.box = box_of(axes, at_sizes);
      cell.owner = at(cell.box);
      if (cell.owner) cell.candidate = match(cell.owner->region(of.region()), nullptr);
    }
  return cells;
}

SizedRegion SizedChoices::look_at(const CandidatePtr& candidate, int times) const {
  SizedRegion region{candidate, candidate->default_seconds() * times, configs_.choose(*candidate)};
  region.axes = axes(candidate->region(), kMostCells);
  if (region.axes.empty()) return region;
  region.classes = classes(*candidate, region.axes);
  const bool has_classes = region.classes.multiples.size() > 1;
  if (has_classes && region.axes.size() > 1)
    region.axes = axes(candidate->region(), kMostCellsOfClasses);
  // A config is legal in a fine cell if it is so in the cell that this is a part of: a tile that
  // divides the sizes of the part need not divide those of others that the kernel serves.
  std::vector<SizeCell> around;
  if (region.axes.size() == 1 && !has_classes) {
    std::vector<size_t> part_of;
    const std::vector<SizeCell> coarse = std::exchange(region.axes.front().cells, {});
    region.axes.front().cells = fine_cells(coarse, part_of);
    for (const size_t part : part_of) around.push_back(coarse[part]);
  }
  const std::vector<Cell> cells = this->cells(*candidate, region.axes, region.classes, around);
  std::vector<SizedRegion::Option>& options = region.options;
  options = {{&candidate->kernel_template(), region.config}};
  std::vector<size_t> chosen;  // by cell
  for (const Cell& cell : cells) {
    SizedRegion::Option option = options.front();
    if (cell.candidate)
      option = {&cell.candidate->kernel_template(), configs_.choose(*cell.candidate),
                cell.multiple};
    const auto known = std::ranges::find_if(options, [&](const SizedRegion::Option& other) {
      return other.by == option.by && other.config.config == option.config.config &&
             other.multiple == option.multiple;
    });
    chosen.push_back(static_cast<size_t>(known - options.begin()));
    if (known == options.end())
      options.push_back(std::move(option));
    else
      known->config.tier = std::min(known->config.tier, option.config.tier);
  }
  estimate(region, cells, chosen, times);
  return region;
}

const SizedRegion::Cell& SizedRegion::cell_of(const ir::Numbers& sizes) const {
  const auto number_of = [&](const SizeAxis& axis) {
    return axis.number.evaluate(
        [&](const ir::Atom& atom) { return std::optional(sizes.at(atom.name)); });
  };
  size_t cell = class_of(classes, number_of(axes[classes.axis]));
  for (const SizeAxis& axis : axes) {
    const int64_t number = number_of(axis);
    const auto found =
        std::ranges::find_if(axis.cells, [&](const SizeCell& one) { return number <= one.most; });
    const auto at = static_cast<size_t>(found - axis.cells.begin());
    cell = cell * axis.cells.size() + std::min(at, axis.cells.size() - 1);
  }
  return cells[cell];
}

void divide_sizes(std::span<SizedRegion> regions) {
  std::map<ir::Numbers, double> known;
  const auto seconds_of_program = [&](const ir::Numbers& sizes) {
    const auto [entry, is_new] = known.try_emplace(sizes, 0);
    if (is_new)
      for (const SizedRegion& region : regions)
        entry->second += region.axes.empty() ? region.seconds : region.cell_of(sizes).seconds;
    return entry->second;
  };
  std::vector<SizeDivision*> divisions;
  size_t dims = 1;
  for (SizedRegion& region : regions) {
    if (region.axes.empty()) continue;
    dims = region.cells.front().sizes.size();
    double all = 0;
    for (const SizedRegion::Cell& cell : region.cells) all += cell.weight;
    std::vector<std::vector<double>> losses;
    std::vector<double> weights;
    for (const SizedRegion::Cell& cell : region.cells) {
      const double seconds = cell.weight > 0 ? seconds_of_program(cell.sizes) : 0;
      const double part = seconds > 0 ? cell.seconds / seconds : 1;
      weights.push_back(all > 0 ? cell.weight / all * part : 0);
      losses.push_back(cell.losses);
    }
    std::vector<size_t> shape = {region.classes.multiples.size()};
    for (const SizeAxis& axis : region.axes) shape.push_back(axis.cells.size());
    region.division.emplace(std::move(shape), std::move(losses), std::move(weights));
    divisions.push_back(&*region.division);
  }
  const size_t most = std::max<size_t>(exec::kMostChoices - 1, kMostAdded * divisions.size());
  const double least = kLeastGain * static_cast<double>(dims * dims * dims * kFewRegions) /
                       static_cast<double>(std::max(kFewRegions, divisions.size()));
  divide_sizes(divisions, exec::kMostChoices, most, least);
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
  const SizeClasses& classes = region.classes;
  const SizeAxis& classed_axis = region.axes[classes.axis];
  const std::vector<SizeCell>& classed = classed_axis.cells;
  const size_t usual_class = class_of(classes, usual_of(classed_axis.number));
  for (GridBox& box : region.division->boxes()) {
    const SizeCell &low = classed[box.first[classes.axis + 1]],
                   &high = classed[box.last[classes.axis + 1]];
    const bool has_sizes =
        multiples_in({low.least, high.most, low.usual}, classes.multiples[box.last[0]]).has_value();
    if (!has_sizes) continue;
    const auto [entry, is_new] = hulls.try_emplace(box.choice);
    Hull& hull = entry->second;
    if (is_new) {
      order.push_back(box.choice);
      hull.all = box;
    }
    bool has_usual = box.first[0] <= usual_class && usual_class <= box.last[0];
    for (size_t d = 0; d < region.axes.size(); ++d) {
      const SizeAxis& axis = region.axes[d];
      const int64_t usual = usual_of(axis.number);
      has_usual &=
          axis.cells[box.first[d + 1]].least <= usual && usual <= axis.cells[box.last[d + 1]].most;
    }
    for (size_t d = 0; d < box.first.size(); ++d) {
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
      const size_t first = hull.all.first[d + 1], last = hull.all.last[d + 1];
      const SizeCell &low = axis.cells[first], &high = axis.cells[last];
      sizes.push_back({low.least, high.most,
                       hull.is_usual   ? usual_of(axis.number)
                       : first == last ? low.usual
                                       : middle(low.usual, high.usual)});
      if (d != classes.axis) continue;
      const auto of_class = multiples_in(sizes.back(), classes.multiples[hull.all.last[0]]);
      if (of_class) sizes.back() = *of_class;
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
        const size_t first = box.first[d + 1], last = box.last[d + 1];
        if (first > 0 || last + 1 < axis.cells.size())
          condition.push_back({axis.number, axis.cells[first].least, axis.cells[last].most});
      }
      add_classes(condition, classed_axis.number, classes, box.first[0], box.last[0]);
    }
    choices.push_back(std::move(choice));
  }
  TCC_CHECK(usual, region.candidate->region().name(), ": no choice is for usual sizes");
  choices.push_back(*std::move(usual));
  return choices;
}

std::vector<SizedKernel> SizedChoices::measured(const CandidatePtr& candidate) const {
  std::vector<SizeAxis> axes = this->axes(candidate->region(), kMostCells);
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
    is_whole &= hull[d].least == all.front().least && hull[d].most == all.back().most &&
                hull[d].multiple == 1;
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
