// Conformance: graphs on inputs and outputs at any multiple of their element's size.
#include <cstring>

#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "runtime/binding.h"
#include "scheduler/tuning.h"
#include "support/error.h"
#include "tests/device/conformance.h"
#include "tests/run_graph.h"

namespace tcc::runtime {
namespace {

constexpr std::byte kAround{0xee};

class UnalignedTest : public DeviceTest {
 protected:
  // Compiles with vectors of four elements, where a kernel reads vectors.
  std::shared_ptr<const Program> compiled(const std::string& text) {
    const sched::FixedConfig vectors({{"threads", 64}, {"vector", 4}, {"vectors", 1}});
    backends::CompileOptions options;
    options.configs = &vectors;
    graph = std::make_unique<ir::Graph>(parse_yaml_graph(text, "graph.yaml", ".").bind({}));
    return std::make_shared<const Program>(device,
                                           backends::compile(*graph, device->target(), options));
  }

  // A buffer with `tensor`'s bytes from `offset` on.
  std::unique_ptr<Buffer> placed(const Tensor& tensor, int64_t offset) {
    auto buffer = device->allocate(static_cast<int64_t>(tensor.bytes()) + 64);
    stream->fill(*buffer, 0, buffer->bytes(), static_cast<uint8_t>(kAround));
    stream->copy_to_device(*buffer, offset, {tensor.data(), tensor.bytes()});
    return buffer;
  }

  // Expects `tensor` in `buffer` from `offset` on, and nothing written around it.
  void expect_placed(const Buffer& buffer, int64_t offset, const Tensor& tensor) {
    std::vector<std::byte> bytes(static_cast<size_t>(buffer.bytes()));
    stream->copy_to_host(bytes, buffer, 0);
    const auto begin = static_cast<size_t>(offset), end = begin + tensor.bytes();
    if (runs_kernels()) {
      EXPECT_EQ(std::memcmp(bytes.data() + begin, tensor.data(), tensor.bytes()), 0);
    }
    for (size_t i = 0; i < bytes.size(); ++i) {
      if (i >= begin && i < end) continue;
      ASSERT_EQ(bytes[i], kAround) << "byte " << i;
    }
  }

  void check(const std::string& text, std::initializer_list<int64_t> elements_off) {
    const auto program = compiled(text);
    const std::vector<Tensor> given = test::draw_inputs(*graph, {.lo = -1, .hi = 1});
    const std::vector<Tensor> expected = Context(program).run(given);
    Context context(program);
    for (const int64_t in_off : elements_off)
      for (const int64_t out_off : elements_off) {
        SCOPED_TRACE(str(in_off, " and ", out_off, " elements off, of\n", text));
        std::vector<std::unique_ptr<Buffer>> buffers;
        std::vector<DeviceAddress> inputs, outputs;
        auto place = [&](const Tensor& tensor, int64_t off, std::vector<DeviceAddress>& addresses) {
          const int64_t offset = off * size_bytes(tensor.dtype());
          buffers.push_back(placed(tensor, offset));
          addresses.push_back(buffers.back()->address() + static_cast<DeviceAddress>(offset));
        };
        for (const Tensor& tensor : given) place(tensor, in_off, inputs);
        for (const Tensor& tensor : expected)
          place(Tensor(tensor.dtype(), tensor.shape()), out_off, outputs);
        context.run(inputs, outputs);
        context.stream().synchronize();
        for (size_t i = 0; i < given.size(); ++i)
          expect_placed(*buffers[i], in_off * size_bytes(given[i].dtype()), given[i]);
        for (size_t i = 0; i < expected.size(); ++i)
          expect_placed(*buffers[given.size() + i], out_off * size_bytes(expected[i].dtype()),
                        expected[i]);
      }
  }

  std::unique_ptr<ir::Graph> graph;
};
TCC_ON_EVERY_DEVICE(UnalignedTest);

TEST_P(UnalignedTest, ResultsAreThoseOfAlignedValues) {
  check(
      "tcc: 1\ninputs: {x: {dtype: f32, shape: [96]}, y: {dtype: bf16, shape: [96]}}\n"
      "nodes: [{out: s, op: mul, in: [x, 0.5]}, {out: r, op: relu, in: [y]}]\noutputs: [r, s]\n",
      {0, 1, 2, 4, 7});
  check(
      "tcc: 1\ninputs: {x: {dtype: f32, shape: [12, 16]}, y: {dtype: f32, shape: [12, 16]}}\n"
      "nodes: [{out: s, op: add, in: [x, y]}, {out: r, op: softmax, in: [s], dim: -1}]\n"
      "outputs: [r, s]\n",
      {0, 1, 2, 4, 7});
  // Matrix kernels where there are some.
  for (const char* shape : {"[64, 64]", "[3, 2048]", "[67, 65]"})
    for (const char* dtype : {"bf16", "f32"}) {
      const std::string type = str("{dtype: ", dtype, ", shape: ", shape, "}");
      check("tcc: 1\ninputs: {x: " + type + ", w: " + type +
                "}\nnodes: [{out: y, op: linear, in: [x, w]}]\noutputs: [y]\n",
            {0, 1});
    }
  check(
      "tcc: 1\ninputs: {x: {dtype: u8, shape: [33]}}\n"
      "nodes: [{out: y, op: cast, in: [x], dtype: f64}]\noutputs: [y]\n",
      {1});
}

TEST_P(UnalignedTest, OnlyWhatIsAssumedIsCopied) {
  const auto vectors = compiled(
      "tcc: 1\ninputs: {x: {dtype: f32, shape: [64]}, z: {dtype: f32, shape: [0]}}\n"
      "nodes: [{out: y, op: relu, in: [x]}, {out: e, op: relu, in: [z]}]\noutputs: [y, e]\n");
  const OwnMemory none;
  Binding binding(*vectors, none);
  const exec::Executable& executable = vectors->executable();
  EXPECT_EQ(exec::assumed_alignments(executable).at(static_cast<size_t>(executable.inputs[0])), 16);
  const std::vector<DeviceAddress> aligned = {1024, 0}, off = {1024 + 4, 1}, torn = {1024 + 2, 0};
  EXPECT_EQ(binding.lacking(aligned, aligned), nullptr);
  EXPECT_EQ(binding.bind(aligned, aligned).size(), 1u);
  ASSERT_NE(binding.lacking(off, aligned), nullptr);
  EXPECT_EQ(binding.lacking(off, aligned)->name, "x");
  EXPECT_THROW(binding.bind(off, aligned), InternalError);
  EXPECT_THROW(binding.lacking(torn, aligned), Error);
  binding.reserve(off, aligned);
  EXPECT_EQ(binding.lacking(off, aligned), nullptr);
  EXPECT_EQ(binding.lacking(off, off)->name, "y");
  const auto launches = binding.bind(off, aligned);
  ASSERT_EQ(launches.size(), 2u);
  const auto& copy = std::get<BoundCopy>(launches[0]);
  EXPECT_EQ(copy.bytes, 256);
  EXPECT_EQ(copy.from, off[0]);
  EXPECT_EQ(std::get<BoundLaunch>(launches[1]).arguments[0], copy.to);
  EXPECT_EQ(binding.bind(aligned, aligned).size(), 1u);

  // Elements of eight bytes are read one by one.
  const auto scalars = compiled(
      "tcc: 1\ninputs: {x: {dtype: f64, shape: [64]}}\n"
      "nodes: [{out: y, op: relu, in: [x]}]\noutputs: [y]\n");
  const std::vector<DeviceAddress> one = {1024 + 8};
  EXPECT_EQ(Binding(*scalars, none).lacking(one, one), nullptr);
}

}  // namespace
}  // namespace tcc::runtime
