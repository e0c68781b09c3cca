/* tcc's C ABI on the caller's Vulkan: tcc/vulkan.hpp in C. It says what each function does; those
 * that can fail return a tcc_status as in tcc/c_api.h. */
#ifndef TCC_C_VULKAN_H
#define TCC_C_VULKAN_H

#include <vulkan/vulkan_core.h>

#include "tcc/c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A logical device is made with these for tcc: extensions, and a chain of features for
 * VkDeviceCreateInfo::pNext. Both live as long as the handle. `get` is vkGetInstanceProcAddr; NULL:
 * libvulkan.so.1's. */
typedef struct tcc_vulkan_needs tcc_vulkan_needs;
TCC_API tcc_status tcc_vulkan_needs_create(VkInstance instance, VkPhysicalDevice device,
                                           uint32_t api_version, PFN_vkGetInstanceProcAddr get,
                                           tcc_vulkan_needs** needs) TCC_NOEXCEPT;
TCC_API void tcc_vulkan_needs_destroy(tcc_vulkan_needs* needs) TCC_NOEXCEPT;
TCC_API const VkPhysicalDeviceFeatures2* tcc_vulkan_needs_features(const tcc_vulkan_needs* needs)
    TCC_NOEXCEPT;
TCC_API size_t tcc_vulkan_needs_num_extensions(const tcc_vulkan_needs* needs) TCC_NOEXCEPT;
TCC_API const char* const* tcc_vulkan_needs_extensions(const tcc_vulkan_needs* needs) TCC_NOEXCEPT;

/* The caller's device, with the features and extensions that it was made with. */
typedef struct tcc_vulkan_device_info {
  size_t size; /* sizeof(tcc_vulkan_device_info) */
  VkInstance instance;
  uint32_t api_version; /* VkApplicationInfo::apiVersion, at least 1.2 */
  uint32_t queue_family;
  VkPhysicalDevice physical_device;
  VkDevice device;
  VkQueue queue; /* it computes */
  const VkPhysicalDeviceFeatures2* features;
  size_t num_extensions;
  const char* const* extensions;
  PFN_vkGetInstanceProcAddr get; /* NULL: libvulkan.so.1's */
  /* Called around each use of the queue, from any thread, where others use it too; or NULL. */
  void (*lock_queue)(void* user);
  void (*unlock_queue)(void* user);
  void* user;
} tcc_vulkan_device_info;
#define TCC_VULKAN_DEVICE_INFO_INIT                                                                \
  {                                                                                                \
    sizeof(tcc_vulkan_device_info), NULL, 0, 0, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, \
        NULL                                                                                       \
  }

typedef struct tcc_vulkan_device tcc_vulkan_device;
TCC_API tcc_status tcc_vulkan_device_create(const tcc_vulkan_device_info* info,
                                            tcc_vulkan_device** device) TCC_NOEXCEPT;
TCC_API void tcc_vulkan_device_destroy(tcc_vulkan_device* device) TCC_NOEXCEPT;
/* "vulkan:own0": the device's name for tcc_compile, tcc_buffer_create and the others. */
TCC_API const char* tcc_vulkan_device_name(const tcc_vulkan_device* device) TCC_NOEXCEPT;

/* Takes a part of a buffer of the device's. `release` may be NULL. */
TCC_API tcc_status tcc_vulkan_buffer_wrap(const tcc_vulkan_device* device, VkBuffer vk_buffer,
                                          VkDeviceSize offset, VkDeviceSize bytes,
                                          void (*release)(void* user), void* user,
                                          tcc_buffer** buffer) TCC_NOEXCEPT;
/* Gives where a buffer of tcc's lies. */
TCC_API tcc_status tcc_vulkan_buffer_range(const tcc_buffer* buffer, VkBuffer* vk_buffer,
                                           VkDeviceSize* offset) TCC_NOEXCEPT;

/* Wait for and signal timeline semaphores on the context's device. */
TCC_API tcc_status tcc_vulkan_wait(tcc_context* context, VkSemaphore semaphore,
                                   uint64_t value) TCC_NOEXCEPT;
TCC_API tcc_status tcc_vulkan_signal(tcc_context* context, VkSemaphore semaphore,
                                     uint64_t value) TCC_NOEXCEPT;

/* Records a run into a command buffer of the caller's. What is given must live as long as the
 * command buffer may run. */
typedef struct tcc_vulkan_recorded tcc_vulkan_recorded;
TCC_API tcc_status tcc_vulkan_record(tcc_context* context, VkCommandBuffer commands,
                                     tcc_buffer* const* inputs, size_t num_inputs,
                                     tcc_buffer* const* outputs, size_t num_outputs,
                                     tcc_vulkan_recorded** recorded) TCC_NOEXCEPT;
TCC_API void tcc_vulkan_recorded_destroy(tcc_vulkan_recorded* recorded) TCC_NOEXCEPT;

#ifdef __cplusplus
} /* extern "C" */
#endif
#endif
