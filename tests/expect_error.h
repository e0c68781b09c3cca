// Checks that a statement throws, and what it says.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "support/error.h"

// `statement` throws Error(bad_input) whose text contains `words`.
#define EXPECT_ERROR(statement, words) \
  EXPECT_ERROR_KIND(statement, ::tcc::ErrorKind::bad_input, words)

#define EXPECT_ERROR_KIND(statement, expected_kind, words)                \
  do {                                                                    \
    try {                                                                 \
      (void)(statement);                                                  \
      ADD_FAILURE() << #statement << " threw nothing";                    \
    } catch (const ::tcc::Error& error) {                                 \
      EXPECT_EQ(error.kind(), expected_kind) << error.what();             \
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) \
          << #statement << " says: " << error.what();                     \
    }                                                                     \
  } while (0)
