#include "api/package_writer.h"

#include <algorithm>

#include "api/impl.h"
#include "api/options.h"
#include "backends/pipeline.h"
#include "executable/package.h"
#include "frontend/safetensors.h"
#include "support/content_hash.h"
#include "support/error.h"
#include "support/file.h"
#include "support/watch.h"

namespace tcc {

std::vector<sched::Target> package_targets(std::vector<std::string> names) {
  if (names.empty()) fail_input("no target is given");
  const std::string machine = "cuda:sm_", ptx = "cuda:compute_";
  const auto add = [&](const std::string& name) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  };
  std::vector<std::string> with_own, without;  // numbers of architectures
  for (const std::string& name : names)
    if (name.starts_with(machine)) {
      const std::string number = name.substr(machine.size());
      (number.ends_with('a') ? with_own : without).push_back(number);
    }
  const auto shorter_or_less = [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  };
  for (const std::string& number : without) add(ptx + number);
  if (without.empty() && !with_own.empty()) {
    const std::string oldest = *std::ranges::min_element(with_own, shorter_or_less);
    add(ptx + oldest.substr(0, oldest.size() - 1));
  }
  std::vector<sched::Target> targets;
  for (const std::string& name : names) {
    sched::Target target = sched::target_by_name(name);
    for (const sched::Target& other : targets)
      if (other.id() == target.id()) fail_input("target ", name, " is given twice");
    targets.push_back(std::move(target));
  }
  return targets;
}

namespace {

namespace fs = std::filesystem;

// The tensors of a .safetensors file in the package's folder or below.
exec::WeightFile weight_file(const fs::path& file, const fs::path& package) {
  if (file.extension() != ".safetensors")
    fail_input("weights ", file.string(), ": must be a .safetensors file");
  const SafetensorsFile tensors(file);
  const fs::path folder = package.parent_path().empty() ? "." : package.parent_path();
  std::error_code error;
  exec::WeightFile weights;
  weights.name = fs::relative(file, folder, error).generic_string();
  if (error || weights.name.empty() || weights.name.starts_with(".."))
    fail_input("weights ", file.string(), ": must be in the folder of ", package.string(),
               ", where the package looks for it");
  weights.bytes = std::ssize(tensors.bytes());
  for (const std::string& name : tensors.names()) {
    const SafetensorsFile::Place place = tensors.place(name);
    const auto bytes = tensors.bytes().subspan(static_cast<size_t>(place.offset),
                                               static_cast<size_t>(place.bytes));
    weights.ranges.push_back({place.offset, place.bytes, content_hash(bytes)});
  }
  return weights;
}

}  // namespace

PackageReport write_parts(const PackageParts& parts, const fs::path& file) {
  if (file.extension() != exec::kPackageExtension)
    fail_input("package ", file.string(), ": must end in ", exec::kPackageExtension);
  { const AtomicFile probe(file); }  // removed again: compiling takes time
  exec::PackageContents contents;
  contents.name = parts.name;
  for (const fs::path& weights : parts.weights)
    contents.files.push_back(weight_file(weights, file));
  for (const sched::Target& target : parts.targets) contents.parts.push_back(parts.compile(target));
  if (parts.written) parts.written();
  exec::save_package(contents, file);
  PackageReport report;
  for (const sched::Target& target : parts.targets) report.targets.push_back(target.id());
  report.bytes = static_cast<std::int64_t>(fs::file_size(file));
  return report;
}

PackageReport write_package(const Graph& graph, const std::filesystem::path& file,
                            const PackageOptions& options) {
  const ir::Graph& inner = graph.impl().graph;
  backends::CompileOptions compile;
  set_kernel_options(options.compile, compile);
  const Watch watch(options.compile.progress, options.compile.cancelled);
  watch.check();
  compile.watch = &watch;
  PackageParts parts{inner.name, package_targets(options.targets), options.weights, {}, {}};
  parts.compile = [&](const sched::Target& target) {
    if (options.begins) options.begins(target.id());
    const autotune::TuningFiles tuning = load_tuning(options.compile, target.api);
    backends::KernelCache cache(cache_folder(options.compile));
    compile.configs = &tuning;
    compile.plan = &tuning;
    compile.cache = &cache;
    exec::Executable executable = backends::compile(inner, target, compile);
    tuning.warn_of_illegal(tuning_warn(options.compile));
    return executable;
  };
  parts.written = [&] { watch.at("write", 0, 1); };
  return write_parts(parts, file);
}

}  // namespace tcc
