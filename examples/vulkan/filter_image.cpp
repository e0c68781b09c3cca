// A Vulkan program that filters its own image with a network: filter_image [GRAPH [BEFORE.ppm
// AFTER.ppm]]
//
// The program has its own instance, device, queue, memory and command buffer, and no window. It
// draws an image, and one command buffer draws, runs the network and copies both images to the
// host. The network reads and writes the images' memory where it lies: a buffer and a linear image
// share it.
#include <vulkan/vulkan.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <span>
#include <string>
#include <tcc/vulkan.hpp>
#include <vector>

namespace {

constexpr std::uint32_t kSize = 256;  // pixels, both ways
constexpr VkDeviceSize kBytes = VkDeviceSize{kSize} * kSize * 4;
constexpr std::uint32_t kVersion = VK_API_VERSION_1_2;

void check(VkResult result, const char* call) {
  if (result != VK_SUCCESS)
    throw tcc::Error(tcc::ErrorKind::device, std::string(call) + " gave " + std::to_string(result));
}
#define CHECK(call) check(call, #call)

// The program's Vulkan, as a game or a viewer has it.
struct Renderer {
  Renderer() {
    VkApplicationInfo application{};
    application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
    application.apiVersion = kVersion;
    VkInstanceCreateInfo instance_info{};
    instance_info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
    instance_info.pApplicationInfo = &application;
    CHECK(vkCreateInstance(&instance_info, nullptr, &instance));
    std::uint32_t count = 1;
    vkEnumeratePhysicalDevices(instance, &count, &physical);
    if (count == 0) throw tcc::Error(tcc::ErrorKind::no_device, "no Vulkan device");

    count = 0;
    vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, nullptr);
    std::vector<VkQueueFamilyProperties> families(count);
    vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, families.data());
    const VkQueueFlags wanted = VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT;
    while (family < count && (families[family].queueFlags & wanted) != wanted) ++family;
    if (family == count) throw tcc::Error(tcc::ErrorKind::no_device, "no queue for graphics");

    // The device is made with what tcc needs; a program adds its own.
    needs = tcc::vulkan::device_needs(instance, physical, kVersion, vkGetInstanceProcAddr);
    const float priority = 1;
    VkDeviceQueueCreateInfo queue_info{};
    queue_info.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
    queue_info.queueFamilyIndex = family;
    queue_info.queueCount = 1;
    queue_info.pQueuePriorities = &priority;
    VkDeviceCreateInfo device_info{};
    device_info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
    device_info.pNext = needs.features;
    device_info.queueCreateInfoCount = 1;
    device_info.pQueueCreateInfos = &queue_info;
    device_info.enabledExtensionCount = static_cast<std::uint32_t>(needs.extensions.size());
    device_info.ppEnabledExtensionNames = needs.extensions.data();
    CHECK(vkCreateDevice(physical, &device_info, nullptr, &device));
    vkGetDeviceQueue(device, family, 0, &queue);
    VkCommandPoolCreateInfo pool_info{};
    pool_info.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
    pool_info.queueFamilyIndex = family;
    CHECK(vkCreateCommandPool(device, &pool_info, nullptr, &pool));
    VkCommandBufferAllocateInfo commands_info{};
    commands_info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
    commands_info.commandPool = pool;
    commands_info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    commands_info.commandBufferCount = 1;
    CHECK(vkAllocateCommandBuffers(device, &commands_info, &commands));
  }
  ~Renderer() {
    vkDeviceWaitIdle(device);
    vkDestroyCommandPool(device, pool, nullptr);
    vkDestroyDevice(device, nullptr);
    vkDestroyInstance(instance, nullptr);
  }
  Renderer(const Renderer&) = delete;
  Renderer& operator=(const Renderer&) = delete;

  std::uint32_t memory_type(std::uint32_t allowed, VkMemoryPropertyFlags wanted) const {
    VkPhysicalDeviceMemoryProperties types;
    vkGetPhysicalDeviceMemoryProperties(physical, &types);
    for (std::uint32_t i = 0; i < types.memoryTypeCount; ++i)
      if ((allowed >> i & 1) && (types.memoryTypes[i].propertyFlags & wanted) == wanted) return i;
    throw tcc::Error(tcc::ErrorKind::device, "no memory for an image that is a buffer, too");
  }

  VkInstance instance = VK_NULL_HANDLE;
  VkPhysicalDevice physical = VK_NULL_HANDLE;
  VkDevice device = VK_NULL_HANDLE;
  VkQueue queue = VK_NULL_HANDLE;
  VkCommandPool pool = VK_NULL_HANDLE;
  VkCommandBuffer commands = VK_NULL_HANDLE;
  std::uint32_t family = 0;
  tcc::vulkan::DeviceNeeds needs;
};

// A buffer in memory of its own. With `also_image`, a linear image of RGBA bytes lies in the same
// memory.
struct Pixels {
  Pixels(const Renderer& r, bool also_image, VkMemoryPropertyFlags properties) : device(r.device) {
    VkBufferCreateInfo buffer_info{};
    buffer_info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    buffer_info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                        VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT |
                        VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    VkMemoryRequirements of_image{};
    of_image.memoryTypeBits = ~0u;
    if (also_image) {
      VkImageCreateInfo image_info{};
      image_info.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO;
      image_info.flags = VK_IMAGE_CREATE_ALIAS_BIT;
      image_info.imageType = VK_IMAGE_TYPE_2D;
      image_info.format = VK_FORMAT_R8G8B8A8_UNORM;
      image_info.extent = {kSize, kSize, 1};
      image_info.mipLevels = image_info.arrayLayers = 1;
      image_info.samples = VK_SAMPLE_COUNT_1_BIT;
      image_info.tiling = VK_IMAGE_TILING_LINEAR;
      image_info.usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
      image_info.initialLayout = VK_IMAGE_LAYOUT_UNDEFINED;
      CHECK(vkCreateImage(device, &image_info, nullptr, &image));
      vkGetImageMemoryRequirements(device, image, &of_image);
      const VkImageSubresource first{VK_IMAGE_ASPECT_COLOR_BIT, 0, 0};
      VkSubresourceLayout layout;
      vkGetImageSubresourceLayout(device, image, &first, &layout);
      if (layout.rowPitch != VkDeviceSize{kSize} * 4)
        throw tcc::Error(tcc::ErrorKind::device, "the driver pads the rows of linear images");
      offset = layout.offset;
    }
    buffer_info.size = offset + kBytes;
    CHECK(vkCreateBuffer(device, &buffer_info, nullptr, &buffer));
    VkMemoryRequirements needed;
    vkGetBufferMemoryRequirements(device, buffer, &needed);
    VkMemoryAllocateFlagsInfo flags{};
    flags.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO;
    flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
    VkMemoryAllocateInfo memory_info{};
    memory_info.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
    memory_info.pNext = &flags;
    memory_info.allocationSize = std::max(needed.size, of_image.size);
    memory_info.memoryTypeIndex =
        r.memory_type(needed.memoryTypeBits & of_image.memoryTypeBits, properties);
    CHECK(vkAllocateMemory(device, &memory_info, nullptr, &memory));
    CHECK(vkBindBufferMemory(device, buffer, memory, 0));
    if (image) CHECK(vkBindImageMemory(device, image, memory, 0));
  }
  ~Pixels() {
    vkDestroyImage(device, image, nullptr);
    vkDestroyBuffer(device, buffer, nullptr);
    vkFreeMemory(device, memory, nullptr);
  }
  Pixels(const Pixels&) = delete;
  Pixels& operator=(const Pixels&) = delete;

  VkDevice device;
  VkBuffer buffer = VK_NULL_HANDLE;
  VkImage image = VK_NULL_HANDLE;
  VkDeviceMemory memory = VK_NULL_HANDLE;
  VkDeviceSize offset = 0;  // of the first pixel
};

void barrier(VkCommandBuffer commands, VkImage image, VkImageLayout from) {
  VkImageMemoryBarrier info{};
  info.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER;
  info.srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT;
  info.dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
  info.oldLayout = from;
  info.newLayout = VK_IMAGE_LAYOUT_GENERAL;
  info.srcQueueFamilyIndex = info.dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
  info.image = image;
  info.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
  vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                       VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0, nullptr, 0, nullptr, 1, &info);
}

// The program's own drawing: a background, drawn into the image, and squares, into its buffer.
void draw(VkCommandBuffer commands, const Pixels& target) {
  barrier(commands, target.image, VK_IMAGE_LAYOUT_UNDEFINED);
  const VkClearColorValue background = {{0.1f, 0.3f, 0.6f, 1.0f}};
  const VkImageSubresourceRange all{VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
  vkCmdClearColorImage(commands, target.image, VK_IMAGE_LAYOUT_GENERAL, &background, 1, &all);
  for (std::uint32_t k = 0; k < 6; ++k) {
    barrier(commands, target.image, VK_IMAGE_LAYOUT_GENERAL);
    const std::uint32_t edge = 16u << (k % 3), color = 0xff000000u | 0x00201008u * (k + 2);
    for (std::uint32_t y = 0; y < edge; ++y)
      vkCmdFillBuffer(commands, target.buffer,
                      target.offset + (VkDeviceSize{32 * k + 20 + y} * kSize + 32 * k + 8) * 4,
                      VkDeviceSize{edge} * 4, color);
  }
  barrier(commands, target.image, VK_IMAGE_LAYOUT_GENERAL);
}

void copy_to_host(VkCommandBuffer commands, const Pixels& from, const Pixels& to) {
  barrier(commands, from.image, VK_IMAGE_LAYOUT_GENERAL);
  VkBufferImageCopy region{};
  region.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
  region.imageExtent = {kSize, kSize, 1};
  vkCmdCopyImageToBuffer(commands, from.image, VK_IMAGE_LAYOUT_GENERAL, to.buffer, 1, &region);
}

// Writes RGB as a .ppm, if there is a path, and returns a sum of all bytes.
std::uint64_t save(const Renderer& r, const Pixels& pixels, const char* path) {
  void* mapped = nullptr;
  CHECK(vkMapMemory(r.device, pixels.memory, 0, VK_WHOLE_SIZE, 0, &mapped));
  const std::span bytes(static_cast<const unsigned char*>(mapped), kBytes);
  std::uint64_t sum = 0;
  for (const unsigned char byte : bytes) sum = sum * 31 + byte;
  if (path) {
    std::ofstream file(path, std::ios::binary);
    file << "P6\n" << kSize << " " << kSize << "\n255\n";
    for (std::size_t i = 0; i < bytes.size(); ++i)
      if (i % 4 != 3) file.put(static_cast<char>(bytes[i]));
  }
  vkUnmapMemory(r.device, pixels.memory);
  return sum;
}

}  // namespace

int main(int argc, char** argv) try {
  const Renderer renderer;
  tcc::vulkan::DeviceInfo info;
  info.instance = renderer.instance;
  info.api_version = kVersion;
  info.physical_device = renderer.physical;
  info.device = renderer.device;
  info.queue = renderer.queue;
  info.queue_family = renderer.family;
  info.features = renderer.needs.features;
  info.extensions.assign(renderer.needs.extensions.begin(), renderer.needs.extensions.end());
  info.get = vkGetInstanceProcAddr;
  const tcc::vulkan::Device device(info);

  const tcc::Graph graph = tcc::Graph::load(argc > 1 ? argv[1] : "examples/vulkan/filter.yaml");
  tcc::Context filter(tcc::compile(graph, device.name(), {.dims = {{"H", kSize}, {"W", kSize}}}));

  const VkMemoryPropertyFlags seen =
      VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  const Pixels drawn(renderer, true, 0), filtered(renderer, true, 0);
  const Pixels before(renderer, false, seen), after(renderer, false, seen);
  const tcc::DeviceBuffer input = device.wrap(drawn.buffer, drawn.offset, kBytes);
  const tcc::DeviceBuffer output = device.wrap(filtered.buffer, filtered.offset, kBytes);

  VkCommandBufferBeginInfo begin{};
  begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  CHECK(vkBeginCommandBuffer(renderer.commands, &begin));
  draw(renderer.commands, drawn);
  barrier(renderer.commands, filtered.image, VK_IMAGE_LAYOUT_UNDEFINED);
  const tcc::vulkan::Recorded recorded =
      tcc::vulkan::record(filter, renderer.commands, std::vector{input}, std::vector{output});
  copy_to_host(renderer.commands, drawn, before);
  copy_to_host(renderer.commands, filtered, after);
  CHECK(vkEndCommandBuffer(renderer.commands));

  VkSubmitInfo submit{};
  submit.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
  submit.commandBufferCount = 1;
  submit.pCommandBuffers = &renderer.commands;
  CHECK(vkQueueSubmit(renderer.queue, 1, &submit, VK_NULL_HANDLE));
  CHECK(vkQueueWaitIdle(renderer.queue));
  const std::uint64_t first = save(renderer, before, argc > 2 ? argv[2] : nullptr);
  const std::uint64_t second = save(renderer, after, argc > 3 ? argv[3] : nullptr);
  std::printf("drawn %016llx, filtered %016llx\n", static_cast<unsigned long long>(first),
              static_cast<unsigned long long>(second));
} catch (const tcc::Error& error) {
  std::fprintf(stderr, "filter_image: %s\n", error.what());
  return static_cast<int>(error.kind());
}
