#include "tools/track/report_html.h"

#include "tools/page/page.h"
#include "tools/track/report_json.h"

namespace tcc::tools {

std::string track_report_page(std::span<const TrackReport> reports) {
  return filled_page(track_page(), reports_json(reports, JsonWriter::Style::compact));
}

}  // namespace tcc::tools
