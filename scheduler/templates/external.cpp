// Calls of the host's functions: a region of one node, for which there is a step of the executable
// and no kernel.
#include "ir/external.h"

#include "scheduler/template.h"

namespace tcc::sched::template_external {
namespace {

class ExternalCall : public Candidate {
 public:
  ExternalCall(const Template& by, const Region& region, const Target& target)
      : Candidate(by, region, target) {}

  const ir::Node* host_call() const override { return region().nodes.front(); }
  KernelSequence lower(const Config&) const override { return {}; }

 private:
  ConfigSpace make_space() const override { return {}; }
  Config make_default_config() const override { return {}; }
  CostModel make_cost_model() const override {
    return [](const Config&) { return 0.0; };  // it has no config to choose
  }
};

class External : public Template {
 public:
  std::string_view name() const override { return "external"; }
  int version() const override { return 1; }
  int specificity() const override { return 0; }
  bool takes_open_dims() const override { return true; }
  int least_workgroup() const override { return 1; }

  Match match(const Region& region, const Target& target) const override {
    if (region.nodes.front()->op->kind != ir::OpKind::external)
      return Refusal{"it calls no function of the host's", true};
    for (const auto& [value, layout] : region.layouts)
      if (layout != Layout::row_major(value->shape()))
        return Refusal{
            str("functions of the host's take dense tensors, and ", value->name, " is none")};
    return CandidatePtr(std::make_shared<ExternalCall>(*this, region, target));
  }
};

const RegisterTemplate<External> registered;

}  // namespace
}  // namespace tcc::sched::template_external
