#include "ir/passes/simplify.h"

#include "tests/check/check_pass.h"

namespace tcc::ir {
namespace {

using test::expect_pass;
using test::expect_unchanged;

// ---- views

TEST(Simplify, DropsViewsWithoutEffect) {
  expect_pass(simplify, R"(
    graph @g(B = 2) {
      %x: f32[B, 3] = input
      %a = reshape(%x) {shape = [B, 3]}
      %b = expand(%a) {size = [B, 3]}
      %c = slice(%b) {dim = 1, end = 3}
      %d = permute(%c) {dims = [0, 1]}
      %e = pad(%d) {pad = [0, 0]}
      %f = cat(%e) {dim = 1}
      %g = identity(%f)
      %h = transpose(%g) {dim0 = 0, dim1 = 1}
      %i = transpose(%h) {dim0 = -1, dim1 = -2}
      %y = exp(%i)
      return %y
    })",
              R"(
    graph @g(B = 2) {
      %x: f32[B, 3] = input
      %y = exp(%x)
      return %y
    })");
}

TEST(Simplify, JoinsReshapes) {
  expect_pass(simplify, R"(
    graph @g {
      %x: f32[2, 3, 4] = input
      %a = flatten(%x)
      %b = unsqueeze(%a) {dim = 0}
      %y = reshape(%b) {shape = [4, 6]}
      %z = reshape(%b) {shape = [2, 3, 4]}
      return %y, %z
    })",
              R"(
    graph @g {
      %x: f32[2, 3, 4] = input
      %y = reshape(%x) {shape = [4, 6]}
      return %y, %x as "z"
    })");
}

TEST(Simplify, JoinsPermutations) {
  expect_pass(simplify, R"(
    graph @g {
      %x: f32[2, 3, 4] = input
      %a = transpose(%x) {dim0 = 0, dim1 = 1}
      %y = permute(%a) {dims = [2, 0, 1]}
      return %y
    })",
              R"(
    graph @g {
      %x: f32[2, 3, 4] = input
      %y = permute(%x) {dims = [2, 1, 0]}
      return %y
    })");
}

TEST(Simplify, SlicesWhereConstantIndicesAreEvenlySpaced) {
  expect_pass(simplify, R"(
    graph @g {
      %x: f32[3, 7] = input
      %one: i64[] = const 2
      %last: i32[1] = const [-1]
      %all: i64[3] = const [0, 1, 2]
      %odd: i64[3] = const [1, 3, 5]
      %ends: i64[2] = const [-2, 9]
      %row = reshape(%one) {shape = [1]}
      %a = index_select(%x, %row) {dim = 1}
      %b = index_select(%x, %last) {dim = -1}
      %c = index_select(%x, %all) {dim = 0}
      %d = index_select(%x, %odd) {dim = 1}
      %e = index_select(%x, %ends) {dim = 1}
      %y = exp(%c)
      return %a, %b, %y, %d, %e
    })",
              R"(
    graph @g {
      %x: f32[3, 7] = input
      %a = slice(%x) {dim = 1, start = 2, end = 3}
      %b = slice(%x) {dim = 1, start = 6, end = 7}
      %d = slice(%x) {dim = 1, start = 1, end = 6, step = 2}
      %e = slice(%x) {dim = 1, start = 5, end = 7}
      %y = exp(%x)
      return %a, %b, %y, %d, %e
    })");
}

TEST(Simplify, KeepsOtherIndices) {
  expect_unchanged(simplify, R"(
    graph @g {
      %x: f32[3, 7] = input
      %given: i64[2] = input
      %back: i64[2] = const [1, 0]
      %twice: i64[2] = const [1, 1]
      %uneven: i64[3] = const [0, 1, 3]
      %none: i64[0] = const []
      %a = index_select(%x, %given) {dim = 1}
      %b = index_select(%x, %back) {dim = 1}
      %c = index_select(%x, %twice) {dim = 1}
      %d = index_select(%x, %uneven) {dim = 1}
      %e = index_select(%x, %none) {dim = 1}
      return %a, %b, %c, %d, %e
    })");
}

TEST(Simplify, ReshapesWhereOnlySingleDimsMove) {
  expect_pass(simplify, R"(
    graph @g {
      %x: f32[1, 3, 1, 4] = input
      %y = permute(%x) {dims = [1, 0, 3, 2]}
      %z = permute(%x) {dims = [3, 0, 1, 2]}
      return %y, %z
    })",
              R"(
    graph @g {
      %x: f32[1, 3, 1, 4] = input
      %y = reshape(%x) {shape = [3, 1, 4, 1]}
      %z = permute(%x) {dims = [3, 0, 1, 2]}
      return %y, %z
    })");
}

TEST(Simplify, JoinsSlicesAndExpansions) {
  expect_pass(simplify, R"(
    graph @g {
      %x: f32[20, 1] = input
      %a = slice(%x) {start = 3, end = 19, step = 2}
      %y = slice(%a) {start = -6, step = 3}
      %b = expand(%x) {size = [20, 4]}
      %z = expand(%b) {size = [2, 20, 4]}
      return %y, %z
    })",
              R"(
    graph @g {
      %x: f32[20, 1] = input
      %y = slice(%x) {start = 7, end = 14, step = 6}
      %z = expand(%x) {size = [2, 20, 4]}
      return %y, %z
    })");
}

TEST(Simplify, ReadsThePieceOfACat) {
  expect_pass(simplify, R"(
    graph @g {
      %x: f32[2, 3] = input
      %y: f32[2, 5] = input
      %c = cat(%x, %y) {dim = 1}
      %whole = slice(%c) {dim = 1, start = 3}
      %part = slice(%c) {dim = 1, start = 4, end = 6}
      %both = slice(%c) {dim = 1, start = 2, end = 5}
      return %whole, %part, %both
    })",
              R"(
    graph @g {
      %x: f32[2, 3] = input
      %y: f32[2, 5] = input
      %c = cat(%x, %y) {dim = 1}
      %part = slice(%y) {dim = 1, start = 1, end = 3}
      %both = slice(%c) {dim = 1, start = 2, end = 5}
      return %y as "whole", %part, %both
    })");
}

TEST(Simplify, DropsFlipsThatCancel) {
  expect_pass(simplify, R"(
    graph @g {
      %x: f32[3, 1, 4] = input
      %a = flip(%x) {dims = [0, 2]}
      %b = flip(%a) {dims = [-1, 0]}
      %c = flip(%b) {dims = [1]}
      %y = exp(%c)
      return %y
    })",
              R"(
    graph @g {
      %x: f32[3, 1, 4] = input
      %y = exp(%x)
      return %y
    })");
}

// ---- casts

TEST(Simplify, SkipsExactCasts) {
  expect_pass(simplify, R"(
    graph @g {
      %x: f16[3] = input
      %i: i8[3] = input
      %a = cast(%x) {dtype = f32}
      %b = cast(%a) {dtype = f64}
      %y = cast(%b) {dtype = f16}
      %c = to(%i) {dtype = i32}
      %d = cast(%c) {dtype = i64}
      %z = cast(%d) {dtype = f32}
      return %y, %z
    })",
              R"(
    graph @g {
      %x: f16[3] = input
      %i: i8[3] = input
      %z = cast(%i) {dtype = f32}
      return %x as "y", %z
    })");
}

TEST(Simplify, KeepsCastsThatRoundOrChangeTheRule) {
  expect_unchanged(simplify, R"(
    graph @g {
      %x: f32[3] = input
      %i: i32[3] = input
      %a = cast(%x) {dtype = bf16}
      %y = cast(%a) {dtype = f32}
      %b = cast(%i) {dtype = f64}
      %z = cast(%b) {dtype = i8}
      %c = cast(%i) {dtype = u32}
      %u = cast(%c) {dtype = i64}
      return %y, %z, %u
    })");
}

// ---- arithmetic

TEST(Simplify, DropsNeutralOperands) {
  expect_pass(simplify, R"(
    graph @g {
      %x: f32[3] = input
      %i: i32[3] = input
      %one: f32[] = const 1
      %zero: f32[] = const 0
      %minus_zero: f32[] = const -0
      %nothing: i32[] = const 0
      %a = mul(%x, %one)
      %b = mul(%one, %a)
      %c = div(%b, %one)
      %d = sub(%c, %zero)
      %e = add(%minus_zero, %d)
      %f = pow(%e, %one)
      %y = exp(%f)
      %g = add(%i, %nothing)
      %h = sub(%g, %nothing)
      %z = neg(%h)
      return %y, %z
    })",
              R"(
    graph @g {
      %x: f32[3] = input
      %i: i32[3] = input
      %y = exp(%x)
      %z = neg(%i)
      return %y, %z
    })");
}

TEST(Simplify, KeepsWhatChangesAZeroOrAType) {
  expect_unchanged(simplify, R"(
    graph @g {
      %x: f32[3] = input
      %h: f16[3] = input
      %i: i32[3] = input
      %zero: f32[] = const 0
      %minus_zero: f32[] = const -0
      %one: f32[1] = const 1
      %two: f32[2, 1] = const 1
      %whole: i32[] = const 1
      %a = add(%x, %zero)
      %b = sub(%x, %minus_zero)
      %c = mul(%h, %one)
      %d = mul(%x, %two)
      %e = div(%i, %whole)
      %f = div(%x, %one) {rounding_mode = "floor"}
      %g = sub(%zero, %x)
      return %a, %b, %c, %d, %e, %f, %g
    })");
}

TEST(Simplify, DropsDoubleNegationsAndRepeatedFunctions) {
  expect_pass(simplify, R"(
    graph @g {
      %x: f32[3] = input
      %m: bool[3] = input
      %a = neg(%x)
      %b = neg(%a)
      %c = relu(%b)
      %y = relu(%c)
      %d = logical_not(%m)
      %z = logical_not(%d)
      %e = neg(%x)
      %w = abs(%e)
      %n = logical_not(%x)
      %k = logical_not(%n)
      return %y, %z, %w, %k
    })",
              R"(
    graph @g {
      %x: f32[3] = input
      %m: bool[3] = input
      %c = relu(%x)
      %w = abs(%x)
      %n = logical_not(%x)
      %k = logical_not(%n)
      return %c as "y", %m as "z", %w, %k
    })");
}

TEST(Simplify, DecidesWhere) {
  expect_pass(simplify, R"(
    graph @g {
      %x: f16[3] = input
      %y: f32[2, 3] = input
      %m: bool[3] = input
      %yes: bool[] = const true
      %no: bool[2, 1] = const false
      %a = where(%yes, %x, %y)
      %b = where(%no, %x, %y)
      %c = where(%m, %x, %x)
      return %a, %b, %c
    })",
              R"(
    graph @g {
      %x: f16[3] = input
      %y: f32[2, 3] = input
      %m: bool[3] = input
      %cast.3 = cast(%x) {dtype = f32}
      %a = expand(%cast.3) {size = [2, 3]}
      return %a, %y as "b", %x as "c"
    })");
}

TEST(Simplify, PrefersCheaperArithmetic) {
  expect_pass(simplify, R"(
    graph @g {
      %x: f32[3] = input
      %two: f32[] = const 2
      %three: f32[] = const 3
      %a = pow(%x, %two)
      %b = div(%x, %two)
      %c = div(%x, %three)
      return %a, %b, %c
    })",
              R"(
    graph @g {
      %x: f32[3] = input
      %three: f32[] = const 3
      %const.4: f32[] = const 0.5
      %a = square(%x)
      %b = mul(%x, %const.4)
      %c = div(%x, %three)
      return %a, %b, %c
    })");
}

TEST(Simplify, TrustsNoMutableWeight) {
  expect_unchanged(simplify, R"(
    graph @g {
      %x: f32[3] = input
      %one: f32[3] = mutable weight
      %y = mul(%x, %one)
      return %y
    })");
}

}  // namespace
}  // namespace tcc::ir
