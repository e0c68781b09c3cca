// Saved results of tcc-track: any text is refused by Error, or every form is written of it.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "support/error.h"
#include "tools/track/report_google.h"
#include "tools/track/report_html.h"
#include "tools/track/report_json.h"
#include "tools/track/report_junit.h"
#include "tools/track/report_markdown.h"
#include "tools/track/report_sarif.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tcc::tools;
  try {
    const TrackReport report =
        parse_report({reinterpret_cast<const char*>(data), size}, "fuzzed.json");
    const std::span<const TrackReport> only(&report, 1);
    TCC_CHECK(report_markdown(only).size() <= kMaxMarkdown, "the text is too long");
    report_junit(only);
    report_sarif(only);
    report_google_benchmark(only, ReportSide::base);
    track_report_page(only);
  } catch (const tcc::InternalError&) { throw; } catch (const tcc::Error&) {
  }
  return 0;
}
