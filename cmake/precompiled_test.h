// Headers that most tests include, as cmake/precompiled.h.
#pragma once
#include <gtest/gtest.h>

#include "cmake/precompiled.h"
