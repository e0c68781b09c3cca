// str() joins its parts as a stream prints them, with or without a stream.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <sstream>
#include <string>
#include <string_view>

#include "ir/symint.h"
#include "support/error.h"

namespace tcc {
namespace {

template <class... Parts>
std::string streamed(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

TEST(ErrorText, NumbersAreAsAStreamPrintsThem) {
  for (const double x : {0.0, -0.0, 1.0, 0.1, 1e-5, 123456.0, 1234567.0, 1e100, 2.0 / 3, 99999.95,
                         std::numeric_limits<double>::infinity(), -HUGE_VAL, std::nan("")})
    EXPECT_EQ(str(x, " ", static_cast<float>(x)), streamed(x, " ", static_cast<float>(x)));
  EXPECT_EQ(str(std::numeric_limits<int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(str(std::numeric_limits<uint64_t>::max()), "18446744073709551615");
  EXPECT_EQ(str(true, false, 'x', static_cast<short>(-3), 7u), "10x-37");
  EXPECT_EQ(str(static_cast<unsigned char>('a')), "a");
}

TEST(ErrorText, TextsAreAsTheyAre) {
  const char* text = "a";
  EXPECT_EQ(str(text, "b", std::string("c\0d", 3), std::string_view("e")),
            std::string("abc\0de", 6));
  EXPECT_EQ(str(), "");
}

// Some parts a stream alone can print; others change how it prints the rest.
TEST(ErrorText, OtherPartsGoThroughAStream) {
  EXPECT_EQ(str("0x", std::hex, 255), "0xff");
  EXPECT_EQ(str(std::filesystem::path("a b"), 1), "\"a b\"1");
  EXPECT_EQ(str(ir::SymInt::symbol("S") + 1, " rows"), "S+1 rows");
}

}  // namespace
}  // namespace tcc
