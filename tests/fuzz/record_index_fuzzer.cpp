// libFuzzer target for the indexes of tuning files, with a right header: whatever stands behind it,
// asking the index gives records, plans or an Error.
#include <cstdlib>

#include "autotune/record_index.h"
#include "support/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tcc::autotune;
  static const std::string header =
      RecordIndex::parse("", "a.yaml", IndexSource{}).bytes().substr(0, kIndexHeaderBytes);
  const std::string body(reinterpret_cast<const char*>(data), size);
  const auto index = RecordIndex::decode(sealed_index(header + body));
  if (!index) return 0;
  RecordStore records;
  PlanStore plans;
  for (const char digit : {'0', '1', 'f'}) {
    const std::string digits(32, digit);
    try {
      index->add_region(1, digits, records);
      index->add_family(1, digits, records);
      index->add_plans(digits, plans);
    } catch (const tcc::Error& error) {
      if (error.kind() != tcc::ErrorKind::bad_input) std::abort();
    }
  }
  return 0;
}
