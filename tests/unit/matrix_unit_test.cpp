// Matrix units as data: their shapes and types, as tables, texts and questions.
#include "executable/matrix_unit.h"

#include <gtest/gtest.h>

#include "executable/cuda_targets.h"
#include "executable/target.h"

namespace tcc::exec {
namespace {

TEST(MatrixUnits, AreTexts) {
  for (const char* text :
       {"coopmat 16x16x16 f16 f16 f32 f32",
        "wgmma 64x256x32 i8 u8 i32 i32 subgroups4 step 16 along-k",
        "coopmat 8x8x32 u8 u8 u32 u32 workgroup saturating", "mma 16x8x8 f32 f32 f32 f32",
        "wgmma 64x256x8 f32 f32 f32 f32 subgroups4 step 8 along-k exact 256"}) {
    const auto unit = parse_matrix_unit(text);
    ASSERT_TRUE(unit) << text;
    EXPECT_EQ(to_string(*unit), text);
  }
  const MatrixUnit unit = *parse_matrix_unit("mma 16x8x32 i8 u8 i32 i64 step 4");
  EXPECT_EQ((std::vector{unit.m, unit.n, unit.k, unit.n_step}), (std::vector{16, 8, 32, 4}));
  EXPECT_EQ((std::vector{unit.a, unit.b, unit.c, unit.d}),
            (std::vector{DType::i8, DType::u8, DType::i32, DType::i64}));
  for (const char* text :
       {"", "mma", "mma 16x8", "mma 16x8x8x8 f16 f16 f32 f32", "mma 0x8x8 f16 f16 f32 f32",
        "mma 16x8x-8 f16 f16 f32 f32", "mma 16x8x9999999999 f16 f16 f32 f32",
        "mma 16x8x8 f16 f16 f32", "mma 16x8x8 f16 f16 f32 half", "mma 16x8x8 f16 f16 f32 f32 fast",
        "mma 16x8x8 f16 f16 f32 f32 exact", "mma 16x8x8 f16 f16 f32 f32 exact 0",
        "mma 16x8x8 f16 f16 f32 f32 step", "mma 16x8x8 f16 f16 f32 f32 step x"})
    EXPECT_FALSE(parse_matrix_unit(text)) << text;
}

TEST(MatrixUnits, OfCudaAreThoseOfDeviceSources) {
  EXPECT_TRUE(cuda_matrix_units(75, false).empty());
  EXPECT_EQ(kinds_of(cuda_matrix_units(80, false)), std::vector<std::string>{"mma"});
  EXPECT_EQ(kinds_of(cuda_matrix_units(90, false)), std::vector<std::string>{"mma"});
  EXPECT_EQ(kinds_of(cuda_matrix_units(90, true)), (std::vector<std::string>{"wgmma", "mma"}));
  for (const MatrixUnit& unit : cuda_matrix_units(90, true)) {
    EXPECT_EQ(unit.k * size_bytes(unit.a), 32) << to_string(unit);
    EXPECT_EQ(unit.c, unit.d);
    EXPECT_EQ(unit.c, is_integer(unit.a) ? DType::i32 : DType::f32);
    EXPECT_EQ(unit.exact_sum, is_integer(unit.a) ? 0 : 256) << "floats are truncated";
  }
}

TEST(MatrixUnits, AnswerWhatTheyMultiply) {
  Target target;
  target.matrix_units = cuda_matrix_units(90, true);
  EXPECT_TRUE(target.multiplies("wgmma", DType::bf16, DType::bf16, DType::f32));
  EXPECT_TRUE(target.multiplies("wgmma", DType::f8e4m3, DType::f8e5m2, DType::f32));
  EXPECT_FALSE(target.multiplies("wgmma", DType::bf16, DType::f16, DType::f32));
  EXPECT_FALSE(target.multiplies("wgmma", DType::bf16, DType::bf16, DType::bf16));
  EXPECT_TRUE(target.multiplies("mma", DType::u8, DType::i8, DType::i32));
  EXPECT_TRUE(target.multiplies_f8("wgmma"));
  EXPECT_FALSE(target.multiplies_f8("mma"));
  EXPECT_FALSE(target.has_matrix_unit(""));
  target.matrix_units = units_of_kinds(target.matrix_units, {"mma", "coopmat"});
  EXPECT_FALSE(target.has_matrix_unit("wgmma"));
  EXPECT_EQ(target.matrix_units, cuda_matrix_units(80, false));
}

TEST(MatrixUnits, AnswerHowFarSumsAreExact) {
  Target target;
  const auto exact = [&] {
    return target.exact_sum("coopmat", DType::f16, DType::f16, DType::f32);
  };
  target.matrix_units = {*parse_matrix_unit("coopmat 16x16x16 f16 f16 f32 f32"),
                         *parse_matrix_unit("coopmat 16x16x16 bf16 bf16 f32 f32 exact 32")};
  EXPECT_EQ(exact(), 0) << "the other unit has other types";
  target.matrix_units.push_back(*parse_matrix_unit("coopmat 8x8x16 f16 f16 f32 f32 exact 512"));
  target.matrix_units.push_back(*parse_matrix_unit("coopmat 8x8x32 f16 f16 f32 f32 exact 64"));
  EXPECT_EQ(exact(), 64) << "whichever of them a kernel uses";
}

}  // namespace
}  // namespace tcc::exec
