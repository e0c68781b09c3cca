// An executable with every kind of step, buffer and argument, for tests of files and programs.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "executable/executable.h"
#include "executable/serialize.h"
#include "support/content_hash.h"

namespace tcc::exec {

using Bytes = std::vector<std::byte>;

class Constants final : public ConstantStore {
 public:
  explicit Constants(std::vector<Bytes> all) : all_(std::move(all)) {}
  ConstantBytes load(size_t i) const override {
    const auto copy = std::make_shared<const Bytes>(all_.at(i));
    return {copy, *copy, content_hash(*copy)};
  }
  std::optional<Hash128> key(size_t) const override { return std::nullopt; }

 private:
  std::vector<Bytes> all_;
};

inline BufferInfo buffer(BufferInfo::Kind kind, const char* name, SymInt elements, SymInt offset) {
  BufferInfo info;
  info.kind = kind;
  info.name = name;
  info.shape = {elements};
  info.strides = {1};
  info.bytes = elements * 4;
  info.offset = offset;
  return info;
}

// Every kind of step, buffer and argument, on `n` elements.
inline Executable sample(const SymInt& n = 8) {
  using Kind = BufferInfo::Kind;
  Executable e;
  e.name = "sample";
  e.target.arch = "generic";
  e.target.matrix_units = {
      *parse_matrix_unit("mma 64x256x32 i8 u8 i32 i32 subgroups4 step 16 along-k exact 64"),
      *parse_matrix_unit("coopmat 8x8x16 u8 u8 u32 u32 saturating")};
  if (!n.is_const()) e.dims = {{"n"}};
  KernelBinary& kernel = e.kernels.emplace_back();
  kernel.entry = "k";
  kernel.source = "void k() {}";
  kernel.code = {1, 2, 3, 0, 255};
  kernel.workgroup = 64;
  kernel.num_arguments = 3;
  kernel.num_maps = 1;
  kernel.alignments = {16, 4};
  kernel.region = "add";
  kernel.flops = 0.5;
  e.buffers = {buffer(Kind::input, "x", n, 0),           buffer(Kind::output, "y", n, 0),
               buffer(Kind::constant, "w", 4, 0),        buffer(Kind::constant, "v", 4, 1),
               buffer(Kind::arena, "t", n, 256),         buffer(Kind::state, "s", n, 0),
               buffer(Kind::workspace, "scratch", n, 0), buffer(Kind::arena, "part", 1, 4)};
  e.buffers.back().alias = 4;
  e.inputs = {0};
  e.outputs = {1};
  e.states = {{5}};
  e.constants = {{"w", 16, true}, {"v", 16}};
  e.arena_bytes = n * 4 + 256;
  e.live_bytes_peak = n * 4;
  e.store = std::make_shared<const Constants>(
      std::vector<Bytes>{Bytes(16, std::byte{7}), Bytes(16, std::byte{7})});
  KernelLaunch launch;
  launch.grid = {ceildiv(n, 64), 1, 1};
  launch.arguments = {Address{0}, Address{4, 4}, Scalar{DType::i32, n}};
  launch.maps = {{"map", 0, DType::f32, 0, {n, 1}, {n * 4}, {8, 1}, 128}};
  launch.layers = {"first", "second"};
  e.steps = {launch, Copy{{1}, {4}, n * 4}, Fill{{5, 4}, 4, 9}, HostCall{"draw", {0}, {1}}};
  return e;
}

inline Bytes written(const Executable& executable) {
  Bytes all;
  write_executable(executable, [&](std::span<const std::byte> bytes) {
    all.insert(all.end(), bytes.begin(), bytes.end());
  });
  return all;
}

}  // namespace tcc::exec
