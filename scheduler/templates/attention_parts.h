// Attention whose keys are split over workgroups, where there are few queries: each part stores its
// results and sums to workspaces, and a second kernel combines them.
//
// Each part has as many tiles of the keys that its queries see, or none where there are fewer tiles
// than parts: of a length that comes at run time, that depends on it.
//
// For a query, a part stores the sum of its values by their exponentials, not normalised, and two
// numbers: the maximum of its scores in natural units (-inf where it saw no key) and the sum of the
// exponentials relative to it (0 then). Both are at the place ((batch * parts) + part) * queries +
// query.
#pragma once

#include "scheduler/kernel_sequence.h"
#include "scheduler/templates/attention_hooks.h"

namespace tcc::sched {

class AttentionKeyParts {
 public:
  // All three must outlive the kernels' making.
  AttentionKeyParts(const Region& region, const AttentionPlan& plan, const AttentionTile& tile,
                    int64_t parts)
      : region_(region), plan_(plan), tile_(tile), parts_(parts) {}

  // `name`(part, row, segment, acc[segment]): stores a segment of a part's results of a row; `part`
  // is batch * parts + part. Rows and segments past the end are left out.
  Hook store_part(std::string name) const;
  // `name`(part, row, values[2]): stores the row's maximum and sum.
  Hook store_part_sums(std::string name) const;

  // The kernel of the parts, whose hooks these are, and the one that combines them. The first one's
  // arguments are those of start_kernel.
  KernelSequence sequence(Kernel parts) const;

  // Bytes of the workspaces, at the sizes that estimates take.
  static int64_t bytes(const AttentionPlan& plan, int64_t parts);
  // Predicts the time of the kernel that combines them.
  static double combining_seconds(const AttentionPlan& plan, int64_t parts, const Target& target);

 private:
  SymInt all_parts() const { return plan_.all_batches() * parts_; }
  SymInt rows() const { return all_parts() * plan_.all_queries; }
  int first_workspace() const;  // its argument of the first kernel; the sums' comes after
  Kernel combine() const;

  const Region& region_;
  const AttentionPlan& plan_;
  const AttentionTile& tile_;
  int64_t parts_;
};

// Appends the hooks that store results to a kernel that lacks no other: the epilogue and the
// log-sum-exp or, with several parts, what the kernel that combines them reads, which comes behind.
KernelSequence storing_results(Kernel kernel, const Region& region, const AttentionPlan& plan,
                               const AttentionTile& tile, int64_t parts);

}  // namespace tcc::sched
