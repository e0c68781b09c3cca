#include "runtime/cuda/kernel.h"

#include <algorithm>
#include <cstring>

#include "runtime/cuda/image.h"
#include "runtime/cuda/tensor_map.h"
#include "runtime/device_checks.h"
#include "support/error.h"

namespace tcc::runtime::cuda {
namespace {

constexpr int kMaxArguments = 512;  // 4096 bytes of parameters
constexpr int kMaxMaps = 8;
constexpr int64_t kSharedWithoutAsking = 48 << 10;

std::array<uint32_t, 3> block_of(const exec::KernelBinary& binary) {
  if (binary.block[0] != 0) return binary.block;
  return {static_cast<uint32_t>(std::max(binary.workgroup, 0)), 1, 1};
}

}  // namespace

void check_kernel(const std::string& device, const exec::Target& target,
                  const exec::KernelBinary& binary) {
  const auto refuse = [&](const auto&... reason) {
    fail_device(device, ": kernel ", label_of(binary), ": ", reason...);
  };
  const std::array<uint32_t, 3> block = block_of(binary);
  if (binary.workgroup < 1 || binary.workgroup > target.max_workgroup_size)
    refuse("a workgroup of ", binary.workgroup, "; the device allows ", target.max_workgroup_size);
  if (uint64_t{block[0]} * block[1] * block[2] != static_cast<uint64_t>(binary.workgroup))
    refuse("a workgroup of ", binary.workgroup, " threads as ", block[0], " x ", block[1], " x ",
           block[2]);
  exec::check_units(binary, target);
  exec::check_cooperation(binary, target);
  if (binary.num_arguments < 0 || binary.num_arguments > kMaxArguments)
    refuse(binary.num_arguments, " arguments; CUDA allows ", kMaxArguments);
  if (binary.num_maps < 0 || binary.num_maps > kMaxMaps) refuse(binary.num_maps, " tensor maps");
  if (binary.shared_bytes < 0 || binary.shared_bytes > target.shared_bytes)
    refuse(binary.shared_bytes, " bytes of shared memory; the device allows ", target.shared_bytes);
  if (binary.subgroup_size != 0 && binary.subgroup_size != target.subgroup_size)
    refuse("needs subgroups of ", binary.subgroup_size, "; the device has ", target.subgroup_size);
  if (kind_of_image(binary.code) == Image::damaged)
    refuse("its ", binary.code.size(), " bytes of code are neither a whole cubin nor PTX");
}

Function::Function(std::shared_ptr<const Context> context, const exec::Target& target,
                   const exec::KernelBinary& binary)
    : context_(std::move(context)),
      label_(label_of(binary)),
      max_grid_(target.max_grid),
      block_(block_of(binary)),
      workgroup_(binary.workgroup),
      num_arguments_(binary.num_arguments),
      num_maps_(binary.num_maps),
      shared_bytes_(binary.shared_bytes),
      overlaps_(binary.waits && target.overlapping_launches && !binary.cooperative),
      cooperative_(binary.cooperative),
      units_(target.compute_units) {
  check_kernel(context_->name(), target, binary);
  const ContextScope scope(*context_);
  const CaptureTolerantScope tolerant(*context_);
  load(target, binary);
  try {
    find_entry(target, binary);
  } catch (...) {
    context_->api().cuModuleUnload(module_);
    throw;
  }
}

Function::~Function() {
  const ContextScope scope(*context_, std::nothrow);
  const CaptureTolerantScope tolerant(*context_);
  context_->api().cuModuleUnload(module_);
}

template <class... Parts>
void Function::refuse(const Parts&... reason) const {
  fail_device(context_->name(), ": kernel ", label_, ": ", reason...);
}

void Function::load(const exec::Target& target, const exec::KernelBinary& binary) {
  char log[4096] = {};
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the option's value is a number.
  void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
  const CUresult result =
      context_->api().cuModuleLoadDataEx(&module_, binary.code.data(), 2, options, values);
  if (result == CUDA_ERROR_NO_BINARY_FOR_GPU || result == CUDA_ERROR_INVALID_IMAGE)
    refuse("its code was compiled for another GPU architecture than ", target.arch,
           " or for a newer driver: ", context_->api().describe(result));
  std::string call = str("kernel ", label_, ": cuModuleLoadDataEx");
  if (log[0] != '\0') call += str(": ", std::string_view(log, ::strnlen(log, sizeof log)));
  context_->check(result, call.c_str());
}

void Function::find_entry(const exec::Target& target, const exec::KernelBinary& binary) {
  const CUresult found =
      context_->api().cuModuleGetFunction(&function_, module_, binary.entry.c_str());
  if (found == CUDA_ERROR_NOT_FOUND) refuse("its code has no entry point ", binary.entry);
  context_->check(found, "cuModuleGetFunction");

  const int most = attribute(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  if (workgroup_ > most)
    refuse("a workgroup of ", workgroup_, "; its registers and launch bounds allow ", most);
  const int64_t all_shared = attribute(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES) + shared_bytes_;
  if (all_shared > target.shared_bytes)
    refuse(all_shared, " bytes of shared memory; the device allows ", target.shared_bytes);
  if (all_shared > kSharedWithoutAsking)
    TCC_CUDA(*context_, cuFuncSetAttribute, function_,
             CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, static_cast<int>(shared_bytes_));
  if (cooperative_) most_at_once_ = workgroups_at_once();
  check_parameters();
}

int64_t Function::workgroups_at_once() const {
  int of_a_unit = 0;
  TCC_CUDA(*context_, cuOccupancyMaxActiveBlocksPerMultiprocessor, &of_a_unit, function_,
           workgroup_, static_cast<size_t>(shared_bytes_));
  return int64_t{of_a_unit} * units_;
}

// The driver copies as many bytes as the code declares from what a launch points to: they must be
// there.
void Function::check_parameters() const {
  const auto& info = context_->api().cuFuncGetParamInfo;
  if (!info) return;
  const size_t count = static_cast<size_t>(num_arguments_) + static_cast<size_t>(num_maps_);
  for (size_t i = 0; i <= count; ++i) {
    size_t offset = 0, bytes = 0;
    const CUresult found = info(function_, i, &offset, &bytes);
    if (found == CUDA_ERROR_INVALID_VALUE) return;  // it declares no more
    context_->check(found, "cuFuncGetParamInfo");
    if (i == count) refuse("its code declares more than ", count, " parameters");
    const size_t given =
        i < static_cast<size_t>(num_arguments_) ? sizeof(uint64_t) : sizeof(CUtensorMap);
    if (bytes > given)
      refuse("its code declares parameter ", i, " of ", bytes, " bytes; it gets ", given);
  }
}

int Function::attribute(CUfunction_attribute attribute) const {
  int value = 0;
  TCC_CUDA(*context_, cuFuncGetAttribute, &value, attribute, function_);
  return value;
}

void Function::check(const BoundLaunch& launch) const {
  TCC_CHECK(std::ssize(launch.arguments) == num_arguments_, launch.arguments.size(),
            " arguments instead of ", num_arguments_);
  TCC_CHECK(std::ssize(launch.maps) == num_maps_, launch.maps.size(), " tensor maps instead of ",
            num_maps_);
  for (const exec::MapNumbers& map : launch.maps)
    TCC_CHECK(map.argument >= 0 && map.argument < num_arguments_, "a tensor map of argument ",
              map.argument);
  check_grid(max_grid_, context_->name(), label_, launch.grid);
  const int64_t workgroups = int64_t{launch.grid[0]} * launch.grid[1];  // below 2^62
  if (cooperative_ && (workgroups > most_at_once_ || launch.grid[2] > 1))
    refuse(workgroups, " x ", launch.grid[2], " workgroups wait for each other; the device runs ",
           most_at_once_, " at once");
}

// `use` gets the parameters, which the driver copies before it returns.
template <class Use>
CUresult Function::with_parameters(const BoundLaunch& launch, const Use& use) const {
  const std::vector<uint64_t>& arguments = launch.arguments;
  void* parameters[kMaxArguments + kMaxMaps];
  for (size_t i = 0; i < arguments.size(); ++i)  // the driver only reads them
    parameters[i] = const_cast<uint64_t*>(&arguments[i]);
  CUtensorMap maps[kMaxMaps];
  for (size_t i = 0; i < launch.maps.size(); ++i) {
    const exec::MapNumbers& map = launch.maps[i];
    maps[i] = encode(*context_, map, arguments[static_cast<size_t>(map.argument)]);
    parameters[arguments.size() + i] = &maps[i];
  }
  return use(parameters);
}

void Function::launch(const BoundLaunch& launch, CUstream stream) const {
  const std::array<uint32_t, 3>& grid = launch.grid;
  if (is_empty(grid)) return;
  const auto shared_bytes = static_cast<unsigned>(shared_bytes_);
  const DriverApi& api = context_->api();
  const CUresult result = with_parameters(launch, [&](void** parameters) {
    if (cooperative_)
      return api.cuLaunchCooperativeKernel(function_, grid[0], grid[1], grid[2], block_[0],
                                           block_[1], block_[2], shared_bytes, stream, parameters);
    if (!overlaps_)
      return api.cuLaunchKernel(function_, grid[0], grid[1], grid[2], block_[0], block_[1],
                                block_[2], shared_bytes, stream, parameters, nullptr);
    CUlaunchAttribute overlap = {CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, {}};
    overlap.value.programmaticStreamSerializationAllowed = 1;
    const CUlaunchConfig config = {grid[0],   grid[1],      grid[2], block_[0], block_[1],
                                   block_[2], shared_bytes, stream,  &overlap,  1};
    return api.cuLaunchKernelEx(&config, function_, parameters, nullptr);
  });
  if (result != CUDA_SUCCESS)
    context_->check(result, str("kernel ", label_, ": launching it").c_str());
}

void Function::change(CUgraphExec graph, CUgraphNode node, const BoundLaunch& launch) const {
  const std::array<uint32_t, 3>& grid = launch.grid;
  const CUresult result = with_parameters(launch, [&](void** parameters) {
    const CUDA_KERNEL_NODE_PARAMS changed = {
        function_,  grid[0],   grid[1],   grid[2],
        block_[0],  block_[1], block_[2], static_cast<unsigned>(shared_bytes_),
        parameters, nullptr};
    return context_->api().cuGraphExecKernelNodeSetParams(graph, node, &changed);
  });
  if (result != CUDA_SUCCESS)
    context_->check(result, str("kernel ", label_, ": changing its launch").c_str());
}

CudaKernel::CudaKernel(std::shared_ptr<const Function> function) : function_(std::move(function)) {
  const ContextScope scope(function_->context());
  constexpr int kRegisterBytes = 4;
  report_.registers = function_->attribute(CU_FUNC_ATTRIBUTE_NUM_REGS);
  // Local memory of one thread: arrays that are indexed count as well.
  report_.spilled = function_->attribute(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES) / kRegisterBytes;
}

const std::shared_ptr<const Function>* function_of(const BoundStep& step, const Context& context) {
  const auto* launch = std::get_if<BoundLaunch>(&step);
  if (!launch) {
    check_words(step);
    return nullptr;
  }
  const auto* kernel = dynamic_cast<const CudaKernel*>(launch->kernel);
  TCC_CHECK(kernel && kernel->function()->context().device() == context.device(),
            "a kernel of another device");
  kernel->function()->check(*launch);
  return &kernel->function();
}

void enqueue(const Function* function, const BoundStep& step, const Context& context,
             CUstream stream) {
  if (const auto* launch = std::get_if<BoundLaunch>(&step)) function->launch(*launch, stream);
  if (const auto* copy = std::get_if<BoundCopy>(&step); copy && copy->bytes > 0)
    TCC_CUDA(context, cuMemcpyAsync, copy->to, copy->from, static_cast<size_t>(copy->bytes),
             stream);
  if (const auto* fill = std::get_if<BoundFill>(&step); fill && fill->bytes > 0)
    TCC_CUDA(context, cuMemsetD8Async, fill->to, fill->value, static_cast<size_t>(fill->bytes),
             stream);
}

void enqueue(const BoundStep& step, const Context& context, CUstream stream) {
  const auto* function = function_of(step, context);
  enqueue(function ? function->get() : nullptr, step, context, stream);
}

namespace {

bool does_nothing(const BoundStep& step) {
  if (const auto* copy = std::get_if<BoundCopy>(&step)) return copy->bytes == 0;
  if (const auto* fill = std::get_if<BoundFill>(&step)) return fill->bytes == 0;
  return is_empty(std::get<BoundLaunch>(step).grid);
}

}  // namespace

Step::Step(const BoundStep& step, const std::shared_ptr<const Function>* function)
    : function_(function ? *function : nullptr), step_(step) {}

bool Step::is_empty() const { return does_nothing(step_); }

Step::Difference Step::difference(const BoundStep& other, const Function* function) const {
  if (step_.index() != other.index() || function_.get() != function) return Difference::kind;
  if (step_ == other) return Difference::none;
  if (std::holds_alternative<BoundFill>(other)) return Difference::kind;
  return is_empty() == does_nothing(other) ? Difference::arguments : Difference::kind;
}

void Step::become(const BoundStep& other, const Context& context, CUgraphExec graph,
                  CUgraphNode node) {
  if (const auto* copy = std::get_if<BoundCopy>(&other)) {
    CUDA_MEMCPY3D changed = {};
    // As cuMemcpyAsync is captured; the driver refuses another kind.
    changed.srcMemoryType = changed.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
    changed.srcDevice = copy->from;
    changed.dstDevice = copy->to;
    changed.WidthInBytes = static_cast<size_t>(copy->bytes);
    changed.Height = changed.Depth = 1;
    TCC_CUDA(context, cuGraphExecMemcpyNodeSetParams, graph, node, &changed, context.handle());
  } else {
    function_->change(graph, node, std::get<BoundLaunch>(other));
  }
  step_ = other;
}

}  // namespace tcc::runtime::cuda
