// The outline of the matrix-unit templates: how a product becomes a space, a default, a cost model
// and a kernel. A template states what is its own: the loads that its device source knows, its
// shape, parameters and constraints, candidates, the cycles of a launch, and its defines.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/cost.h"
#include "scheduler/device_sources.h"
#include "scheduler/templates/common.h"
#include "scheduler/templates/gemm.h"
#include "scheduler/templates/product_candidate.h"

namespace tcc::sched {

// `Shape` derives from GemmShape and adds
//   Shape(const Case&, const Config&)
//   int64_t tiles_m           rows of what "band" counts
//   ContractionTile tile()    what the hooks are made for
// `Case` is GemmCase of a plan, or derives from it. The plan is Gemm, or derives from it and adds
// what loads of the template's own need, as ConvView.
template <class Shape, class Case = GemmCase<Gemm>>
class GemmTemplate : public Template {
 public:
  using Plan = typename Case::Plan;

  // Configs are chosen at the usual sizes.
  bool takes_open_dims() const final { return true; }

  std::vector<Parameter> parameters() const final {
    std::vector<Parameter> all = own_parameters();
    all.push_back({"swapped", {0, 1}, "whether the tile's rows are the result's columns"});
    return all;
  }

  Match match(const Region& region, const Target& target) const final {
    OrRefusal<Plan> gemm = plan(region, target);
    if (!gemm) return gemm.refusal();
    if (!has_device_source(target, source())) return lacks_source(target, source());
    restrict_loads(gemm->a);
    restrict_loads(gemm->b);
    return std::make_shared<const Matched>(*this, region, target, *std::move(gemm));
  }

 protected:
  struct Constraint {
    std::string reason;
    std::function<bool(const Shape&)> holds;
  };

  // The product that the region is, and how its operands come from memory, or why the device source
  // does not compute it.
  virtual OrRefusal<Plan> plan(const Region& region, const Target& target) const = 0;
  // The device source.
  virtual std::string_view source() const { return name(); }
  // As ProductCandidate::most_workgroups().
  virtual int64_t most_workgroups(const ContractionExtents& product) const {
    return tiles_of(product, 64, 64);
  }
  // Leaves the loads that the device source has.
  virtual void restrict_loads(MatrixOperand& operand) const = 0;
  // "block_m", "block_n" and "band" among them; "swapped" is added.
  virtual std::vector<Parameter> own_parameters() const = 0;
  // Those of a plan's space: gives the values that own_parameters() leaves to plans.
  virtual void narrow(std::vector<Parameter>& /*parameters*/, const Plan& /*plan*/) const {}
  virtual std::vector<Constraint> constraints(const Target& target) const = 0;
  // Configs without "band" and "swapped", for fastest_candidate().
  virtual std::vector<Config> candidates(const Plan& plan) const = 0;
  virtual TileGrid grid(const Shape& shape) const = 0;
  virtual GemmCycles cycles(const Shape& shape, const Target& target,
                            const EpilogueCost& stored) const = 0;
  // The product, the launch, the defines of the config, and the operands.
  virtual void write(Kernel& kernel, GemmWriter& writer, const Shape& shape, const Config& config,
                     const Target& target) const = 0;

 private:
  // Shared by the constraints and the cost model, which may outlive the candidate.
  using Product = std::shared_ptr<const Case>;

  class Matched : public ProductCandidate {
   public:
    Matched(const GemmTemplate& by, const Region& region, const Target& target, Plan gemm)
        : ProductCandidate(by, region, target),
          outline_(by),
          gemm_(std::make_shared<const Case>(std::move(gemm))) {}

    KernelSequence lower(const Config& config) const override {
      const Shape shape(*gemm_, config);
      Kernel kernel = start_kernel(this->region());
      kernel.source = outline_.source();
      GemmWriter writer(kernel, this->region(), this->target(), gemm_->plan, shape.swapped,
                        shape.tile());
      outline_.write(kernel, writer, shape, config, this->target());
      return std::move(writer).sequence();
    }

   private:
    bool gathers(const Region& region) const override {
      if constexpr (requires(const Plan& plan) { plan.gathers; }) {
        const OrRefusal<Plan> plan = outline_.plan(region, this->target());
        return plan && plan->gathers;
      }
      return false;
    }
    int64_t most_workgroups(const ContractionExtents& product) const override {
      return outline_.most_workgroups(product);
    }

    // The reasons against shapes.
    class Constraints {
     public:
      Constraints(const GemmTemplate& outline, const Target& target)
          : all_(outline.constraints(target)) {
        all_.push_back({"no more rows in a band than there are", [](const Shape& shape) {
                          return shape.band == 1 || shape.band < 2 * shape.tiles_m;
                        }});
      }
      // Null: none.
      const Constraint* against(const Shape& shape) const {
        const auto found =
            std::ranges::find_if(all_, [&](const Constraint& one) { return !one.holds(shape); });
        return found == all_.end() ? nullptr : &*found;
      }

     private:
      std::vector<Constraint> all_;
    };

    ConfigSpace make_space() const override {
      ConfigSpace space;
      space.parameters = outline_.parameters();
      outline_.narrow(space.parameters, gemm_->plan);
      space.constraints.push_back(ConfigSpace::Constraint(
          [gemm = gemm_, constraints = Constraints(outline_, this->target())](
              const Config& config) -> std::string {
            const Constraint* against = constraints.against(Shape(*gemm, config));
            return against ? against->reason : "";
          }));
      return space;
    }

    Config make_default_config() const override {
      const ConfigSpace& space = this->own_space();
      const Constraints constraints(outline_, this->target());
      const LegalGrid legal = [&](const Config& config) -> std::optional<TileGrid> {
        if (!space.lists(config)) return std::nullopt;
        const Shape shape(*gemm_, config);
        if (constraints.against(shape)) return std::nullopt;
        return outline_.grid(shape);
      };
      return fastest_candidate(outline_.candidates(gemm_->plan), space, this->cost_model(), legal,
                               this->target());
    }

    CostModel make_cost_model() const override {
      return [&outline = outline_, gemm = gemm_, target = this->target(),
              stored = epilogue_cost(this->region(), gemm_->plan, this->target()),
              bytes = region_bytes(this->region())](const Config& config) {
        return launch_seconds(outline.cycles(Shape(*gemm, config), target, stored), bytes, target);
      };
    }

    const GemmTemplate& outline_;
    Product gemm_;
  };
};

}  // namespace tcc::sched
