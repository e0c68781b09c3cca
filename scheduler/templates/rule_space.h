// Spaces whose legal configs are given by rules on the values as members of a struct, and on the
// sizes that follow from them. One declaration gives the config space, the struct of a config, the
// walk over all legal ones, and the default.
#pragma once

#include <algorithm>
#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "scheduler/candidate.h"
#include "scheduler/config.h"
#include "support/error.h"

namespace tcc::sched {

// A parameter whose value is a member of `Values` or of a base of it, a number or a bool.
template <class Values>
struct Field {
  template <class Number, class Owner>
  requires std::derived_from<Values, Owner> Field(std::string name, std::vector<int64_t> listed,
                                                  std::string doc, Number Owner::*at)
      : parameter{std::move(name), std::move(listed), std::move(doc)},
        set([at](Values& values, int64_t value) { values.*at = static_cast<Number>(value); }),
        get([at](const Values& values) { return static_cast<int64_t>(values.*at); }) {}

  Parameter parameter;
  std::function<void(Values&, int64_t)> set;
  std::function<int64_t(const Values&)> get;
};

// The parameters alone, for Template::parameters().
template <class Values>
std::vector<Parameter> parameters_from(const std::vector<Field<Values>>& fields) {
  std::vector<Parameter> parameters;
  for (const Field<Values>& field : fields) parameters.push_back(field.parameter);
  return parameters;
}

// The values of the parameter of that name.
template <class Values>
std::vector<int64_t>& values_of(std::vector<Field<Values>>& fields, std::string_view name) {
  for (Field<Values>& field : fields)
    if (field.parameter.name == name) return field.parameter.values;
  TCC_CHECK(false, "no parameter '", name, "'");
}

// Removes the parameter of that name.
template <class Values>
void leave_out(std::vector<Field<Values>>& fields, std::string_view name) {
  std::erase_if(fields, [&](const Field<Values>& field) { return field.parameter.name == name; });
}

template <class Subject, class Case>
struct Rule {
  const char* reason;
  bool (*holds)(const Subject&, const Case&);
};

// `Case` is what a template knows about a region on a target. It declares `Values`, a struct with
// the parameters' values, and `Shape`, one that has these and what follows from them; both may be
// the same. values() gives what no parameter sets, and shape(values) the shape.
//
// Later rules rely on those before; the values' come before the shape is made. Copies share the
// case. The rules outlive them all.
template <class Case>
class RuleSpace {
 public:
  using Values = typename Case::Values;
  using Shape = typename Case::Shape;

  RuleSpace(std::shared_ptr<const Case> of, std::vector<Field<Values>> fields,
            std::span<const Rule<Values, Case>> of_values,
            std::span<const Rule<Shape, Case>> of_shapes)
      : of_(std::move(of)),
        fields_(std::move(fields)),
        of_values_(of_values),
        of_shapes_(of_shapes) {}

  const Case& of() const { return *of_; }

  ConfigSpace space() const {
    ConfigSpace space;
    space.parameters = parameters_from(fields_);
    space.constraints.push_back(
        ConfigSpace::Constraint([rules = *this](const Config& config) -> std::string {
          const char* reason = rules.against(rules.values(config));
          return reason ? reason : "";
        }));
    return space;
  }

  Values values(const Config& config) const {
    Values values = of_->values();
    for (const Field<Values>& field : fields_) field.set(values, config[field.parameter.name]);
    return values;
  }
  Shape shape(const Config& config) const { return of_->shape(values(config)); }
  Config config(const Values& values) const {
    Config config;
    for (const Field<Values>& field : fields_) config.set(field.parameter.name, field.get(values));
    return config;
  }
  // The values that a parameter may have.
  const std::vector<int64_t>& listed(std::string_view name) const {
    auto named = std::ranges::find(
        fields_, name, [](const auto& field) -> std::string_view { return field.parameter.name; });
    TCC_CHECK(named != fields_.end(), "no parameter '", name, "'");
    return named->parameter.values;
  }

  // The reason why values are not legal; null: they are.
  const char* against(const Values& values) const {
    return visit_legal(values, [](const Shape&) {});
  }
  // Visits all legal shapes in the order of ConfigSpace::enumerate(), without the detour through
  // configs; stops when `visit` returns false.
  template <class Visit>
  void each(const Visit& visit) const {
    Values values = of_->values();
    each_from(0, values, visit);
  }
  // Whether there is a legal config.
  bool has_legal() const { return first().has_value(); }
  std::optional<Values> first() const {
    std::optional<Values> found;
    each([&](const Shape& shape) {
      found.emplace(shape);
      return false;
    });
    return found;
  }

  template <class Cost>
  struct Fastest {
    Values values;
    Cost cost;
  };
  // The first one of least cost of those that `takes` returns true for; nothing where there is
  // none.
  template <class CostOf, class Takes>
  auto fastest(const CostOf& cost_of, const Takes& takes) const {
    std::optional<Fastest<std::invoke_result_t<CostOf, const Shape&>>> best;
    each([&](const Shape& shape) {
      if (!takes(shape)) return true;
      auto cost = cost_of(shape);
      if (!best || cost < best->cost) best.emplace(shape, std::move(cost));
      return true;
    });
    return best;
  }
  template <class CostOf>
  auto fastest(const CostOf& cost_of) const {
    return fastest(cost_of, [](const Shape&) { return true; });
  }

 private:
  template <class Visit>
  const char* visit_legal(const Values& values, const Visit& visit) const {
    for (const auto& rule : of_values_)
      if (!rule.holds(values, *of_)) return rule.reason;
    const Shape shape = of_->shape(values);
    for (const auto& rule : of_shapes_)
      if (!rule.holds(shape, *of_)) return rule.reason;
    visit(shape);
    return nullptr;
  }

  template <class Visit>
  bool each_from(size_t depth, Values& values, const Visit& visit) const {
    if (depth == fields_.size()) {
      bool goes_on = true;
      visit_legal(values, [&](const Shape& shape) { goes_on = visit(shape); });
      return goes_on;
    }
    for (const int64_t value : fields_[depth].parameter.values) {
      fields_[depth].set(values, value);
      if (!each_from(depth + 1, values, visit)) return false;
    }
    return true;
  }

  std::shared_ptr<const Case> of_;
  std::vector<Field<Values>> fields_;
  std::span<const Rule<Values, Case>> of_values_;
  std::span<const Rule<Shape, Case>> of_shapes_;
};

// A candidate with such a space, whose default is the legal shape that takes the least time by its
// model.
template <class Case, class Base = Candidate>
class RuledCandidate : public Base {
 public:
  RuledCandidate(const Template& by, const Region& region, const Target& target,
                 RuleSpace<Case> rules)
      : Base(by, region, target), rules_(std::move(rules)) {}

 protected:
  using Shape = typename Case::Shape;
  // Predicts the seconds of a legal shape; owns what it needs.
  using ShapeModel = std::function<double(const Shape&)>;

  const RuleSpace<Case>& rules() const { return rules_; }

  virtual ShapeModel shape_model() const = 0;
  // Models of the region at the sizes that the default is to be fast at: several, where sizes come
  // at run time.
  virtual std::vector<ShapeModel> models_of_sizes() const { return {shape_model()}; }
  // Returns the measure that the default has least of: seconds or, with several sizes, the sum of
  // how much longer than the fastest shape it takes at each.
  ShapeModel default_model() const {
    std::vector<ShapeModel> models = models_of_sizes();
    if (models.size() == 1) return std::move(models.front());
    std::vector<double> least;
    for (const ShapeModel& model : models) {
      const auto fastest = rules_.fastest(model);
      least.push_back(fastest ? fastest->cost : 1);
    }
    return [models = std::move(models), least = std::move(least)](const Shape& shape) {
      double sum = 0;
      for (size_t i = 0; i < models.size(); ++i) sum += models[i](shape) / least[i];
      return sum;
    };
  }
  Config make_default_config() const override {
    const auto fastest = rules_.fastest(default_model());
    TCC_CHECK(fastest, "no legal config of ", this->kernel_template().name(), " on ",
              this->target().id());
    return rules_.config(fastest->values);
  }

 private:
  ConfigSpace make_space() const override { return rules_.space(); }
  CostModel make_cost_model() const override {
    return [rules = rules_, seconds_of = shape_model()](const Config& config) {
      return seconds_of(rules.shape(config));
    };
  }

  const RuleSpace<Case> rules_;
};

}  // namespace tcc::sched
