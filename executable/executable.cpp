#include "executable/executable.h"

#include <algorithm>
#include <numeric>

#include "support/error.h"

namespace tcc::exec {

std::vector<const KernelLaunch*> launches(const Executable& executable) {
  std::vector<const KernelLaunch*> result;
  for (const Step& step : executable.steps)
    if (const auto* launch = std::get_if<KernelLaunch>(&step)) result.push_back(launch);
  return result;
}

namespace {

std::vector<int> usual_choices(const Executable& executable) {
  std::vector<int> result;
  for (const SizeTable& table : executable.tables) result.push_back(table.choices() - 1);
  return result;
}

}  // namespace

std::vector<const KernelLaunch*> usual_launches(const Executable& executable) {
  const std::vector<int> usual = usual_choices(executable);
  std::vector<const KernelLaunch*> result;
  for (const Step& step : executable.steps)
    if (const auto* launch = std::get_if<KernelLaunch>(&step); launch && runs(step, usual))
      result.push_back(launch);
  return result;
}

std::vector<int> usual_counts(const Executable& executable) {
  const std::vector<int> usual = usual_choices(executable);
  std::vector<int> counts;
  for (const Step& step : executable.steps) {
    const auto* launch = std::get_if<KernelLaunch>(&step);
    counts.push_back(!runs(step, usual) ? 0 : launch ? static_cast<int>(launch->times.usual()) : 1);
  }
  return counts;
}

int64_t count_usual_launches(const Executable& executable) {
  int64_t count = 0;
  for (const KernelLaunch* launch : usual_launches(executable)) count += launch->times.usual();
  return count;
}

std::vector<int> choices(const Executable& executable, const Sizes& sizes) {
  std::vector<int> result;
  for (const SizeTable& table : executable.tables) result.push_back(table.choice(sizes));
  return result;
}

bool runs(const Step& step, std::span<const int> choices) {
  return std::visit(
      [&](const auto& one) {
        if constexpr (requires { one.chosen; })
          return one.chosen.table < 0 ||
                 choices[static_cast<size_t>(one.chosen.table)] == one.chosen.choice;
        else
          return true;
      },
      step);
}

std::vector<const ReadSize*> size_reads(const Executable& executable) {
  std::vector<const ReadSize*> reads;
  for (const Step& step : executable.steps)
    if (const auto* read = std::get_if<ReadSize>(&step)) reads.push_back(read);
  return reads;
}

std::vector<int> state_buffers(const Executable& executable) {
  std::vector<int> buffers;
  for (const StateInfo& state : executable.states) buffers.push_back(state.buffer);
  return buffers;
}

StandaloneKernel standalone(const Executable& executable, size_t i) {
  const KernelLaunch& launch = *launches(executable).at(i);
  StandaloneKernel kernel;
  static_cast<KernelBinary&>(kernel) = executable.kernels[static_cast<size_t>(launch.kernel)];
  kernel.grid = launch.grid;
  kernel.maps = launch.maps;
  kernel.loop_iterations = launch.loop_iterations;
  for (const Argument& argument : launch.arguments) {
    if (const auto* scalar = std::get_if<Scalar>(&argument)) kernel.scalars.push_back(*scalar);
    if (const auto* address = std::get_if<Address>(&argument))
      TCC_CHECK(address->offset.is(0), "a place within a buffer");
  }
  return kernel;
}

SymInt Workspace::bytes() const {
  constexpr int64_t kWord = 4;
  return ir::ceildiv(elements * size_bytes(dtype), kWord) * kWord;
}

StandaloneSequence::StandaloneSequence(StandaloneKernel kernel)
    : arguments(kernel.num_arguments - static_cast<int>(kernel.scalars.size())) {
  std::vector<int> buffers(static_cast<size_t>(std::max(arguments, 0)));
  std::iota(buffers.begin(), buffers.end(), 0);
  launches.push_back({std::move(kernel), std::move(buffers)});
}

std::vector<int> owners(const Executable& executable) {
  std::vector<int> owners;
  for (const BufferInfo& buffer : executable.buffers)
    owners.push_back(buffer.alias < 0 ? static_cast<int>(owners.size())
                                      : owners[static_cast<size_t>(buffer.alias)]);
  return owners;
}

int alignment(const KernelBinary& kernel, size_t i) {
  constexpr int kUnknown = 16;
  return i < kernel.alignments.size() ? kernel.alignments[i] : kUnknown;
}

std::vector<int> assumed_alignments(const Executable& executable) {
  const std::vector<int> owner = owners(executable);
  std::vector<int> most(owner.size(), 1);
  for (const KernelLaunch* launch : launches(executable)) {
    const KernelBinary& kernel = executable.kernels[static_cast<size_t>(launch->kernel)];
    for (size_t i = 0; i < launch->arguments.size(); ++i)
      if (const auto* address = std::get_if<Address>(&launch->arguments[i])) {
        int& assumed = most[static_cast<size_t>(owner[static_cast<size_t>(address->buffer)])];
        assumed = std::max(assumed, alignment(kernel, i));
      }
  }
  return most;
}

}  // namespace tcc::exec
