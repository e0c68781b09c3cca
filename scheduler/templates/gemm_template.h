// The outline of the matrix-unit templates: how a product becomes a space, a default, a cost model
// and a kernel. A template states what is its own: the loads that its device source knows, its
// shape, parameters and constraints, candidates, the cycles of a launch, and its defines.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "scheduler/templates/common.h"
#include "scheduler/templates/cost.h"
#include "scheduler/templates/gemm.h"

namespace tcc::sched {

// `Shape` derives from GemmShape and adds
//   Shape(const Gemm&, const Config&)
//   int64_t tiles_m           rows of what "band" counts
//   ContractionTile tile()    what the hooks are made for
template <class Shape>
class GemmTemplate : public Template {
 public:
  bool accepts(const Region& region, const Target& target) const final {
    return plan(region, target) != nullptr;
  }
  ConfigSpace space(const Region& region, const Target& target) const final {
    return space_of(plan(region, target), target);
  }
  Config default_config(const Region& region, const Target& target) const final {
    const Product gemm = plan(region, target);
    return fastest_candidate(candidates(), space_of(gemm, target), cost_of(region, gemm, target),
                             [&](const Config& config) {
                               return read_by_neighbours(grid(Shape(*gemm, config)), config["band"],
                                                         target);
                             });
  }
  CostModel cost_model(const Region& region, const Target& target) const final {
    return cost_of(region, plan(region, target), target);
  }
  Kernel lower(const Region& region, const Config& config, const Target& target) const final {
    const Product gemm = plan(region, target);
    const Shape shape(*gemm, config);
    Kernel kernel = start_kernel(region);
    kernel.source = name();
    GemmWriter writer(kernel, region, target, *gemm, shape.swapped, shape.tile());
    writer.product();
    write(kernel, writer, shape, config, target);
    return kernel;
  }

 protected:
  struct Constraint {
    std::string reason;
    std::function<bool(const Shape&)> holds;
  };

  virtual std::string_view unit() const = 0;  // of the target
  // Leaves the loads that the device source has.
  virtual void restrict_loads(MatrixOperand& operand) const = 0;
  // "block_m", "block_n" and "band" among them; "swapped" is added.
  virtual std::vector<Parameter> parameters() const = 0;
  virtual std::vector<Constraint> constraints(const Target& target) const = 0;
  // Configs without "band" and "swapped", for fastest_candidate().
  virtual std::vector<Config> candidates() const = 0;
  virtual TileGrid grid(const Shape& shape) const = 0;
  virtual GemmCycles cycles(const Shape& shape, const Target& target,
                            const EpilogueCost& stored) const = 0;
  // The launch, the defines of the config, and the operands; the product's are there.
  virtual void write(Kernel& kernel, GemmWriter& writer, const Shape& shape, const Config& config,
                     const Target& target) const = 0;

 private:
  // Shared by the constraints and the cost model that outlive the region.
  using Product = std::shared_ptr<const Gemm>;

  Product plan(const Region& region, const Target& target) const {
    std::optional<Gemm> gemm = plan_gemm(region, target, unit());
    if (!gemm) return nullptr;
    restrict_loads(gemm->a);
    restrict_loads(gemm->b);
    return std::make_shared<const Gemm>(*std::move(gemm));
  }

  ConfigSpace space_of(const Product& gemm, const Target& target) const {
    ConfigSpace space;
    space.parameters = parameters();
    space.parameters.push_back(
        {"swapped", {0, 1}, "whether the tile's rows are the result's columns"});
    for (Constraint& own : constraints(target))
      space.constraints.push_back(
          {std::move(own.reason), [gemm, holds = std::move(own.holds)](const Config& config) {
             return holds(Shape(*gemm, config));
           }});
    space.constraints.push_back(
        {"no more rows in a band than there are", [gemm](const Config& config) {
           return config["band"] == 1 || config["band"] < 2 * Shape(*gemm, config).tiles_m;
         }});
    return space;
  }

  CostModel cost_of(const Region& region, const Product& gemm, const Target& target) const {
    return [this, gemm, target, stored = epilogue_cost(region, *gemm, target),
            bytes = region_bytes(region)](const Config& config) {
      return launch_seconds(cycles(Shape(*gemm, config), target, stored), bytes, target);
    };
  }
};

}  // namespace tcc::sched
