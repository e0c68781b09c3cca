// libFuzzer target for plan files. Whatever the bytes are: no crash, one-line warnings, and plans
// that are read are written as files that read back the same without a warning.
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "autotune/plan_records.h"

namespace {

using tcc::autotune::PlanRecord;
using tcc::autotune::PlanStore;

void require(bool condition) {
  if (!condition) std::abort();
}

PlanStore read(const std::string& text, size_t& warnings) {
  PlanStore store;
  tcc::autotune::read_plan_text(text, "f.plan.yaml", store, [&](const std::string& warning) {
    require(warning.starts_with("f.plan.yaml") && warning.find('\n') == std::string::npos);
    ++warnings;
  });
  return store;
}

std::string written(const PlanStore& store) {
  std::vector<const PlanRecord*> list;
  for (const auto& [key, record] : store.records()) list.push_back(&record);
  return tcc::autotune::plan_file_text(list);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  size_t warnings = 0;
  const PlanStore store = read({reinterpret_cast<const char*>(data), size}, warnings);
  if (store.records().empty()) return 0;  // else all are of one target: a file has one
  warnings = 0;
  const std::string text = written(store);
  const PlanStore again = read(text, warnings);
  require(warnings == 0 && again.records().size() == store.records().size());
  // From the second time on, numbers have the digits that are written.
  require(written(again) == text);
  PlanStore joined = again;
  joined.merge(store);
  joined.merge(again);
  require(joined.records().size() == again.records().size());
  return 0;
}
