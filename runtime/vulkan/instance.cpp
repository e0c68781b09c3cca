#include "runtime/vulkan/instance.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

#include "runtime/vulkan/result.h"
#include "runtime/vulkan/validation.h"
#include "support/error.h"
#include "support/log.h"

namespace tcc::runtime::vulkan {
namespace {

constexpr const char* kValidationLayer = "VK_LAYER_KHRONOS_validation";

std::atomic<int64_t> validation_messages = 0;

[[noreturn]] void fail_none(const std::string& reason) {
  throw Error(ErrorKind::no_device, reason);
}

void require_success(VkResult result, const char* call) {
  if (result != VK_SUCCESS) fail_none(str(call, ": ", result_name(result)));
}

bool validation_wanted() {
  const char* value = std::getenv("TCC_VULKAN_VALIDATION");
  return value && *value && std::string_view(value) != "0";
}

VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                          VkDebugUtilsMessageTypeFlagsEXT,
                                          const VkDebugUtilsMessengerCallbackDataEXT* data, void*) {
  ++validation_messages;
  const bool error = severity >= VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
  log_parts(error ? LogLevel::error : LogLevel::warning, LogChannel::device,
            "vulkan validation: ", data->pMessage);
  return VK_FALSE;
}

VkDebugUtilsMessengerCreateInfoEXT messenger_info() {
  VkDebugUtilsMessengerCreateInfoEXT info{};
  info.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT;
  info.messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT |
                         VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
  info.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT;
  info.pfnUserCallback = on_message;
  return info;
}

bool has_layer(const GlobalFunctions& vk, const char* name) {
  uint32_t count = 0;
  require_success(vk.EnumerateInstanceLayerProperties(&count, nullptr),
                  "vkEnumerateInstanceLayerProperties");
  std::vector<VkLayerProperties> layers(count);
  require_success(vk.EnumerateInstanceLayerProperties(&count, layers.data()),
                  "vkEnumerateInstanceLayerProperties");
  return std::any_of(layers.begin(), layers.end(), [&](const VkLayerProperties& layer) {
    return std::strcmp(layer.layerName, name) == 0;
  });
}

bool has_extension(const GlobalFunctions& vk, const char* name) {
  uint32_t count = 0;
  constexpr const char* call = "vkEnumerateInstanceExtensionProperties";
  require_success(vk.EnumerateInstanceExtensionProperties(nullptr, &count, nullptr), call);
  std::vector<VkExtensionProperties> extensions(count);
  require_success(vk.EnumerateInstanceExtensionProperties(nullptr, &count, extensions.data()),
                  call);
  return std::any_of(extensions.begin(), extensions.end(),
                     [&](const VkExtensionProperties& extension) {
                       return std::strcmp(extension.extensionName, name) == 0;
                     });
}

void require_version(const GlobalFunctions& vk) {
  uint32_t version = 0;
  require_success(vk.EnumerateInstanceVersion(&version), "vkEnumerateInstanceVersion");
  if (version < VK_API_VERSION_1_2)
    fail_none(str("the Vulkan loader is version ", VK_API_VERSION_MAJOR(version), ".",
                  VK_API_VERSION_MINOR(version), "; 1.2 is needed"));
}

VkInstance create_instance(const GlobalFunctions& vk, bool validate) {
  std::vector<const char*> layers, extensions;
  VkApplicationInfo application{};
  application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
  application.pEngineName = "tcc";
  application.apiVersion = VK_API_VERSION_1_3;  // what tcc may use where a device has it
  const VkDebugUtilsMessengerCreateInfoEXT messenger = messenger_info();
  VkInstanceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
  info.pApplicationInfo = &application;
  if (validate) {
    if (!has_layer(vk, kValidationLayer))
      fail_none(str("TCC_VULKAN_VALIDATION is set, but there is no ", kValidationLayer));
    layers.push_back(kValidationLayer);
    extensions.push_back(VK_EXT_DEBUG_UTILS_EXTENSION_NAME);
    info.pNext = &messenger;
  }
  if (has_extension(vk, VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME)) {
    extensions.push_back(VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME);
    info.flags |= VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR;
  }
  info.enabledLayerCount = static_cast<uint32_t>(layers.size());
  info.ppEnabledLayerNames = layers.data();
  info.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
  info.ppEnabledExtensionNames = extensions.data();
  VkInstance handle = VK_NULL_HANDLE;
  const VkResult result = vk.CreateInstance(&info, nullptr, &handle);
  if (result == VK_ERROR_INCOMPATIBLE_DRIVER) fail_none("no Vulkan driver is installed");
  require_success(result, "vkCreateInstance");
  return handle;
}

std::unique_ptr<Instance> make_instance() {
  const GlobalFunctions& global = global_functions();
  require_version(global);
  const bool validate = validation_wanted();
  auto made = std::make_unique<Instance>();
  made->handle = create_instance(global, validate);
  made->vk = load_instance_functions(made->handle, global.GetInstanceProcAddr);
  if (validate) {
    const VkDebugUtilsMessengerCreateInfoEXT info = messenger_info();
    VkDebugUtilsMessengerEXT messenger = VK_NULL_HANDLE;  // lives as long as the instance
    require_success(made->vk.CreateDebugUtilsMessengerEXT(made->handle, &info, nullptr, &messenger),
                    "vkCreateDebugUtilsMessengerEXT");
  }
  uint32_t count = 0;
  require_success(made->vk.EnumeratePhysicalDevices(made->handle, &count, nullptr),
                  "vkEnumeratePhysicalDevices");
  made->devices.resize(count);
  require_success(made->vk.EnumeratePhysicalDevices(made->handle, &count, made->devices.data()),
                  "vkEnumeratePhysicalDevices");
  made->devices.resize(count);
  return made;
}

}  // namespace

const Instance& instance() {
  static const Instance* const shared = make_instance().release();
  return *shared;
}

int64_t validation_message_count() { return validation_messages; }

}  // namespace tcc::runtime::vulkan
