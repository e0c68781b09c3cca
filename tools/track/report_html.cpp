#include "tools/track/report_html.h"

#include "tools/page/page.h"
#include "tools/track/report_json.h"

namespace tcc::tools {

std::string track_report_page(std::span<const TrackReport> reports) {
  std::string data = "[";
  for (const TrackReport& report : reports) {
    if (data.size() > 1) data += ",";
    data += report_json(report, JsonWriter::Style::compact);
  }
  return filled_page(track_page(), data + "]");
}

}  // namespace tcc::tools
