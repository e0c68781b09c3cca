// Writes tuning records and plans as JSON, in tcc-tune's reports.
#pragma once

#include "autotune/plan_records.h"
#include "autotune/records.h"
#include "support/json_writer.h"

namespace tcc::tools {

void write_record(JsonWriter& json, const autotune::Record& record);
void write_plan(JsonWriter& json, const autotune::PlanRecord& plan);

}  // namespace tcc::tools
