#include "runtime/vulkan/pipeline_cache.h"

#include <cstdlib>
#include <cstring>
#include <string_view>

#include "runtime/vulkan/core.h"
#include "support/cache_file.h"
#include "support/cache_warning.h"
#include "support/error.h"
#include "support/file.h"
#include "support/log.h"

namespace tcc::runtime::vulkan {
namespace {

namespace fs = std::filesystem;

// A larger file would take longer to read than it saves a process of a few kernels.
constexpr int64_t kMaxFileBytes = int64_t{64} << 20;
constexpr int64_t kMaxFolderBytes = int64_t{512} << 20;

VkPhysicalDeviceProperties properties_of(const Core& core) {
  VkPhysicalDeviceProperties2 properties{};
  properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
  core.instance_functions().GetPhysicalDeviceProperties2(core.physical().handle, &properties);
  return properties.properties;
}

void warn(const fs::path& file, const std::string& reason) {
  log_text(LogLevel::warning, LogChannel::cache, str(file.string(), ": ", reason));
}

}  // namespace

bool is_pipeline_data_of(std::span<const uint8_t> data, const VkPhysicalDeviceProperties& device) {
  VkPipelineCacheHeaderVersionOne header;
  if (data.size() < sizeof header) return false;
  std::memcpy(&header, data.data(), sizeof header);
  return header.headerSize >= sizeof header && header.headerSize <= data.size() &&
         header.headerVersion == VK_PIPELINE_CACHE_HEADER_VERSION_ONE &&
         header.vendorID == device.vendorID && header.deviceID == device.deviceID &&
         std::memcmp(header.pipelineCacheUUID, device.pipelineCacheUUID, VK_UUID_SIZE) == 0;
}

void PipelineCache::create() {
  device_ = properties_of(core_);
  key_ = Hasher{}
             .add("vulkan pipelines")
             .add(device_.deviceName)
             .add_raw(&device_.vendorID, sizeof device_.vendorID)
             .add_raw(&device_.deviceID, sizeof device_.deviceID)
             .add_raw(&device_.driverVersion, sizeof device_.driverVersion)
             .add_raw(device_.pipelineCacheUUID, VK_UUID_SIZE)
             .digest();
  const char* wish = std::getenv("TCC_PIPELINE_CACHE");
  if (const fs::path folder = default_cache_folder();
      !folder.empty() && !(wish && std::string_view(wish) == "0"))
    file_ = folder / "pipelines" / (key_.hex() + kCacheExtension);
  loaded_ = kept();
  cache_ = make(loaded_);
}

std::vector<uint8_t> PipelineCache::kept() const {
  std::error_code error;
  if (file_.empty() || !fs::exists(file_, error)) return {};
  std::string damage;
  try {
    if (auto data = decode_cache_file(read_file(file_, 2 * kMaxFileBytes), key_, damage)) {
      if (is_pipeline_data_of(*data, device_)) return *data;
      damage = "it is of another driver";
    }
  } catch (const Error& unreadable) {
    if (!fs::exists(file_, error)) return {};  // another process has just removed it
    damage = unreadable.what();
  }
  warn(file_, damage + "; pipelines are compiled again");
  return {};
}

VkPipelineCache PipelineCache::make(std::span<const uint8_t> data) const {
  VkPipelineCacheCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO;
  info.initialDataSize = data.size();
  info.pInitialData = data.empty() ? nullptr : data.data();
  VkPipelineCache cache = VK_NULL_HANDLE;
  core_.check(core_.vk().CreatePipelineCache(core_.device(), &info, nullptr, &cache),
              "vkCreatePipelineCache");
  return cache;
}

std::vector<uint8_t> PipelineCache::data() const {
  const DeviceFunctions& vk = core_.vk();
  size_t size = 0;
  core_.check(vk.GetPipelineCacheData(core_.device(), cache_, &size, nullptr),
              "vkGetPipelineCacheData");
  if (static_cast<int64_t>(size) > kMaxFileBytes) return {};
  std::vector<uint8_t> data(size);
  const VkResult result = vk.GetPipelineCacheData(core_.device(), cache_, &size, data.data());
  if (result == VK_INCOMPLETE) return {};  // it grew meanwhile
  core_.check(result, "vkGetPipelineCacheData");
  data.resize(size);
  return data;
}

void PipelineCache::save() {
  if (file_.empty() || cache_ == VK_NULL_HANDLE) return;
  try {
    std::vector<uint8_t> ours = data();
    // Mesa 26's lavapipe gives less than a header.
    if (ours == loaded_ || !is_pipeline_data_of(ours, device_)) return;
    if (const std::vector<uint8_t> theirs = kept(); !theirs.empty() && theirs != loaded_) {
      const VkPipelineCache other = make(theirs);
      const VkResult result = core_.vk().MergePipelineCaches(core_.device(), cache_, 1, &other);
      core_.vk().DestroyPipelineCache(core_.device(), other, nullptr);
      core_.check(result, "vkMergePipelineCaches");
      ours = data();
      if (ours.empty() || ours == theirs) return;
    }
    fs::create_directories(file_.parent_path());
    write_cache_file(file_, encode_cache_file(key_, ours));
    loaded_ = std::move(ours);
    trim_cache_folder(file_.parent_path(), kMaxFolderBytes);
  } catch (const std::exception& error) {  // a full or read-only disk is no reason to stop
    warn_of_unwritable_cache(file_.parent_path().parent_path(), error.what());
  }
}

void PipelineCache::destroy() {
  core_.vk().DestroyPipelineCache(core_.device(), cache_, nullptr);
  cache_ = VK_NULL_HANDLE;
}

}  // namespace tcc::runtime::vulkan
