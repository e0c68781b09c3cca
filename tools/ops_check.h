// tcc-run --check=ops finds the first wrong value. It runs a program launch by launch and holds
// every value that a kernel stores against the reference of the graph that the kernels were made
// of.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backends/pipeline.h"
#include "ir/reference/compare.h"
#include "runtime/program.h"
#include "support/json_writer.h"

namespace tcc::tools {

// A value, the node that makes it and the kernel that stores it.
struct CheckedValue {
  std::string name, type;  // "f32[32, 768]"
  std::string op;
  ir::Layers layers;             // of the node, by the user's names
  std::string location;          // "mlp.yaml:12", or ""
  int launch = -1, kernel = -1;  // -1: it is stored by none
  std::string region, kernel_template;
  ir::Comparison comparison;
};

struct OpsCheck {
  size_t values = 0, differ = 0;      // that kernels store; of those, that are wrong
  std::optional<CheckedValue> first;  // that differs, in the order of launches
  // The first stored value with NaNs, which the reference may have, too; and the node that makes
  // the first NaN, and the first infinity, of the reference.
  std::optional<CheckedValue> first_nan, nan_origin, infinity_origin;
};

// `scheduled` is the schedule that the program's executable was built from. This takes the memory
// of about three f64 copies of all stored values.
OpsCheck check_ops(const backends::Scheduled& scheduled,
                   std::shared_ptr<const runtime::Program> program, std::span<const Tensor> inputs,
                   bool tf32, const std::function<void(double share)>& progress);

std::string ops_check_text(const OpsCheck& check);
void ops_check_json(JsonWriter& json, const OpsCheck& check);

}  // namespace tcc::tools
