// Loads of kind im2col, on a GPU that has them, by the maps that templates make of a convolution's
// region, against what exec::Im2col says that they bring.
#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

#include "backends/compile/nvrtc.h"
#include "frontend/graph_file.h"
#include "runtime/device.h"
#include "scheduler/templates/conv_view.h"
#include "tests/cuda_parts.h"
#include "tests/im2col_cases.h"

namespace tcc::runtime {
namespace {

using Case = test::Im2colCase;
using test::kLoadChannels;

// Workgroup (first pixel, tap, channels): the pixels' places are counted over rows and images.
const char* const kSource = R"(
#include "sm90_im2col.cuh"
extern __shared__ __align__(1024) u8 memory[];
extern "C" __global__ void k(f32* out, const i32* parameters, const f32*, const __grid_constant__ TensorMap map) {
  const i32 lines = parameters[0], columns = parameters[1], rows = parameters[2], stride = parameters[3];
  const i32 padding = parameters[4], taps_x = parameters[5], taps_y = parameters[6], dilation = parameters[7];
  const i32 parts = parameters[8], block = i32(blockIdx.x);
  const u32 to = tcc_cuda_shared(memory), barrier = to + u32(lines) * 32;
  const i32 part = block % parts, tap = block / parts % (taps_x * taps_y), first = block / parts / (taps_x * taps_y) * lines;
  if (threadIdx.x == 0) {
    barrier_init(barrier, 1);
    barrier_init_done();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    const i32 pixel[2] = {first % columns * stride - padding, first / columns % rows * stride - padding};
    const u16 offsets[2] = {u16(tap % taps_x * dilation), u16(tap / taps_x * dilation)};
    barrier_arrive_expect(barrier, u32(lines) * 32);
    tma_load_im2col<2, false>(to, map, barrier, 0, part * 8, pixel, first / columns / rows, offsets);
  }
  barrier_wait(barrier, 0);
  const f32* loaded = (const f32*)memory;
  for (i32 i = i32(threadIdx.x); i < lines * 8; i += i32(blockDim.x)) out[block * lines * 8 + i] = loaded[i];
}
)";

class Im2colTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const DeviceList list = device_kind("cuda").list();
    if (list.devices.empty()) GTEST_SKIP() << list.missing.front();
    if (const std::string why = backends::nvrtc_missing(); !why.empty()) GTEST_SKIP() << why;
    device_ = open_device("cuda:0");
    if (device_->target().arch != "sm_90a") GTEST_SKIP() << "for sm_90a";
  }

  std::vector<float> loaded(const Case& c, const std::vector<float>& image, int blocks, int parts) {
    exec::StandaloneKernel binary;
    binary.entry = "k";
    binary.source = test::parts_source(kSource);
    binary.code = test::compile_parts(kSource, device_->target().arch);
    binary.workgroup = 32;
    binary.shared_bytes = c.lines * kLoadChannels * 4 + 64;
    binary.num_arguments = 3;
    binary.num_maps = 1;
    binary.alignments = {16, 16, 16};
    const auto stream = device_->create_stream();
    const std::vector<int> parameters = {c.lines,  c.columns(), c.rows(),   c.stride, c.padding,
                                         c.taps_x, c.taps_y,    c.dilation, parts};
    const auto upload = [&](const auto& values) {
      const auto bytes = std::as_bytes(std::span(values));
      auto buffer = device_->allocate(std::ssize(bytes));
      stream->copy_to_device(*buffer, 0, bytes);
      return buffer;
    };
    std::vector<float> result(static_cast<size_t>(blocks * c.lines * kLoadChannels), -1);
    const auto out = upload(result), numbers = upload(parameters), x = upload(image);
    const auto kernel = device_->load(binary);
    BoundLaunch launch;
    launch.kernel = kernel.get();
    launch.grid = {static_cast<uint32_t>(blocks), 1, 1};
    launch.arguments = {out->address(), numbers->address(), x->address()};
    launch.maps = {exec::Sizes().of(test::im2col_map_of(c))};
    launch.maps[0].argument = 2;
    const BoundStep step = launch;
    stream->run({&step, 1});
    stream->synchronize();
    stream->copy_to_host(std::as_writable_bytes(std::span(result)), *out, 0);
    return result;
  }

  std::shared_ptr<Device> device_;
};

// Padded, strided, dilated windows: every tap of every pixel, channel by channel, zeros outside.
TEST_F(Im2colTest, LoadsBringWhatAConvolutionReads) {
  for (const Case& c : test::kIm2colCases) {
    std::vector<float> image(static_cast<size_t>(c.images * c.height * c.width * c.channels));
    for (size_t i = 0; i < image.size(); ++i) image[i] = static_cast<float>(i + 1);
    const int columns = c.columns(), rows = c.rows();
    const int pixels = c.images * rows * columns, taps = c.taps_x * c.taps_y;
    const int loads = (pixels + c.lines - 1) / c.lines, parts = c.channels / kLoadChannels;
    const std::vector<float> got = loaded(c, image, loads * taps * parts, parts);
    int zeros = 0;
    for (int load = 0; load < loads; ++load)
      for (int tap = 0; tap < taps; ++tap)
        for (int part = 0; part < parts; ++part)
          for (int line = 0; line < c.lines; ++line) {
            const int pixel = load * c.lines + line;
            if (pixel >= pixels) continue;  // beyond the last image: not looked at
            const int x = pixel % columns * c.stride - c.padding + tap % c.taps_x * c.dilation;
            const int y =
                pixel / columns % rows * c.stride - c.padding + tap / c.taps_x * c.dilation;
            const int n = pixel / columns / rows;
            const bool inside = x >= 0 && x < c.width && y >= 0 && y < c.height;
            zeros += !inside;
            for (int channel = 0; channel < kLoadChannels; ++channel) {
              const int at =
                  ((n * c.height + y) * c.width + x) * c.channels + part * kLoadChannels + channel;
              const float expected = inside ? image[static_cast<size_t>(at)] : 0;
              const int place =
                  (((load * taps + tap) * parts + part) * c.lines + line) * kLoadChannels + channel;
              ASSERT_EQ(got[static_cast<size_t>(place)], expected)
                  << "images " << c.images << ", taps " << c.taps_y << " x " << c.taps_x
                  << ", pixel " << pixel << ", tap " << tap << ", channel " << channel;
            }
          }
    if (c.padding > 0) { EXPECT_GT(zeros, 0); }
  }
}

}  // namespace
}  // namespace tcc::runtime
