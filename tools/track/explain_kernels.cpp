#include <algorithm>
#include <cmath>
#include <cstdio>

#include "support/error.h"
#include "tools/program.h"
#include "tools/progress.h"
#include "tools/track/explain.h"
#include "tools/track/report_text.h"
#include "tools/track/run_record.h"

namespace tcc::tools {
namespace {

double kernel_seconds(const TrackedKernel* kernel) {
  if (!kernel || !kernel->seconds) return 0;
  return *kernel->seconds * static_cast<double>(kernel->launches);
}

std::string kernel_time(const TrackedKernel* kernel) {
  return kernel && kernel->seconds ? format_seconds(kernel_seconds(kernel)) : "-";
}

std::string roofline_text(const TrackedKernel* kernel) {
  if (!kernel || !kernel->roofline) return "-";
  char text[32];
  std::snprintf(text, sizeof text, "%.0f%%", 100 * *kernel->roofline);
  return text;
}

std::string launches_text(const KernelPair& pair) {
  const int64_t base = pair.base ? pair.base->launches : 0;
  const int64_t head = pair.head ? pair.head->launches : 0;
  return base == head ? std::to_string(head) : std::to_string(base) + " -> " + std::to_string(head);
}

// "with dense, gelu; without relu": what one list has and the other has not.
std::string layers_change(const std::vector<std::string>& base,
                          const std::vector<std::string>& head) {
  constexpr size_t kMostNamed = 3;
  const auto only_in = [](const std::vector<std::string>& here,
                          const std::vector<std::string>& there) {
    std::vector<std::string> left = there, only;
    for (const std::string& layer : here) {
      const auto found = std::find(left.begin(), left.end(), layer);
      if (found == left.end())
        only.push_back(layer);
      else
        left.erase(found);
    }
    return only;
  };
  std::string text;
  const auto add = [&](const char* word, const std::vector<std::string>& layers) {
    if (layers.empty()) return;
    text += str(text.empty() ? "" : ", ", word);
    for (size_t i = 0; i < std::min(layers.size(), kMostNamed); ++i)
      text += str(i > 0 ? ", " : " ", printable(layers[i]));
    if (layers.size() > kMostNamed) text += str(" and ", layers.size() - kMostNamed, " more");
  };
  add("now with", only_in(head, base));
  add("without", only_in(base, head));
  return text;
}

}  // namespace

std::vector<KernelPair> paired(const std::vector<TrackedKernel>& base,
                               const std::vector<TrackedKernel>& head) {
  const std::vector<std::string> base_names = kernel_names(base), head_names = kernel_names(head);
  std::vector<KernelPair> pairs(head.size());
  std::vector<bool> taken(base.size());
  for (size_t i = 0; i < head.size(); ++i) pairs[i].head = &head[i];
  const auto match = [&](const auto& equal) {
    for (size_t i = 0; i < head.size(); ++i)
      for (size_t k = 0; k < base.size() && !pairs[i].base; ++k)
        if (!taken[k] && equal(k, i)) {
          pairs[i].base = &base[k];
          taken[k] = true;
        }
  };
  match([&](size_t k, size_t i) { return !base[k].key.empty() && base[k].key == head[i].key; });
  match([&](size_t k, size_t i) { return base_names[k] == head_names[i]; });
  for (size_t k = 0; k < base.size(); ++k)
    if (!taken[k]) pairs.push_back({&base[k], nullptr});
  return pairs;
}

std::string change_of(const KernelPair& pair) {
  if (!pair.base) return "only in head";
  if (!pair.head) return "only in base";
  std::string text;
  const auto add = [&](const std::string& what) { text += (text.empty() ? "" : "; ") + what; };
  const auto compare = [&](const char* what, const std::string& base, const std::string& head) {
    if (base != head) add(std::string(what) + " " + printable(base) + " -> " + printable(head));
  };
  compare("template", pair.base->kernel_template, pair.head->kernel_template);
  compare("region", pair.base->region, pair.head->region);
  if (const std::string layers = layers_change(pair.base->layers, pair.head->layers);
      !layers.empty())
    add("layers " + layers);
  compare("config", pair.base->config, pair.head->config);
  compare("config from", pair.base->tier, pair.head->tier);
  if (pair.base->source != pair.head->source) add("source");
  return text;
}

std::string kernel_table(const std::vector<TrackedKernel>& base,
                         const std::vector<TrackedKernel>& head) {
  std::vector<KernelPair> pairs = paired(base, head);
  const auto difference = [](const KernelPair& pair) {
    return std::abs(kernel_seconds(pair.head) - kernel_seconds(pair.base));
  };
  std::stable_sort(pairs.begin(), pairs.end(), [&](const KernelPair& a, const KernelPair& b) {
    return difference(a) > difference(b);
  });
  std::vector<std::vector<std::string>> rows;
  for (const KernelPair& pair : pairs) {
    const TrackedKernel& one = pair.head ? *pair.head : *pair.base;
    std::string layers;
    if (!one.layers.empty()) layers = printable(one.layers.front());
    if (one.layers.size() > 1) layers += " (+" + std::to_string(one.layers.size() - 1) + ")";
    const bool both = kernel_seconds(pair.base) > 0 && kernel_seconds(pair.head) > 0;
    const std::string changed = change_of(pair);
    rows.push_back({printable(one.region), layers, launches_text(pair), kernel_time(pair.base),
                    kernel_time(pair.head),
                    both ? change_text(kernel_seconds(pair.head) / kernel_seconds(pair.base)) : "-",
                    roofline_text(pair.base), roofline_text(pair.head),
                    changed.empty() ? "-" : changed});
  }
  return format_table({"kernel", "layers", "launches", "base", "head", "change", "roofline base",
                       "head", "what changed"},
                      rows);
}

}  // namespace tcc::tools
