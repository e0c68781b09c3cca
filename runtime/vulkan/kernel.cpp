#include "runtime/vulkan/kernel.h"

#include <algorithm>
#include <bit>

#include "executable/executable.h"
#include "executable/spirv_facts.h"
#include "executable/spirv_words.h"
#include "runtime/device_checks.h"
#include "runtime/vulkan/commands.h"
#include "runtime/vulkan/result.h"
#include "support/error.h"

namespace tcc::runtime::vulkan {
namespace {

// Destroyed once the pipeline is made.
class ShaderModule {
 public:
  ShaderModule(Core& core, const std::vector<uint32_t>& words) : core_(core) {
    VkShaderModuleCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
    info.codeSize = words.size() * sizeof(uint32_t);
    info.pCode = words.data();
    core.check(core.vk().CreateShaderModule(core.device(), &info, nullptr, &module_),
               "vkCreateShaderModule");
  }
  ~ShaderModule() { core_.vk().DestroyShaderModule(core_.device(), module_, nullptr); }
  ShaderModule(const ShaderModule&) = delete;
  ShaderModule& operator=(const ShaderModule&) = delete;
  VkShaderModule get() const { return module_; }

 private:
  Core& core_;
  VkShaderModule module_ = VK_NULL_HANDLE;
};

}  // namespace

void check_kernel(const Core& core, const exec::KernelBinary& binary) {
  const Physical& physical = core.physical();
  const exec::Target& target = physical.target;
  const auto refuse = [&](const auto&... reason) {
    fail_device(core.name(), ": kernel ", label_of(binary), ": ", reason...);
  };
  if (binary.workgroup < 1 || binary.workgroup > target.max_workgroup_size)
    refuse("a workgroup of ", binary.workgroup, "; the device allows ", target.max_workgroup_size);
  exec::check_cooperation(binary, target);
  const int size = binary.subgroup_size;
  if (size != 0 && (!std::has_single_bit(static_cast<unsigned>(size)) ||
                    size < target.subgroup_size_min || size > target.subgroup_size_max))
    refuse("needs subgroups of ", size, "; the device has ", target.subgroup_size_min, " to ",
           target.subgroup_size_max);
  const int64_t bytes = binary.argument_table ? 8 : int64_t{8} * binary.num_arguments;
  if (binary.num_arguments < 0 || bytes > target.push_constant_bytes)
    refuse(binary.num_arguments, " arguments need ", bytes,
           " bytes of push constants; the device has ", target.push_constant_bytes);

  // Drivers take any name, any capability and any size for granted.
  exec::check_units(binary, target);
  const exec::SpirvFacts facts = exec::spirv_facts(exec::spirv_words(binary.code));
  if (!facts.entries.contains(binary.entry)) refuse("its code has no entry point ", binary.entry);
  if (facts.shared_bytes > target.shared_bytes)
    refuse(facts.shared_bytes, " bytes of shared memory; the device allows ", target.shared_bytes);
  const std::string lacking = exec::lacking_feature(facts, physical.capabilities, target);
  if (!lacking.empty())
    refuse("its code needs ", lacking,
           ", which the device lacks: compile the graph for this device");
}

VulkanKernel::VulkanKernel(std::shared_ptr<Core> core, const exec::KernelBinary& binary)
    : core_(std::move(core)),
      label_(label_of(binary)),
      num_arguments_(binary.num_arguments),
      argument_table_(binary.argument_table) {
  core_->require_alive();
  check_kernel(*core_, binary);
  const std::vector<uint32_t> words = exec::spirv_words(binary.code);
  try {
    create_layout();
    create_pipeline(binary, words);
    if (core_->physical().compiles_alone) read_report();
    if (core_->physical().target.is_cpu) compile_now();
  } catch (...) {
    destroy();
    throw;
  }
}

VulkanKernel::~VulkanKernel() {
  if (core_->retire()) destroy();
}

void VulkanKernel::create_layout() {
  VkPushConstantRange range{};
  range.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT;
  range.size = static_cast<uint32_t>(argument_table_ ? 8 : 8 * num_arguments_);
  VkPipelineLayoutCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
  info.pushConstantRangeCount = range.size > 0 ? 1 : 0;
  info.pPushConstantRanges = &range;
  core_->check(core_->vk().CreatePipelineLayout(core_->device(), &info, nullptr, &layout_),
               "vkCreatePipelineLayout");
}

void VulkanKernel::create_pipeline(const exec::KernelBinary& binary,
                                   const std::vector<uint32_t>& words) {
  const Physical& physical = core_->physical();
  const exec::Target& target = physical.target;
  const ShaderModule module(*core_, words);

  VkPipelineShaderStageRequiredSubgroupSizeCreateInfo required{};
  required.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO;
  required.requiredSubgroupSize = static_cast<uint32_t>(binary.subgroup_size);
  VkComputePipelineCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
  info.layout = layout_;
  info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.module = module.get();
  info.stage.pName = binary.entry.c_str();
  if (physical.compiles_alone) info.flags |= VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR;
  const bool sizes_vary = target.subgroup_size_min != target.subgroup_size_max;
  if (physical.subgroup_size_control && binary.subgroup_size != 0 && sizes_vary)
    info.stage.pNext = &required;
  // Full subgroups: a workgroup of whole subgroups is divided into nothing smaller.
  if (physical.features.subgroup_size.computeFullSubgroups && binary.subgroup_size != 0 &&
      binary.workgroup % binary.subgroup_size == 0)
    info.stage.flags |= VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT;
  const VkResult result = core_->vk().CreateComputePipelines(
      core_->device(), core_->pipeline_cache(), 1, &info, nullptr, &pipeline_);
  core_->check(result, str("kernel ", label_, ": vkCreateComputePipelines").c_str());
}

// Statistics of the pipeline's only executable.
void VulkanKernel::read_report() {
  constexpr uint32_t kMost = 1000;
  const auto get = core_->vk().GetPipelineExecutableStatisticsKHR;
  if (!get) return;
  VkPipelineExecutableInfoKHR of{};
  of.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR;
  of.pipeline = pipeline_;
  uint32_t count = 0;
  constexpr const char* call = "vkGetPipelineExecutableStatisticsKHR";
  core_->check(get(core_->device(), &of, &count, nullptr), call);
  VkPipelineExecutableStatisticKHR empty{};
  empty.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR;
  std::vector<VkPipelineExecutableStatisticKHR> all(std::min(count, kMost), empty);
  count = static_cast<uint32_t>(all.size());
  const VkResult result = get(core_->device(), &of, &count, all.data());
  if (result != VK_INCOMPLETE) core_->check(result, call);
  for (const VkPipelineExecutableStatisticKHR& one : all) {
    const bool is_signed = one.format == VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_INT64_KHR;
    if (is_signed || one.format == VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_UINT64_KHR)
      enter_statistic(report_, one.name, one.value.i64);
  }
}

// Drivers of CPUs (lavapipe) compile a pipeline when it is first dispatched, which may take longer
// than any run: a dispatch of no workgroups makes them do so now.
void VulkanKernel::compile_now() {
  const DeviceFunctions& vk = core_->vk();
  CommandPool pool(core_);
  const VkCommandBuffer commands = pool.allocate();
  begin_commands(*core_, commands, VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT);
  vk.CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline_);
  // A dispatch must have the arguments that its pipeline reads, also where nothing runs.
  const std::vector<uint64_t> arguments(argument_table_ ? 1 : static_cast<size_t>(num_arguments_));
  if (!arguments.empty())
    vk.CmdPushConstants(commands, layout_, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                        static_cast<uint32_t>(arguments.size() * sizeof(uint64_t)),
                        arguments.data());
  vk.CmdDispatch(commands, 0, 0, 0);
  end_commands(*core_, commands);
  core_->compile(commands);
}

void VulkanKernel::destroy() {
  const DeviceFunctions& vk = core_->vk();
  vk.DestroyPipeline(core_->device(), pipeline_, nullptr);
  vk.DestroyPipelineLayout(core_->device(), layout_, nullptr);
}

}  // namespace tcc::runtime::vulkan
