#include "executable/executable.h"

#include <cstring>
#include <functional>
#include <random>

#include <gtest/gtest.h>

#include "executable/serialize.h"
#include "support/content_hash.h"
#include "support/error.h"
#include "tests/expect_error.h"
#include "tests/unit/sample_executable.h"

namespace tcc::exec {
namespace {

Executable read(const Bytes& bytes) {
  const auto copy = std::make_shared<const Bytes>(bytes);
  return read_executable(copy, *copy, "file");
}

TEST(Executables, ComeBackAsTheyWereWritten) {
  for (const SymInt& n : {SymInt(8), SymInt::symbol("n")}) {
    const Bytes bytes = written(sample(n));
    const Executable back = read(bytes);
    EXPECT_EQ(written(back), bytes);
    EXPECT_EQ(back.steps.size(), 4u);
    EXPECT_EQ(back.target.matrix_units, sample(n).target.matrix_units);
    const auto& launch = std::get<KernelLaunch>(back.steps[0]);
    EXPECT_EQ(launch.grid[0], ceildiv(n, 64));
    EXPECT_EQ(std::get<Scalar>(launch.arguments[2]).value, n);
    EXPECT_EQ(back.buffers[7].alias, 4);
    EXPECT_TRUE(back.constants[0].is_mutable);
    EXPECT_FALSE(back.constants[1].is_mutable);
    EXPECT_EQ(Bytes(back.store->load(1).bytes.begin(), back.store->load(1).bytes.end()),
              Bytes(16, std::byte{7}));
    // Equal constants are in the file once.
    EXPECT_EQ(back.store->load(0).bytes.data(), back.store->load(1).bytes.data());
    EXPECT_EQ(back.store->key(0), back.store->key(1));
  }
}

TEST(Executables, AreRefusedWhereTheyAreCutOff) {
  const Bytes bytes = written(sample(SymInt::symbol("n")));
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_ERROR_KIND(read(Bytes(bytes.begin(), bytes.begin() + static_cast<long>(size))),
                      ErrorKind::bad_input, "file: ");
}

TEST(Executables, AreRefusedWhereAByteChanged) {
  const Bytes bytes = written(sample());
  const Bytes same = written(read(bytes));
  for (size_t at = 0; at < bytes.size(); ++at) {
    Bytes changed = bytes;
    changed[at] ^= std::byte{0x10};
    try {
      const Executable executable = read(changed);
      // The byte is then one of a constant, which is looked at when it is loaded, or between two
      // things.
      EXPECT_EQ(written(executable), same) << at;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_input) << at;
      EXPECT_EQ(std::string_view(error.what()).substr(0, 6), "file: ") << error.what();
    }
  }
  Bytes constant = bytes;
  constant[64] ^= std::byte{1};
  EXPECT_ERROR_KIND(read(constant).store->load(0), ErrorKind::bad_input, "constant 0 is damaged");
  Bytes newer = bytes;
  newer[8] = std::byte{99};
  EXPECT_ERROR_KIND(read(newer), ErrorKind::bad_input, "file: has version 99");
  Bytes older = bytes;
  older[8] = std::byte{1};
  EXPECT_ERROR_KIND(read(older), ErrorKind::bad_input,
                    str("file: has version 1 of the format; this tcc reads ", format_versions(),
                        ": compile the graph again"));
}

// Where the executable's fields are in a file: its place and size.
std::span<std::byte> payload_of(Bytes& bytes) {
  const size_t footer = bytes.size() - 40;
  int64_t begin = 0, size = 0;
  std::memcpy(&begin, &bytes[footer], 8);
  std::memcpy(&size, &bytes[footer + 8], 8);
  return std::span(bytes).subspan(static_cast<size_t>(begin), static_cast<size_t>(size));
}

void seal(Bytes& bytes) {
  const Hash128 checksum = content_hash(payload_of(bytes));
  std::memcpy(&bytes[bytes.size() - 24], &checksum, sizeof checksum);
}

// The number of a back end that is added is another one in each process.
TEST(Executables, NameTheirBackEnd) {
  Executable executable = sample();
  executable.target.api = api_of("added");
  Bytes bytes = written(executable);
  EXPECT_EQ(read(bytes).target.api, api_of("added"));
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const size_t at = text.find("added");
  ASSERT_NE(at, text.npos);
  bytes[at] = std::byte{'f'};
  seal(bytes);
  EXPECT_ERROR_KIND(read(bytes), ErrorKind::bad_input,
                    "file: is for the back end 'fdded', which this program does not have; it has "
                    "null, cuda, vulkan, ");
  EXPECT_ERROR_KIND(read(bytes), ErrorKind::bad_input, ", added");
  bytes[at] = std::byte{'\n'};
  seal(bytes);
  EXPECT_ERROR_KIND(read(bytes), ErrorKind::bad_input, "is for the back end '?'");
  EXPECT_FALSE(find_api("fdded")) << "a file adds no name";
}

// Behind a checksum that is right, everything is hostile still: what is read passed check().
TEST(Executables, ChangedOnPurposeAreRefusedOrSound) {
  Executable whole = sample(SymInt::symbol("n"));
  whole.variants.push_back({{{"n", 8}}, sample()});
  const Bytes bytes = written(whole);
  std::mt19937 random(1);
  int refused = 0, read_well = 0;
  for (int round = 0; round < 4000; ++round) {
    Bytes changed = bytes;
    const std::span payload = payload_of(changed);
    for (uint32_t changes = 1 + random() % 3; changes > 0; --changes)
      payload[random() % payload.size()] = static_cast<std::byte>(random() % 3 ? random() : 0xff);
    seal(changed);
    try {
      const Executable executable = read(changed);
      check(executable);
      for (size_t i = 0; i < executable.constants.size(); ++i) executable.store->load(i);
      ++read_well;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_input) << error.what();
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
  EXPECT_GT(read_well, 100);
}

TEST(Executables, AreCheckedBeforeTheyAreUsed) {
  struct Case {
    std::function<void(Executable&)> change;
    const char* reason;
  };
  const auto launch = [](Executable& e) -> KernelLaunch& {
    return std::get<KernelLaunch>(e.steps[0]);
  };
  const Case cases[] = {
      {[&](auto& e) { launch(e).kernel = 1; }, "a launch's kernel is 1"},
      {[&](auto& e) { launch(e).arguments.pop_back(); }, "2 arguments for a kernel of 3"},
      {[&](auto& e) { launch(e).maps.clear(); }, "0 tensor maps for a kernel of 1"},
      {[&](auto& e) { launch(e).maps[0].argument = 2; }, "a tensor map of a scalar"},
      {[&](auto& e) { launch(e).maps[0].box.pop_back(); }, "a tensor map of 2 dims"},
      {[&](auto& e) { launch(e).maps[0].dtype = DType::i64; }, "a tensor map of type i64"},
      {[&](auto& e) { launch(e).maps[0].offset = 2; }, "a tensor map's offset is 8 bytes"},
      {[&](auto& e) { launch(e).maps[0].strides = {24}; }, "a tensor map's stride is 24 bytes"},
      {[&](auto& e) { launch(e).maps[0].offset = 4; }, "a tensor map: bytes 16 to 16 + 32 of 32"},
      {[&](auto& e) {
         launch(e).maps[0].dims = {8, 2};
       },
       "a tensor map: bytes 0 to 0 + 64 of 32"},
      {[&](auto& e) {
         launch(e).maps[0].dims = {1, int64_t{1} << 32};
         launch(e).maps[0].strides = {int64_t{1} << 39};
       },
       "views more than 2^63 bytes"},
      {[&](auto& e) { launch(e).maps[0].swizzle = 16; }, "a tensor map's swizzle is 16"},
      {[&](auto& e) { launch(e).maps[0].steps = {1}; }, "a tensor map of 2 dims and 1 steps"},
      {[&](auto& e) { launch(e).maps[0].clip = {8}; }, "2 sides of a box, of which 1 are clipped"},
      {[&](auto& e) {
         launch(e).maps[0].clip = {0, -1};
       },
       "what a clipped side is rounded up to is -1"},
      {[&](auto& e) {
         launch(e).maps[0].steps = {1, 9};
       },
       "a tensor map's step is 9"},
      {[&](auto& e) { launch(e).maps[0].im2col.pixels = 1; }, "a tiled tensor map with fields of"},
      {[&](auto& e) { launch(e).arguments[0] = Address{8}; }, "a step's buffer is 8"},
      {[&](auto& e) {
         launch(e).arguments[1] = Address{4, 2};
       },
       "an argument at byte 258, no multiple of 4"},
      {[&](auto& e) {
         launch(e).arguments[1] = Address{7};
         e.buffers[7].offset = 6;
       },
       "an argument at byte 262, no multiple of 4"},
      {[&](auto& e) { e.kernels[0].alignments[1] = 8; }, "an argument at byte 260"},
      {[](auto& e) { e.kernels[0].alignments = {128}; }, "an alignment is 128"},
      {[](auto& e) { std::get<Copy>(e.steps[1]).to = {2}; },
       "a copy writes buffer 2, which is a constant or an input"},
      {[](auto& e) { std::get<Fill>(e.steps[2]).to = {0}; },
       "a fill writes buffer 0, which is a constant or an input"},
      {[](auto& e) {
         e.buffers[7].alias = 3;
         std::get<Fill>(e.steps[2]).to = {7};
       },
       "a fill writes buffer 7, which is a constant or an input"},
      {[](auto& e) { std::get<Copy>(e.steps[1]).to = {4}; }, "a copy of 32 bytes onto itself"},
      {[](auto& e) {
         std::get<Copy>(e.steps[1]) = {{7}, {4}, 4};
         e.buffers[7].offset = 0;
       },
       "a copy of 4 bytes onto itself"},
      {[&](auto& e) {
         launch(e).arguments[1] = Address{4, 33};
       },
       "an argument: bytes 33"},
      {[&](auto& e) {
         launch(e).arguments[2] = Scalar{DType::f32, 1};
       },
       "of type f32"},
      {[&](auto& e) {
         launch(e).arguments[2] = Scalar{DType::i32, int64_t{1} << 31};
       },
       "a scalar argument is 2147483648"},
      {[&](auto& e) { launch(e).grid[0] = -1; }, "a grid of -1"},
      {[&](auto& e) { launch(e).grid[1] = SymInt::symbol("m"); }, "no symbol 'm'"},
      {[](auto& e) { e.kernels[0].alignments = {3}; }, "an alignment of 3"},
      {[](auto& e) { e.kernels[0].workgroup = 1 << 20; }, "a workgroup is 1048576"},
      {[](auto& e) { e.buffers[7].alias = 7; }, "a buffer's alias is 7"},
      {[](auto& e) { e.buffers[7].offset = 30; }, "an alias: bytes 30 to 30 + 4 of 32"},
      {[](auto& e) { e.buffers[4].offset = 260; }, "a buffer of the arena: bytes 260"},
      {[](auto& e) { e.buffers[2].offset = 2; }, "a buffer's number is 2"},
      {[](auto& e) { e.buffers[2].bytes = 20; }, "another size than its constant"},
      {[](auto& e) { e.buffers[2].shape = {-4}; }, "has no fixed type"},
      {[](auto& e) { e.buffers[0].bytes = 28; }, "'x' of 28 bytes has another size"},
      {[](auto& e) { e.buffers[0].strides = {}; }, "1 dims and 0 strides"},
      {[](auto& e) { e.inputs = {1}; }, "buffer 1 is no input or output 0"},
      {[](auto& e) {
         e.outputs = {1, 1};
       },
       "buffer 1 is no input or output 1"},
      {[](auto& e) { e.arena_bytes = -1; }, "the arena's size is -1"},
      {[](auto& e) { std::get<Copy>(e.steps[1]).bytes = 36; }, "a copy: bytes 0 to 0 + 36 of 32"},
      {[](auto& e) { std::get<Fill>(e.steps[2]).to.offset = 32; }, "a fill: bytes 32"},
      {[](auto& e) { std::get<Fill>(e.steps[2]).to.offset = 2; }, "a fill of 4 bytes at 2"},
      {[](auto& e) { std::get<HostCall>(e.steps[3]).writes = {-1}; }, "a step's buffer is -1"},
      {[](auto& e) { std::get<HostCall>(e.steps[3]).writes = {2}; },
       "'draw' writes buffer 2, which is a constant or an input"},
      {[](auto& e) { std::get<HostCall>(e.steps[3]).writes = {0}; },
       "'draw' writes buffer 0, which is a constant or an input"},
      {[](auto& e) { e.buffers[0].strides = {2}; }, "'draw' gets buffer 'x', which is not dense"},
  };
  EXPECT_NO_THROW(check(sample()));
  for (const Case& one : cases) {
    Executable executable = sample();
    one.change(executable);
    EXPECT_ERROR_KIND(check(executable), ErrorKind::bad_input, one.reason);
  }
}

// A sample of 8 elements, whose copy is of as many as the run reads from scratch memory.
Executable counting() {
  Executable e = sample();
  e.dims = {{"c", {0, 8, 1}}};
  std::get<Copy>(e.steps[1]).bytes = SymInt::symbol("c") * 4;
  e.steps.insert(e.steps.begin() + 1, ReadSize{0, {4, 8}, 8});
  return e;
}

TEST(Executables, SizesThatAreReadAreChecked) {
  const Executable back = read(written(counting()));
  const auto& step = std::get<ReadSize>(back.steps[1]);
  EXPECT_EQ(step.dim, 0);
  EXPECT_EQ(step.from.buffer, 4);
  EXPECT_EQ(step.from.offset, SymInt(8));
  EXPECT_EQ(step.most, SymInt(8));
  const auto read_of = [](Executable& e) -> ReadSize& { return std::get<ReadSize>(e.steps[1]); };
  struct Case {
    std::function<void(Executable&)> change;
    const char* reason;
  };
  const Case cases[] = {
      {[&](auto& e) { read_of(e).dim = 1; }, "the dim whose size is read is 1"},
      {[&](auto& e) { read_of(e).from.buffer = 8; }, "a step's buffer is 8"},
      {[&](auto& e) { read_of(e).most = SymInt::symbol("q"); }, "no symbol 'q'"},
      {[&](auto& e) { e.steps.push_back(read_of(e)); }, "the size of 'c' is read twice"},
      {[](auto& e) {
         e.dims[0].range = {0, 8, 2};
       },
       "the size of 'c' is read and a multiple of 2"},
      {[](auto& e) {
         e.states = {{5, -1, 0, 0, 1}};
       },
       "the size of 'c' is read twice, or is a state's length"},
      {[](auto& e) {
         e.buffers[0].shape = {SymInt::symbol("c")};
         e.buffers[0].bytes = SymInt::symbol("c") * 4;
       },
       "'x' has the size 'c', which each run reads"},
  };
  for (const Case& one : cases) {
    Executable executable = counting();
    one.change(executable);
    EXPECT_ERROR_KIND(check(executable), ErrorKind::bad_input, one.reason);
  }
  Executable beyond = counting();
  read_of(beyond).from.offset = 28;
  EXPECT_ERROR_KIND(check(beyond, Sizes{{{"c", 3}}}), ErrorKind::bad_input,
                    "a size: bytes 28 to 28 + 8 of 32");
}

// A sample whose state of 8 rows is as long as the dim, and grows by `added` in each run.
Executable growing(const SymInt& added = 1) {
  Executable e = sample();
  e.dims = {{"p", {0, 7, 1}}};
  e.states = {{5, -1, 0, 0, added}};
  return e;
}

TEST(Executables, StatesThatGrowAreChecked) {
  const Executable back = read(written(growing(2)));
  EXPECT_EQ(back.states[0].axis, 0);
  EXPECT_EQ(back.states[0].dim, 0);
  EXPECT_EQ(back.states[0].added, SymInt(2));
  struct Case {
    std::function<void(Executable&)> change;
    const char* reason;
  };
  const Case cases[] = {
      {[](auto& e) { e.states[0].axis = 1; }, "the axis along which a state grows is 1"},
      {[](auto& e) { e.states[0].dim = 1; }, "the dim that is a state's length is 1"},
      {[](auto& e) { e.states[0].dim = -1; }, "the dim that is a state's length is -1"},
      {[](auto& e) { e.states[0].added = SymInt::symbol("q"); }, "no symbol 'q'"},
      {[](auto& e) { e.buffers[5].shape = {SymInt::symbol("p")}; }, "grows and has an open size"},
      // States of fixed sizes are made before the sizes of open dims are known.
      {[](auto& e) { e.buffers[5].bytes = 16; },
       "state 's' of 16 bytes has another size than its type"},
      {[](auto& e) { e.buffers[5].bytes = SymInt::symbol("p") * 4; },
       "bytes has another size than its type"},
      {[](auto& e) { e.buffers[5].shape = {-8}; }, "bytes has another size than its type"},
      {[](auto& e) { e.buffers[5].shape = {int64_t{1} << 62}; },
       "bytes has another size than its type"},
      {[](auto& e) {
         e.buffers.push_back(e.buffers[5]);
         e.buffers.back().name = "more";
         e.states.push_back({8, -1, 0, 0, 2});
       },
       "states 's' and 'more' have one length, 'p', and grow by 1 and 2"},
  };
  for (const Case& one : cases) {
    Executable executable = growing();
    one.change(executable);
    EXPECT_ERROR_KIND(check(executable), ErrorKind::bad_input, one.reason);
  }
  const auto at = [](int64_t p, const SymInt& added) {
    Sizes sizes;
    sizes.values["p"] = p;
    check(growing(added), sizes);
  };
  EXPECT_NO_THROW(at(7, 1));
  EXPECT_ERROR(at(7, 2), "state 's' has room for 8 along dim 0, not for 7 (p) and 2 more");
  EXPECT_ERROR(at(3, -1), "state 's' has room for 8");
  EXPECT_ERROR(at(3, int64_t{1} << 62), "state 's' has room for 8");
}

TEST(SharedExpressions, AreOneObject) {
  const auto n = [] { return SymInt::symbol("n"); };
  Executable executable = sample(n() * 3 + 5);
  executable.buffers[0].bytes = ceildiv(n(), 64) * 4;
  executable.buffers[1].bytes = ceildiv(n(), 64) * 4;
  executable.buffers[2].bytes = ceildiv(n(), 64) * 4 + 8;
  auto& launch = std::get<KernelLaunch>(executable.steps[0]);
  launch.grid[1] = ceildiv(n(), 64) * 4;
  share_expressions(executable);
  EXPECT_EQ(executable.buffers[2].bytes, ceildiv(n(), 64) * 4 + 8);
  EXPECT_EQ(std::get<Scalar>(launch.arguments[2]).value, n() * 3 + 5);
  const auto terms = [](const SymInt& expression) { return expression.terms().data(); };
  EXPECT_EQ(terms(executable.buffers[0].bytes), terms(executable.buffers[1].bytes));
  EXPECT_EQ(terms(executable.buffers[0].bytes), terms(launch.grid[1]));
}

// Layers launch a kernel with the same numbers on other buffers.
TEST(SharedExpressions, FindLaunchesWithTheSameNumbers) {
  const auto n = [] { return SymInt::symbol("n"); };
  Executable executable = sample(n() * 3 + 5);
  const auto launch = std::get<KernelLaunch>(executable.steps[0]);
  KernelLaunch moved = launch, wider = launch, other = launch;
  std::get<Address>(moved.arguments[0]).offset = n() * 64;
  wider.grid[0] = wider.grid[0] + n();
  std::get<Scalar>(other.arguments[2]).value = n() * 3 + 6;
  executable.steps = {launch, moved, wider, other, wider};
  share_expressions(executable);
  std::vector<int> same;
  for (const Step& step : executable.steps) same.push_back(std::get<KernelLaunch>(step).same_as);
  EXPECT_EQ(same, (std::vector<int>{0, 0, 2, 3, 2}));

  const Sizes sizes = {{{"n", 7}}, std::make_shared<ExpressionValues>()};
  LaunchNumbers own;
  const auto numbers_of = [&](size_t step) -> const LaunchNumbers& {
    return sizes.of(std::get<KernelLaunch>(executable.steps[step]), own);
  };
  EXPECT_EQ(numbers_of(0).arguments, (std::vector<uint64_t>{0, 0, 26}));
  EXPECT_EQ(&numbers_of(1), &numbers_of(0));
  EXPECT_EQ(numbers_of(3).arguments.back(), 27U);
  EXPECT_EQ(&numbers_of(4), &numbers_of(2));
  EXPECT_EQ(&sizes.of(launch, own), &own) << "a launch that nothing is known of";
}

TEST(SharedExpressions, AreEvaluatedOnce) {
  const SymInt n = SymInt::symbol("n");
  const SymInt groups = ceildiv(n, 64);
  Sizes sizes = {{{"n", 130}}, std::make_shared<ExpressionValues>()};
  // These have the same terms and other constants, in any order.
  EXPECT_EQ(sizes.of(groups + 1), 4);
  EXPECT_EQ(sizes.of(groups), 3);
  EXPECT_EQ(sizes.of(groups + 1), 4);
  EXPECT_EQ(sizes.of(groups * 2), 6);
  // Values that are remembered stay: other sizes have values of their own.
  sizes.values["n"] = 1000;
  EXPECT_EQ(sizes.of(groups + 1), 4);
  EXPECT_EQ(Sizes{sizes.values}.of(groups + 1), 17);
  EXPECT_ERROR(sizes.of(SymInt::symbol("m") + n), "unknown dim 'm'");
  EXPECT_ERROR(sizes.of(SymInt::symbol("m") + n), "unknown dim 'm'");
}

// One image of 2 x 2 pixels of 4 channels, and windows of 3 x 3 with a padding of 1.
TensorMap im2col_map() {
  TensorMap map = {"image", 0, DType::f32, 0, {4, 2, 2, 1}, {16, 32, 64}, {}, 0};
  map.kind = TensorMap::Kind::im2col;
  map.im2col = {{-1, -1}, {-1, -1}, 4, 8};
  map.steps = {1, 1, 1, 1};
  return map;
}

TEST(Executables, Im2colMapsAreChecked) {
  const auto with = [](const TensorMap& map) {
    Executable e = sample(16);
    std::get<KernelLaunch>(e.steps[0]).maps = {map};
    return e;
  };
  EXPECT_NO_THROW(check(with(im2col_map())));
  EXPECT_EQ(std::get<KernelLaunch>(read(written(with(im2col_map()))).steps[0]).maps.at(0),
            im2col_map());
  struct Case {
    std::function<void(TensorMap&)> change;
    const char* reason;
  };
  const Case cases[] = {
      {[](auto& m) {
         m.box = {1, 1, 1, 1};
       },
       "a tensor map of 4 dims, 3 strides and 4 sides"},
      {[](auto& m) { m.im2col.lower = {-1}; }, "an im2col map of 4 dims, with corners of 1 and 2"},
      {[](auto& m) {
         m.im2col.upper = {-1, -1, -1};
       },
       "with corners of 2 and 3"},
      {[](auto& m) {
         m.dims = {4, 2};
         m.strides = {16};
         m.steps.clear();
         m.im2col.lower = m.im2col.upper = {};
       },
       "an im2col map of 2 dims"},
      {[](auto& m) { m.im2col.lower[1] = -129; }, "an im2col map's corner is -129"},
      {[](auto& m) { m.im2col.upper[0] = 128; }, "an im2col map's corner is 128"},
      {[](auto& m) {
         m.dims = {4, 2, 2, 1, 1};
         m.strides = {16, 32, 64, 64};
         m.steps.clear();
         m.im2col.lower = m.im2col.upper = {0, 0, -17};
       },
       "an im2col map's corner is -17"},
      {[](auto& m) { m.im2col.channels = 0; }, "an im2col map's channels is 0"},
      {[](auto& m) { m.im2col.channels = 257; }, "an im2col map's channels is 257"},
      {[](auto& m) { m.im2col.channels = 3; }, "rows of 12 bytes"},
      {[](auto& m) {
         m.swizzle = 32;
         m.im2col.channels = 16;
       },
       "rows of 64 bytes, with a swizzle of 32"},
      {[](auto& m) { m.im2col.pixels = 0; }, "an im2col map's pixels is 0"},
      {[](auto& m) { m.im2col.pixels = 1025; }, "an im2col map's pixels is 1025"},
      {[](auto& m) { m.steps[1] = 0; }, "a tensor map's step is 0"},
      {[](auto& m) {
         m.steps = {1, 1};
       },
       "a tensor map of 4 dims and 2 steps"},
      {[](auto& m) { m.im2col.upper[0] = -3; }, "an im2col map without pixels: 2 from -1 to -3"},
      {[](auto& m) { m.dims[3] = 2; }, "a tensor map: bytes 0 to 0 + 128 of 64"},
      {[](auto& m) { m.strides[1] = 40; }, "a tensor map's stride is 40 bytes"},
      {[](auto& m) { m.dtype = DType::i64; }, "a tensor map of type i64"},
  };
  for (const Case& one : cases) {
    TensorMap map = im2col_map();
    one.change(map);
    EXPECT_ERROR_KIND(check(with(map)), ErrorKind::bad_input, one.reason);
  }
}

TEST(Executables, ExpressionsAreCheckedOnceTheyHaveValues) {
  const Executable executable = sample(SymInt::symbol("n"));
  EXPECT_NO_THROW(check(executable));
  EXPECT_NO_THROW(check(executable, {{{"n", 100}}}));
  EXPECT_ERROR_KIND(check(executable, {}), ErrorKind::bad_input, "'n' has no value");
  // Bytes 4 to 8 are beyond a buffer of one element.
  EXPECT_ERROR_KIND(check(executable, {{{"n", 1}}}), ErrorKind::bad_input,
                    "an alias: bytes 4 to 4 + 4 of 4");
  EXPECT_ERROR_KIND(check(executable, {{{"n", int64_t{1} << 39}}}), ErrorKind::bad_input, "");
  const Sizes hundred{{{"n", 100}}};
  EXPECT_EQ(hundred.of(std::get<KernelLaunch>(executable.steps[0]).grid),
            (std::array<uint32_t, 3>{2, 1, 1}));
}

TEST(Executables, DimsAreChecked) {
  const auto refused = [](std::vector<OpenDim> dims, const char* reason) {
    Executable executable = sample(SymInt::symbol("n"));
    executable.dims = std::move(dims);
    EXPECT_ERROR_KIND(check(executable), ErrorKind::bad_input, reason);
  };
  refused({{"n", {0, 8, 0}}}, "a dim's multiple is 0");
  refused({{"n", {-1, 8, 1}}}, "a dim's least size is -1");
  refused({{"n", {4, 2, 1}}}, "a dim's largest size is 2");
  refused({{"n", {0, int64_t{1} << 31, 1}}}, "a dim's largest size is 2147483648");
  refused({{"n", {3, 8, 2}}}, "a dim's least size is 3, no multiple of 2");
  refused({{"n"}, {"n"}}, "two dims 'n'");
  refused({{"n", {8, 64, 8}}}, "no symbol 'n'");
  refused({}, "no symbol 'n'");
  Executable executable = sample(SymInt::symbol("n_by_4"));
  executable.dims = {{"n", {8, 64, 4}}};
  EXPECT_NO_THROW(check(executable));
  EXPECT_NO_THROW(check(executable, {{{"n_by_4", 16}}}));
  EXPECT_ERROR_KIND(check(executable, {{{"n_by_4", 17}}}), ErrorKind::bad_input,
                    "n = 68 is above 64 (n = 8..64:4)");
}

TEST(Executables, EqualDimsAreWrittenReadAndChecked) {
  const SymInt n = SymInt::symbol("n");
  Executable executable = sample(n);
  executable.dims = {{"n", {1, 8, 1}}};
  executable.equal_dims = {{"m", n * 2 + 1}};
  const Executable again = read(written(executable));
  ASSERT_EQ(again.equal_dims.size(), 1u);
  EXPECT_EQ(again.equal_dims[0].name, "m");
  EXPECT_EQ(again.equal_dims[0].value.to_string(), (n * 2 + 1).to_string());
  executable.equal_dims = {{"n", n}};
  EXPECT_ERROR_KIND(check(executable), ErrorKind::bad_input, "two dims 'n'");
  executable.equal_dims = {{"m", SymInt::symbol("q")}};
  EXPECT_ERROR_KIND(check(executable), ErrorKind::bad_input, "no dim 'q'");
}

// The sample for all sizes, with one for 8.
Executable with_variant() {
  Executable whole = sample(SymInt::symbol("n"));
  whole.variants.push_back({{{"n", 8}}, sample()});
  return whole;
}

TEST(Executables, VariantsAreWrittenAndRead) {
  const Bytes bytes = written(with_variant());
  const Executable executable = read(bytes);
  ASSERT_EQ(executable.variants.size(), 1u);
  const Variant& variant = executable.variants[0];
  EXPECT_EQ(variant.sizes.at("n"), 8);
  EXPECT_EQ(variant.executable.steps.size(), executable.steps.size());
  // Contents are in the file once.
  const auto whole = executable.store->load(1), part = variant.executable.store->load(1);
  EXPECT_EQ(whole.bytes.data(), part.bytes.data());
  EXPECT_EQ(written(executable), bytes);
}

TEST(Executables, VariantsAreChecked) {
  const auto refused = [](const std::function<void(Executable&)>& change, const char* reason) {
    Executable executable = with_variant();
    change(executable);
    EXPECT_ERROR_KIND(check(executable), ErrorKind::bad_input, reason);
  };
  EXPECT_NO_THROW(check(with_variant()));
  refused([](auto& e) { e.variants[0].sizes.clear(); }, "a variant without the open dim 'n'");
  refused([](auto& e) { e.variants[0].sizes["m"] = 1; }, "a variant with other dims");
  refused([](auto& e) { e.variants[0].executable.dims = {{"m"}}; }, "a variant with other dims");
  refused([](auto& e) { e.dims = {{"n", {16, 64, 1}}}; }, "n = 8 is below 16 (n = 16..64)");
  refused([](auto& e) { e.variants[0].executable.inputs.clear(); },
          "a variant with other inputs, outputs or states");
  refused(
      [](auto& e) {
        e.variants[0].executable.variants = {{{{"n", 8}}, sample()}};
      },
      "a variant has variants");
  refused([](auto& e) { e.variants.resize(9, e.variants[0]); }, "a number of variants is 9");
  refused([](auto& e) { e.variants[0].executable.arena_bytes = 0; }, "a buffer of the arena");
  const Executable executable = with_variant();
  const Executable& variant = executable.variants[0].executable;
  EXPECT_NO_THROW(check_same(executable, {{{"n", 8}}}, variant, {}));
  EXPECT_ERROR_KIND(check_same(executable, {{{"n", 9}}}, variant, {}), ErrorKind::bad_input,
                    "sample: 'x' is another value in the variant for these sizes");
}

// A parent's parent, and so on: found in one walk.
TEST(Executables, LongChainsOfAliasesAreFollowedOnce) {
  Executable executable = sample();
  constexpr int kBuffers = 100'000;
  for (int i = 0; i < kBuffers; ++i) {
    executable.buffers.push_back(executable.buffers.back());
    executable.buffers.back().alias = i == 0 ? 7 : static_cast<int>(executable.buffers.size()) - 2;
    executable.buffers.back().offset = 0;
  }
  KernelLaunch launch = std::get<KernelLaunch>(executable.steps[0]);
  launch.arguments[1] = Address{static_cast<int>(executable.buffers.size()) - 1};
  executable.kernels[0].alignments = {16, 2};
  for (int i = 0; i < 20'000; ++i) executable.steps.emplace_back(launch);
  check(executable);
  EXPECT_EQ(assumed_alignments(executable)[4], 2);
  EXPECT_EQ(owners(executable).back(), 4);
}

TEST(Executables, ATargetMayStopLoops) {
  Executable executable = sample(SymInt::symbol("n"));
  std::get<KernelLaunch>(executable.steps[0]).loop_iterations = SymInt::symbol("n") * 3;
  Target target;
  EXPECT_NO_THROW(check_loops(executable, {{{"n", 100}}}, target));
  target.max_loop_iterations = 200;
  EXPECT_NO_THROW(check_loops(executable, {{{"n", 66}}}, target));
  EXPECT_ERROR_KIND(check_loops(executable, {{{"n", 67}}}, target), ErrorKind::device,
                    "sample: a thread of k runs up to 201 loop iterations, and null stops it after "
                    "200: sizes that are named where the graph is compiled (specialize) have");
}

TEST(Executables, KernelsAloneComeBack) {
  Executable executable = sample();
  EXPECT_THROW(standalone(executable, 0), InternalError) << "an argument within a buffer";
  std::get<KernelLaunch>(executable.steps[0]).arguments[1] = Address{4};
  StandaloneKernel kernel = standalone(executable, 0);
  StandaloneSequence sequence = kernel;
  EXPECT_EQ(sequence.arguments, 2);
  sequence.workspaces = {{"partials", DType::f16, 33, true}};
  kernel.cooperative = true;
  sequence.launches.push_back({kernel, {2, 1}, 7});
  const auto bytes = write_sequence(sequence);
  const StandaloneSequence back = read_sequence(bytes, "worker");
  EXPECT_EQ(write_sequence(back), bytes);
  EXPECT_EQ(back.arguments, 2);
  EXPECT_EQ(back.workspaces.at(0).name, "partials");
  EXPECT_EQ(back.workspaces.at(0).bytes(), SymInt(68)) << "whole words";
  EXPECT_TRUE(back.workspaces.at(0).zeroed);
  EXPECT_EQ(back.launches.at(0).buffers, (std::vector<int>{0, 1}));
  EXPECT_EQ(back.launches.at(1).buffers, (std::vector<int>{2, 1}));
  EXPECT_EQ(back.launches.at(0).times, 1);
  EXPECT_EQ(back.launches.at(1).times, 7);
  EXPECT_FALSE(back.launches.at(0).kernel.cooperative);
  EXPECT_TRUE(back.launches.at(1).kernel.cooperative);
  const StandaloneKernel& first = back.launches.at(0).kernel;
  EXPECT_EQ(first.code, kernel.code);
  EXPECT_EQ(first.grid, kernel.grid);
  EXPECT_EQ(first.maps, kernel.maps);
  EXPECT_EQ(first.scalars.size(), 1u);
  EXPECT_EQ(first.source, "");
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_ERROR_KIND(read_sequence(std::span(bytes).first(size), "worker"), ErrorKind::bad_input,
                      "worker: ");
  const auto refused = [&](const auto& change, const char* reason) {
    StandaloneSequence changed = sequence;
    change(changed);
    EXPECT_ERROR_KIND(read_sequence(write_sequence(changed), "worker"), ErrorKind::bad_input,
                      reason);
  };
  const auto last = [](auto& s) -> StandaloneKernel& { return s.launches.back().kernel; };
  refused([&](auto& s) { last(s).scalars[0].value = SymInt::symbol("n"); }, "worker: ");
  refused([&](auto& s) { last(s).maps[0].dims[0] = SymInt::symbol("n"); }, "worker: ");
  refused([&](auto& s) { last(s).maps[0].dims[0] = 0; }, "a tensor map's dim is 0");
  refused([&](auto& s) { last(s).loop_iterations = SymInt::symbol("n"); }, "worker: ");
  refused([&](auto& s) { last(s).num_maps = 3; }, "1 tensor maps for a kernel of 3");
  refused([&](auto& s) { last(s).num_arguments = 4; }, "2 buffers and 1 scalars for a kernel of 4");
  refused([](auto& s) { s.launches.back().buffers[0] = 3; }, "a launch's buffer is 3");
  refused([](auto& s) { s.launches.back().buffers[0] = -1; }, "a launch's buffer is -1");
  refused([](auto& s) { s.launches.clear(); }, "a number of launches is 0");
  refused([](auto& s) { s.launches.back().times = 0; }, "a number of launches in a row is 0");
  refused([](auto& s) { s.launches.back().times = 1 << 20; }, "a number of launches in a row");
  refused(
      [&](auto& s) {
        last(s).scalars.clear();
        last(s).num_arguments = 2;
      },
      "launches in a row without a number");
  refused([](auto& s) { s.arguments = -1; }, "a number of arguments is -1");
  refused([](auto& s) { s.workspaces[0].elements = -1; }, "a workspace's elements is -1");
  refused([](auto& s) { s.workspaces[0].elements = int64_t{1} << 60; }, "a workspace's elements");
  refused([](auto& s) { s.workspaces[0].elements = SymInt::symbol("n"); }, "worker: ");
}

}  // namespace
}  // namespace tcc::exec
