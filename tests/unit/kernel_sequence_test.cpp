// A template whose regions become two kernels with scratch memory between them: from its match to
// programs, files, dumps and measurements.
#include "scheduler/kernel_sequence.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <map>
#include <set>

#include "autotune/bench.h"
#include "backends/build_executable.h"
#include "backends/compile/process.h"
#include "backends/pipeline.h"
#include "executable/serialize.h"
#include "frontend/graph_file.h"
#include "scheduler/memory_plan.h"
#include "scheduler/template.h"
#include "scheduler/templates/common.h"
#include "tests/expect_error.h"
#include "tests/run_graph.h"
#include "tools/ops_check.h"

namespace tcc::sched {
namespace {

constexpr std::string_view kDevice = "the device of kernel_sequence_test";

// Sums of rows: kernels of one thread for each part of a row, then of one for each row. The second
// adds what a workspace of zeros holds, too.
class PartialSums : public Candidate {
 public:
  PartialSums(const Template& by, const Region& region, const Target& target)
      : Candidate(by, region, target) {}

  KernelSequence lower(const Config& config) const override {
    const ir::Value* x = region().inputs[0];
    const std::vector<int64_t> shape = ir::const_shape(*x);
    const int64_t rows = shape[0], cols = shape[1], parts = config["parts"];
    KernelSequence sequence;
    sequence.workspaces = {{"partials", DType::f32, rows * parts, false},
                           {"zeros", DType::f32, rows, true}};
    const auto kernel = [&](const char* name, int64_t threads, std::vector<Argument> arguments,
                            int64_t steps, const SymInt& beside) {
      Kernel made;
      made.name = name;
      made.arguments = std::move(arguments);
      made.grid = threads;
      const SymInt number = block_axis(threads), step = SymInt::axis("k", steps);
      const ir::Variable sum = ir::new_variable("sum", DType::f32);
      const auto add = [&](const Expr& value) {
        return assign(sum, ir::call(ir::Fn::add, {ir::read(sum), value}));
      };
      made.body = {declare(sum, zero_of(DType::f32)),
                   loop(step, {add(ir::load(0, DType::f32, number * steps + step))})};
      if (beside.is(1)) made.body.push_back(add(ir::load(1, DType::f32, number)));
      const int output = static_cast<int>(made.arguments.size()) - 1;
      made.body.push_back(store(output, number, ir::read(sum)));
      return made;
    };
    const auto argument = [](const SymInt& elements, bool written) {
      Argument made{DType::f32};
      made.elements = elements;
      made.access = written ? Argument::Access::write : Argument::Access::read;
      return made;
    };
    sequence.launches.push_back(
        {kernel("partial_sums", rows * parts,
                {argument(rows * cols, false), argument(rows * parts, true)}, cols / parts, 0),
         {0, 2}});
    sequence.launches.push_back(
        {kernel("sum_of_partials", rows,
                {argument(rows * parts, false), argument(rows, false), argument(rows, true)}, parts,
                1),
         {2, 3, 1}});
    return sequence;
  }

 private:
  ConfigSpace make_space() const override {
    ConfigSpace space;
    space.parameters = {{"parts", {2, 4}, "parts of a row"}};
    return space;
  }
  Config make_default_config() const override { return {{"parts", 4}}; }
  CostModel make_cost_model() const override {
    return [](const Config&) { return 1e-6; };
  }
};

class PartialSumsTemplate : public Template {
 public:
  std::string_view name() const override { return "partial_sums"; }
  int version() const override { return 1; }
  int specificity() const override { return 98; }
  Match match(const Region& region, const Target& target) const override {
    if (target.device != kDevice) return Refusal{"it is another device's", true};
    if (region.nodes.size() != 1 || region.nodes[0]->op_name() != "sum")
      return Refusal{"it is not a sum alone", true};
    return std::make_shared<const PartialSums>(*this, region, target);
  }
};

const RegisterTemplate<PartialSumsTemplate> registered;

ir::Graph sums() {
  return parse_yaml_graph(
      "tcc: 1\nname: g\ninputs: {x: {dtype: f32, shape: [6, 64]}}\nnodes:\n"
      "  - {out: a, op: sum, in: [x], dim: [1]}\n"
      "  - {out: y, op: cumsum, in: [x], dim: 1}\n"
      "  - {out: b, op: sum, in: [y], dim: [1]}\n"
      "  - {out: z, op: add, in: [a, b]}\noutputs: [z]\n",
      "g.yaml", ".");
}

Target here(Target target) {
  target.device = kDevice;
  return target;
}

backends::CompileOptions unfused() {
  backends::CompileOptions options;
  options.fuse = false;
  return options;
}

// The region of `a`.
const ScheduledRegion& first_sum(const backends::Scheduled& scheduled) {
  for (const ScheduledRegion& region : scheduled.regions)
    if (region.candidate().kernel_template().name() == "partial_sums") return region;
  throw InternalError("no region of partial_sums");
}

TEST(KernelSequences, BecomeStepsWithWorkspacesInTheArena) {
  backends::CompileOptions options = unfused();
  options.binaries = false;
  std::map<std::string, std::string, std::less<>> texts;
  options.dump = [&](std::string_view stage, const std::string& text) {
    texts[std::string(stage)] = text;
  };
  const exec::Executable e = backends::compile(sums(), here(target_by_name("vulkan")), options);
  // Two sums, which share their kernels; cumsum and add.
  ASSERT_EQ(e.kernels.size(), 4u);
  EXPECT_EQ(exec::launches(e).size(), 6u);
  ASSERT_EQ(e.steps.size(), 7u);
  std::map<std::string, int> parts;
  for (const exec::KernelBinary& kernel : e.kernels) {
    EXPECT_LE(kernel.part, kernel.parts);
    parts[kernel.template_name] += kernel.part;
  }
  EXPECT_EQ(parts.at("partial_sums"), 1 + 2);
  // One fill serves the zeros of both.
  const auto& fill = std::get<exec::Fill>(e.steps.at(0));
  EXPECT_EQ(fill.value, 0);
  const auto begin_of = [&](const exec::Address& at) {
    const exec::BufferInfo& buffer = e.buffers.at(static_cast<size_t>(at.buffer));
    EXPECT_EQ(buffer.kind, exec::BufferInfo::Kind::workspace);
    EXPECT_EQ(buffer.name, "zeros");
    return buffer.offset.value();
  };
  const int64_t begin = begin_of(fill.to), end = begin + fill.bytes.value();
  std::set<int64_t> places;
  for (const exec::Step& step : e.steps) {
    const auto* launch = std::get_if<exec::KernelLaunch>(&step);
    if (!launch || e.kernels.at(static_cast<size_t>(launch->kernel)).part != 2) continue;
    const auto& zeros = std::get<exec::Address>(launch->arguments.at(1));
    EXPECT_EQ(e.buffers.at(static_cast<size_t>(zeros.buffer)).bytes, SymInt(6 * 4));
    const int64_t place = begin_of(zeros);
    EXPECT_TRUE(place >= begin && place + 6 * 4 <= end) << place;
    places.insert(place);
  }
  EXPECT_EQ(places.size(), 2u);
  EXPECT_NO_THROW(exec::check(e));
  // 6 x 4 partial sums of 4 bytes and 6 zeros, each in a piece of the arena of its own.
  EXPECT_NE(texts.at("lower").find("workspace partials: f32[24]\nworkspace zeros: f32[6] of zeros\n"
                                   "on buffers 0 2:\n"),
            std::string::npos)
      << texts.at("lower");
  EXPECT_NE(texts.at("check-limits").find("sum_of_partials"), std::string::npos);
  size_t entries = 0;
  for (size_t at = 0; (at = texts.at("emit").find("void main()", at)) != std::string::npos; ++at)
    ++entries;
  EXPECT_EQ(entries, 4u);
  EXPECT_NE(texts.at("plan").find(" zeros, a workspace\n"), std::string::npos) << texts.at("plan");
}

TEST(KernelSequences, WorkspacesLiveWithTheirRegion) {
  const ir::Graph graph = sums();
  const backends::Scheduled scheduled =
      backends::schedule(graph, here(target_by_name("vulkan")), unfused());
  std::vector<const Region*> order;
  const std::vector<Workspace> none,
      some = {{"large", DType::f32, 1000, false}, {"small", DType::u8, 3, true}};
  std::vector<const std::vector<Workspace>*> workspaces;
  for (const ScheduledRegion& region : scheduled.regions) {
    order.push_back(&region.region());
    workspaces.push_back(workspaces.size() == 1 ? &some : &none);
  }
  std::vector<Lifetime> all = lifetimes(*scheduled.graph, order, workspaces);
  EXPECT_EQ(all.size(), lifetimes(*scheduled.graph, order).size() + 2);
  plan_arena(all);
  int found = 0;
  for (const Lifetime& one : all) {
    if (one.value) continue;
    ++found;
    EXPECT_EQ(std::pair(one.first, one.last), std::pair(1, 1));
    EXPECT_EQ(one.bytes, one.workspace == 0 ? 4096 : 256);
    for (const Lifetime& other : all) {
      if (&other == &one || other.first > 1 || other.last < 1) continue;
      EXPECT_TRUE(one.offset + one.bytes <= other.offset ||
                  other.offset + other.bytes <= one.offset);
    }
  }
  EXPECT_EQ(found, 2);
}

TEST(KernelSequences, TooLargeWorkspacesAreRefused) {
  Target small = here(target_by_name("vulkan"));
  small.max_buffer_bytes = 1536;  // an input of 6 x 64, and no arena with a workspace
  EXPECT_ERROR_KIND(backends::compile(sums(), small, unfused()), ErrorKind::device,
                    "the arena of intermediate values");
}

TEST(KernelSequences, AreVerified) {
  const ir::Graph graph = sums();
  const backends::Scheduled scheduled =
      backends::schedule(graph, here(target_by_name("vulkan")), unfused());
  const Candidate& candidate = first_sum(scheduled).candidate();
  const Region& region = candidate.region();
  const KernelSequence good = candidate.lower(candidate.default_config());
  EXPECT_NO_THROW(verify(good, region));
  const auto refused = [&](const auto& change, const char* reason) {
    KernelSequence changed = good;
    change(changed);
    try {
      verify(changed, region);
      ADD_FAILURE() << "no error: " << reason;
    } catch (const InternalError& error) {
      EXPECT_NE(std::string(error.what()).find(reason), std::string::npos) << error.what();
    }
  };
  refused([](auto& s) { s.launches.clear(); }, "became no kernel");
  refused([](auto& s) { s.launches[0].buffers.pop_back(); }, "1 buffers for 2 arguments");
  refused([](auto& s) { s.launches[0].buffers[0] = 4; }, "argument 0 is buffer 4 of 4");
  refused([](auto& s) { s.launches[0].buffers[0] = -1; }, "argument 0 is buffer");
  refused([](auto& s) { s.launches[0].buffers[1] = 0; }, "argument 1 writes an input");
  refused([](auto& s) { s.workspaces[0].dtype = DType::f16; }, "is f32, and buffer 2 f16");
  refused([](auto& s) { s.workspaces[0].elements = 23; }, "has 24 elements, and buffer 2 23");
  refused([](auto& s) { s.workspaces[1].zeroed = false; },
          "argument 1 reads buffer 3, which nothing has written");
  refused([](auto& s) { std::swap(s.launches[0], s.launches[1]); },
          "argument 0 reads buffer 2, which nothing has written");
  refused([](auto& s) { s.launches.pop_back(); }, "no kernel writes a");
}

// After a kernel has written an output in the place of an input, the input is gone.
TEST(KernelSequences, ReadWhatTheyUpdateBeforeItIsWritten) {
  const ir::Graph graph = sums();
  const backends::Scheduled scheduled =
      backends::schedule(graph, here(target_by_name("vulkan")), unfused());
  Region region = scheduled.regions.back().region();  // z = a + b
  ASSERT_EQ(region.inputs.size(), 2u);
  region.in_place[region.outputs.at(0)] = region.inputs[0];
  const auto launch = [](std::vector<std::pair<int, Argument::Access>> arguments) {
    KernelSequence::Launch made;
    made.kernel.name = "one";
    for (const auto& [buffer, access] : arguments) {
      Argument argument{DType::f32};
      argument.access = access;
      argument.elements = 6;
      made.kernel.arguments.push_back(argument);
      made.buffers.push_back(buffer);
    }
    return made;
  };
  using enum Argument::Access;
  const auto sequence = [&](std::vector<KernelSequence::Launch> launches) {
    KernelSequence made;
    made.launches = std::move(launches);
    made.workspaces = {{"sums", DType::f32, 6, false}};
    return made;
  };
  EXPECT_NO_THROW(verify(sequence({launch({{0, read_write}, {1, read}})}), region));
  EXPECT_NO_THROW(verify(
      sequence({launch({{0, read}, {1, read}, {2, write}}), launch({{2, read}, {0, write}})}),
      region));
  for (const auto access : {read, read_write})
    for (const auto before : {write, read_write}) try {
        verify(sequence({launch({{1, read}, {0, before}}), launch({{0, access}, {2, write}})}),
               region);
        ADD_FAILURE() << "the second kernel reads what the first has written";
      } catch (const InternalError& error) {
        EXPECT_NE(std::string(error.what()).find("has written in place"), std::string::npos)
            << error.what();
      }
}

TEST(KernelSequences, DeviceSourcesUpdateWorkspacesAlone) {
  const ir::Graph graph = sums();
  const backends::Scheduled scheduled =
      backends::schedule(graph, here(target_by_name("vulkan")), unfused());
  const Region& region = scheduled.regions.back().region();  // z = a + b
  using enum Argument::Access;
  const auto sequence = [&](Argument::Access output, Argument::Access workspace, int times) {
    KernelSequence made;
    made.workspaces = {{"sums", DType::f32, 6, true}};
    KernelSequence::Launch launch;
    launch.kernel.name = "one";
    launch.kernel.source = "recurrent";
    launch.kernel.numbered = times != 2;
    launch.times = times;
    for (const Argument::Access access : {read, read, output, workspace}) {
      Argument argument{DType::f32};
      argument.access = access;
      argument.elements = 6;
      launch.buffers.push_back(static_cast<int>(launch.kernel.arguments.size()));
      launch.kernel.arguments.push_back(argument);
    }
    made.launches = {launch};
    return made;
  };
  EXPECT_NO_THROW(verify(sequence(write, read_write, 3), region));
  EXPECT_NE(to_string(sequence(write, read_write, 3)).find("3 times on buffers 0 1 2 3"),
            std::string::npos);
  EXPECT_THROW(verify(sequence(write, read_write, 2), region), InternalError) << "no number";
  EXPECT_THROW(verify(sequence(write, read_write, 0), region), InternalError);
  EXPECT_THROW(verify(sequence(read_write, read_write, 3), region), InternalError) << "an output";
}

class KernelSequencesOnADevice : public ::testing::Test {
 protected:
  void SetUp() override {
    if (test::devices_present(test::Devices::software).empty())
      GTEST_SKIP() << "there is no software device";
    device_ = test::open_once(test::devices_present(test::Devices::software).front());
    target_ = here(device_->target());
    scheduled_ = backends::schedule(graph_, target_, unfused());
  }
  std::shared_ptr<runtime::Device> device_;
  Target target_;
  const ir::Graph graph_ = sums();
  backends::Scheduled scheduled_;
};

TEST_F(KernelSequencesOnADevice, AreRight) {
  const exec::Executable executable = backends::build_executable(scheduled_, target_, unfused());
  const auto program = std::make_shared<const runtime::Program>(device_, executable);
  const std::vector<Tensor> inputs = test::draw_inputs(*scheduled_.graph, {});
  // Every value of every region, the regions of two kernels among them.
  const tools::OpsCheck checked = tools::check_ops(scheduled_, program, inputs, false, nullptr);
  EXPECT_EQ(checked.values, 4u);
  EXPECT_EQ(checked.differ, 0u);

  // The workspaces that a run leaves change no other run, and a file has them.
  const backends::TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "sums.tcce";
  exec::save_executable(executable, file);
  const auto read = std::make_shared<const runtime::Program>(device_, exec::load_executable(file));
  runtime::Context context(program), other(read);
  const Tensor first = context.run(inputs).at(0);
  for (runtime::Context* again : {&context, &other}) {
    const Tensor result = again->run(inputs).at(0);
    ASSERT_EQ(result.bytes(), first.bytes());
    EXPECT_EQ(std::memcmp(result.data(), first.data(), first.bytes()), 0);
  }
}

// `tcc-tune why` prints it.
TEST(KernelSequences, AreSummedUp) {
  const ir::Graph graph = sums();
  const backends::Scheduled scheduled =
      backends::schedule(graph, here(target_by_name("vulkan")), unfused());
  for (const ScheduledRegion& region : scheduled.regions) {
    const Candidate& candidate = region.candidate();
    const bool is_ours = candidate.kernel_template().name() == "partial_sums";
    EXPECT_EQ(summary(candidate.lower(candidate.default_config())),
              is_ours ? "2 kernels with f32[24] partials, f32[6] zeros" : "");
  }
}

// All launches of one config are timed together, on scratch memory that is watched.
TEST_F(KernelSequencesOnADevice, AreMeasuredTogether) {
  const Candidate& candidate = first_sum(scheduled_).candidate();
  const auto bench = autotune::local_bench(device_, autotune::bench_job(candidate.region(), 7));
  const exec::StandaloneSequence good =
      backends::compile_region(candidate, candidate.default_config());
  ASSERT_EQ(good.launches.size(), 2u);
  using Status = autotune::Measurement::Status;
  const autotune::Measurement two = bench->baseline(good);
  ASSERT_EQ(two.status, Status::measured) << two.reason;
  const auto measured = [&](const exec::StandaloneSequence& sequence) {
    return bench->measure(sequence, autotune::Effort::quick, 1e9);
  };
  EXPECT_EQ(measured(backends::compile_region(candidate, {{"parts", 2}})).status, Status::measured);

  exec::StandaloneSequence many = good;
  for (int i = 0; i < 30; ++i) many.launches.push_back(good.launches[1]);
  const autotune::Measurement longer = measured(many);
  ASSERT_EQ(longer.status, Status::measured) << longer.reason;
  EXPECT_GT(longer.seconds, 2 * two.seconds);

  exec::StandaloneSequence small = good;
  small.workspaces[0].elements = 20;
  EXPECT_EQ(measured(small).reason, "wrote outside workspace 0");
  // A workspace holds poison, unless it is to hold zeros.
  exec::StandaloneSequence dirty = good;
  dirty.workspaces[1].zeroed = false;
  EXPECT_EQ(measured(dirty).status, Status::wrong);
  dirty = good;
  dirty.launches.erase(dirty.launches.begin());
  EXPECT_EQ(measured(dirty).status, Status::wrong);
}

}  // namespace
}  // namespace tcc::sched
