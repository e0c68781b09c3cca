// The report of a sweep: one HTML page that needs no network.
#pragma once

#include <string>
#include <vector>

#include "autotune/tune.h"

namespace tcc::tools {

// How much of the variation of log(seconds) each parameter explains by itself, from 0 to 1, over
// the trials that were measured; in the order of task.space.parameters. 0 where a parameter has one
// value or there is no variation.
std::vector<double> parameter_influence(const autotune::KernelResult& kernel);

// What the page shows, as JSON in which no "<" stands, so that it may stand in a script element.
std::string report_json(const autotune::TuneResult& result, const std::string& title);

// The page. A fault of its script shows in the document's title, "report error: ...".
std::string report_page(const autotune::TuneResult& result, const std::string& title);

}  // namespace tcc::tools
