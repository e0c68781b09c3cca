#pragma once

#include "backends/emit/dialect.h"

namespace tcc::backends {

const Dialect& glsl_dialect();

}  // namespace tcc::backends
