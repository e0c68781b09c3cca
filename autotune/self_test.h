// Runs kernels of every matrix unit, feature and template that a device has on inputs that bring
// faults to light, compares them with the reference, and finds what to switch off where they
// differ. docs/self-test.md describes it.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backends/compile/kernel_cache.h"
#include "executable/quirks.h"
#include "ir/graph.h"
#include "runtime/device.h"

namespace tcc::autotune {

// How the inputs of a sample are drawn.
enum class SampleValues : uint8_t {
  usual,     // floats of [-1, 1), integers of the input's range
  positive,  // floats of [0.1, 4)
  special,   // NaN, infinities and zeros of both signs among usual ones
  tiny,      // subnormals among usual ones
  extreme    // the ends of the range of integers; large floats whose sums stay finite
};

struct SelfTestSample {
  std::string name;  // "matmul f16 of 65 x 33 x 67"
  std::string text;  // the graph, YAML
  SampleValues values = SampleValues::usual;
  int64_t elements_off = 0;  // buffers begin so many elements after an aligned address
  bool tf32 = false;         // units may read f32 as tf32
  std::string unit = {};     // the only matrix unit of the target, as to_string() has it
  std::string feature = {};  // the feature that the sample's types need
};

// The samples for a target, those of matrix units first.
std::vector<SelfTestSample> self_test_samples(const exec::Target& target);
// The inputs of a sample's graph.
std::vector<Tensor> draw_inputs(const ir::Graph& graph, const SelfTestSample& sample,
                                uint64_t seed);
// Graphs that take a device some time, to find what is much slower than it should be.
std::vector<SelfTestSample> self_test_timed_samples(const exec::Target& target);

struct SelfTestEvent {
  enum class Kind : uint8_t {
    step,  // something that may take time begins: compiling, a reference
    // The driver compiles a kernel, which `text` identifies; `quirk` is what is at fault if that
    // ends the process and nothing narrower is found.
    loading,
    running,   // the kernel runs for the first time; the same if it never ends
    passed,    // the sample has the right results
    found,     // it has not, and `quirk` is switched off from now on
    slow,      // much slower than expected; `quirk` is switched off where it has a part
    unneeded,  // no kernel of the target computes the sample: a type or unit that nothing uses
    untested,  // there was no time for it
    tested,    // every sample was tested by the kernels that programs would use, or is untested
    lost,      // the device is lost: the test ends
    done
  };
  Kind kind = Kind::step;
  std::string sample;
  std::string text;  // for people
  exec::Quirk quirk = {};
};
std::string_view name(SelfTestEvent::Kind kind);

// A kernel of a sample that ended an earlier process or ran without an end: it is not run again,
// and counts as wrong for that reason.
struct SelfTestCrash {
  std::string kernel;  // the text of its events `loading` and `running`
  std::string reason;
};

struct SelfTestOptions {
  std::chrono::steady_clock::time_point deadline;  // nothing begins after it
  std::vector<exec::Quirk> known;  // what is switched off from the beginning, found before
  std::vector<SelfTestCrash> crashes;
  std::vector<std::string> skip;  // samples that were tested before
  std::string filter = {};        // samples whose names contain it
  uint64_t seed = 1;
  bool timing = true;  // look for kernels that are much slower than others
  backends::KernelCache* cache = nullptr;
  std::function<void(const SelfTestEvent&)> tell;
};

// Tests the device with all that it has: quirks other than `known` do not count, so that the
// device must have been opened without any (exec::use_quirks). Quirks that it finds are of this
// driver's very version.
void self_test(const std::shared_ptr<runtime::Device>& device, const SelfTestOptions& options);

// A quirk of the target's device and of its driver's version, without a part.
exec::Quirk quirk_of(const exec::Target& target);

}  // namespace tcc::autotune
