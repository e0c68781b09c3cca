// A kernel: its compute pipeline and how its arguments are passed.
#pragma once

#include <memory>
#include <string>

#include "runtime/device.h"
#include "runtime/vulkan/core.h"

namespace tcc::runtime::vulkan {

// Throws Error(device) naming the kernel where the device lacks what it needs, or where its code is
// no module.
void check_kernel(const Core& core, const exec::KernelBinary& binary);

class VulkanKernel final : public LoadedKernel {
 public:
  // Throws Error(device) when the kernel exceeds the device's limits or the driver refuses it.
  VulkanKernel(std::shared_ptr<Core> core, const exec::KernelBinary& binary);
  ~VulkanKernel() override;

  VkPipeline pipeline() const { return pipeline_; }
  VkPipelineLayout layout() const { return layout_; }
  const std::string& label() const { return label_; }  // for messages
  int num_arguments() const { return num_arguments_; }
  bool argument_table() const { return argument_table_; }
  KernelReport report() const override { return report_; }

 private:
  void create_layout();
  void create_pipeline(const exec::KernelBinary& binary, const std::vector<uint32_t>& words);
  void compile_now();
  void read_report();
  void destroy();

  const std::shared_ptr<Core> core_;
  const std::string label_;
  const int num_arguments_;
  const bool argument_table_;
  VkPipelineLayout layout_ = VK_NULL_HANDLE;
  VkPipeline pipeline_ = VK_NULL_HANDLE;
  KernelReport report_;
};

}  // namespace tcc::runtime::vulkan
