#pragma once

#include "backends/emit/dialect.h"

namespace tcc::backends {

const Dialect& cuda_dialect();

}  // namespace tcc::backends
