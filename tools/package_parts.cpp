#include "tools/package_parts.h"

#include <algorithm>
#include <sstream>

#include "frontend/safetensors.h"
#include "support/content_hash.h"
#include "support/error.h"

namespace tcc::tools {

std::vector<sched::Target> package_targets(const std::string& list) {
  const std::string machine = "cuda:sm_", ptx = "cuda:compute_";
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  };
  std::istringstream words(list);
  for (std::string word; std::getline(words, word, ',');) {
    if (std::ranges::find(names, word) != names.end())
      fail_input("--target ", list, ": ", word, " is given twice");
    names.push_back(word);
  }
  if (names.empty()) fail_input("--target: no target is given");
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
      if (other.id() == target.id()) fail_input("--target ", list, ": ", name, " is given twice");
    targets.push_back(std::move(target));
  }
  return targets;
}

exec::WeightFile weight_file(const std::filesystem::path& file,
                             const std::filesystem::path& package) {
  namespace fs = std::filesystem;
  if (file.extension() != ".safetensors")
    fail_input("--weights ", file.string(), ": must be a .safetensors file");
  const SafetensorsFile tensors(file);
  const fs::path folder = package.parent_path().empty() ? "." : package.parent_path();
  std::error_code error;
  exec::WeightFile weights;
  weights.name = fs::relative(file, folder, error).generic_string();
  if (error || weights.name.empty() || weights.name.starts_with(".."))
    fail_input("--weights ", file.string(), ": must be in the folder of ", package.string(),
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

}  // namespace tcc::tools
