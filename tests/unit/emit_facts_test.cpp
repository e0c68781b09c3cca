// The needs of a kernel's text, of its language and of the device math library, come from the
// kernel IR; the printer checks that the text goes no further.
#include <gtest/gtest.h>

#include <filesystem>

#include "backends/emit/emit.h"
#include "backends/emit/library.h"
#include "backends/pipeline.h"
#include "frontend/graph_file.h"
#include "scheduler/kernel_parse.h"
#include "scheduler/legalize.h"
#include "tests/expect_error.h"

namespace tcc::backends {
namespace {

using sched::Kernel;

// Nothing is asked for that the text does not call, on any target: `functions` is exact where all
// of the text is printed.
TEST(EmitFacts, AreThoseOfTheText) {
  int kernels = 0;
  std::set<std::string> seen;
  for (const auto& entry : std::filesystem::directory_iterator(TCC_SOURCE_DIR "/bench/cases"))
    for (const char* name : {"cuda:sm_90a", "vulkan", "vulkan:lavapipe"})
      for (const DType dtype : {DType::f32, DType::bf16}) {
        CompileOptions options;
        options.dtype = dtype;
        const sched::Target target = sched::target_by_name(name);
        const Scheduled scheduled = schedule(load_graph(entry.path()), target, options);
        for (const sched::ScheduledRegion& region : scheduled.regions) {
          const sched::KernelSequence sequence =
              region.candidate().lower(region.candidate().default_config());
          for (const sched::KernelSequence::Launch& launch : sequence.launches) {
            const Kernel kernel = sched::legalize(launch.kernel, target);
            if (!kernel.is_generated()) continue;
            ++kernels;
            const std::string text = emit(kernel, target, {.library = false}).source;
            for (const std::string& called : facts_of_text(text).functions) {
              EXPECT_TRUE(kernel.requirements.functions.contains(called)) << called << "\n" << text;
              seen.insert(called);
            }
            for (const std::string& required : kernel.requirements.functions)
              EXPECT_NE(text.find("tcc_" + required), text.npos)
                  << entry.path() << " on " << name << ": " << required << "\n"
                  << text;
          }
        }
      }
  EXPECT_GT(kernels, 50);
  EXPECT_TRUE(seen.contains("exp_f32") && seen.contains("pack_bf16"));
}

Kernel legal(const std::string& text, const sched::Target& target) {
  return sched::legalize(sched::parse_kernel(text), target);
}

TEST(EmitFacts, ArePrintedFromRequirements) {
  const sched::Target target = sched::target_by_name("vulkan:lavapipe");
  Kernel kernel = legal(
      "kernel k grid 1 workgroup 32\n  b0: in f16[64]\n  b1: out f32[64]\n"
      "  b1[thread] = exp(load(b0, thread))\n",
      target);
  const std::string text = emit(kernel, target).source;
  EXPECT_NE(text.find("tcc_exp_f32(f32"), text.npos);
  EXPECT_NE(text.find("GL_EXT_shader_16bit_storage"), text.npos);
  EXPECT_EQ(text.find("GL_EXT_shader_8bit_storage"), text.npos);
  EXPECT_EQ(text.find("tcc_log_f32"), text.npos);

  kernel.requirements.functions.insert("log_f32");
  EXPECT_NE(emit(kernel, target).source.find("tcc_log_f32"), std::string::npos);
  kernel.requirements.functions.erase("exp_f32");
  EXPECT_ERROR_KIND(emit(kernel, target), ErrorKind::internal,
                    "the text calls exp_f32, which the kernel does not require");
  kernel.requirements.functions.insert("exp_f32");
  kernel.requirements.extensions.clear();
  EXPECT_ERROR_KIND(emit(kernel, target), ErrorKind::internal,
                    "the text needs 'storage16', which the kernel does not require");
}

TEST(EmitFacts, OfSectionsComeFromTheirText) {
  EXPECT_EQ(library_sections({}).text, "");
  EXPECT_FALSE(library_sections({"exp_f32"}).int64);
  EXPECT_TRUE(library_sections({"shl_i64"}).int64);
  EXPECT_TRUE(library_sections({"f32_to_i64"}).int64);
  const TextFacts facts = facts_of_text("x = tcc_exp_f32(tcc_f32_bits(y)) + my_tcc_log_f32(u64x);");
  EXPECT_EQ(facts.functions, std::set<std::string>{"exp_f32"});
  EXPECT_FALSE(facts.int64);
  EXPECT_TRUE(facts_of_text("(u64)x").int64);
}

}  // namespace
}  // namespace tcc::backends
