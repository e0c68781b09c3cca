// A kernel template: how one kind of region becomes a kernel. docs/add-a-template.md shows one.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/candidate.h"

namespace tcc::sched {

// Nodes that are almost a seed of a template, and the reason why they are none.
struct NearSeed {
  std::vector<const ir::Node*> nodes;  // in the graph's order
  std::string reason;
};

class Template {
 public:
  virtual ~Template() = default;
  virtual std::string_view name() const = 0;
  // Raised whenever a config's meaning changes: records of another version are unusable.
  virtual int version() const = 0;
  // Several templates may take a region: the one with the highest number gets it, and of those of
  // one number the one whose default config has the shortest estimate.
  virtual int specificity() const = 0;
  // Whether the estimates decide between its candidate for the region and that of the templates of
  // other numbers.
  virtual bool is_compared(const Region& /*region*/) const { return false; }
  // Returns whether regions may have dims that come at run time. Others are not asked to match such
  // regions.
  virtual bool takes_open_dims() const { return false; }
  // Matches a region: returns a candidate, or the reason why this template's kernels cannot compute
  // the region on the target. The graph outlives the candidate.
  virtual Match match(const Region& region, const Target& target) const = 0;
  // Sets of a graph's nodes that it would take as one region, each in the graph's order, where
  // joining one node after the other does not find them: several contractions, or reductions around
  // one. Partition matches such a set first, and other nodes then join it as they join any group.
  virtual std::vector<std::vector<const ir::Node*>> seeds(const ir::Graph& /*graph*/,
                                                          const Target& /*target*/) const {
    return {};
  }
  // Sets of nodes that a reader of the graph would expect among its seeds. Reports alone ask.
  virtual std::vector<NearSeed> near_seeds(const ir::Graph& /*graph*/) const { return {}; }
  // The threads of its smallest workgroups. It is not asked about targets that have fewer.
  virtual int least_workgroup() const { return 32; }
  // Whether it is asked about regions with a composite op, which nothing can inline.
  virtual bool takes_composites() const { return false; }
  // The kind of matrix units (exec::MatrixUnit::kind) that its kernels need, or "". Whether the
  // target has it is a part of tuning records' environment.
  virtual std::string_view unit() const { return ""; }
  // Whether it is asked only where $TCC_TEMPLATES names it: its kernels have not run on a device of
  // their target yet.
  virtual bool is_on_trial() const { return false; }
  // The parameters of its spaces, which take them from here: each with all values that a space may
  // list, or with none where the region and the target give them. Spaces may lack some. Quirk files
  // may name these alone; {}: any.
  virtual std::vector<Parameter> parameters() const { return {}; }
};

// Makes a template known, from the file that defines it:
//   const RegisterTemplate<Pointwise> registered;
void register_template(const Template& kernel_template);
template <class T>
class RegisterTemplate {
 public:
  RegisterTemplate() { register_template(instance_); }

 private:
  T instance_;
};

// Returns all templates, more specific ones first, those of one specificity by name.
std::span<const Template* const> templates();
const Template* find_template(std::string_view name);
// Returns a message about the first name in $TCC_TEMPLATES that no template has; "": there is none.
std::string unknown_template();
// Returns whether the template may be asked to match the region.
bool is_asked(const Template& one, const Region& region, const Target& target);
// Why quirks of its target leave the candidate's region to another template, or "": the template is
// switched off, or all of its configs are.
std::string why_off(const Candidate& candidate);
// Returns the candidate of the template that gets the region; else the last refusal by a
// template for regions of its kind.
Match match_region(const Region& region, const Target& target);
// Returns the candidates of the region between which match_region() decides by their estimates.
std::vector<CandidatePtr> compared_candidates(const Region& region, const Target& target);
// Returns whether the estimate of a's default config is shorter than b's.
bool is_faster(const Candidate& a, const Candidate& b);

}  // namespace tcc::sched
