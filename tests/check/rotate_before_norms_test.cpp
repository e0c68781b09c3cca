#include "ir/passes/rotate_before_norms.h"

#include "tests/check/check_pass.h"

namespace tcc::ir {
namespace {

using test::expect_pass;
using test::expect_unchanged;

// Shifted windows: a roll along two dims.
TEST(RotateBeforeNorms, ReadsRollsBeforeTheNorm) {
  expect_pass(rotate_before_norms, R"(
    graph @shifted {
      %x: f32[2, 5, 7, 8] = input
      %w: f32[8] = weight
      %n = layer_norm(%x, %w) {normalized_shape = 8}
      %a = slice(%n) {dim = 1, end = 3}
      %b = slice(%n) {dim = 1, start = 3}
      %c = cat(%b, %a) {dim = 1}
      %d = slice(%c) {dim = 2, end = 3}
      %e = slice(%c) {dim = 2, start = 3}
      %f = cat(%e, %d) {dim = 2}
      return %f
    })",
              R"(
    graph @shifted {
      %x: f32[2, 5, 7, 8] = input
      %w: f32[8] = weight
      %slice.7 = slice(%x) {dim = 1, start = 3}
      %slice.8 = slice(%x) {dim = 1, end = 3}
      %cat.9 = cat(%slice.7, %slice.8) {dim = 1}
      %slice.11 = slice(%cat.9) {dim = 2, start = 3}
      %slice.12 = slice(%cat.9) {dim = 2, end = 3}
      %cat.13 = cat(%slice.11, %slice.12) {dim = 2}
      %f = layer_norm(%cat.13, %w) {normalized_shape = 8}
      return %f
    })");
}

// Another reader of the norm, slices that repeat rows, and a roll along the normalised dim.
TEST(RotateBeforeNorms, LeavesOthers) {
  expect_unchanged(rotate_before_norms, R"(
    graph @read {
      %x: f32[6, 8] = input
      %n = rms_norm(%x) {normalized_shape = 8}
      %a = slice(%n) {end = 2}
      %b = slice(%n) {start = 2}
      %c = cat(%b, %a)
      return %c, %n
    })");
  expect_unchanged(rotate_before_norms, R"(
    graph @repeated {
      %x: f32[6, 8] = input
      %n = rms_norm(%x) {normalized_shape = 8}
      %a = slice(%n) {end = 4}
      %b = slice(%n) {start = 1}
      %c = cat(%b, %a)
      return %c
    })");
  expect_unchanged(rotate_before_norms, R"(
    graph @across {
      %x: f32[6, 8] = input
      %n = rms_norm(%x) {normalized_shape = 8}
      %a = slice(%n) {dim = 1, end = 4}
      %b = slice(%n) {dim = 1, start = 4}
      %c = cat(%b, %a) {dim = 1}
      return %c
    })");
}

}  // namespace
}  // namespace tcc::ir
