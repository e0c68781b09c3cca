// Reads and writes the fields of tuning files of either kind. Reading checks type, range and limit
// (an Error names file and line); written fields read back the same.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "frontend/yaml/document.h"

namespace tcc::autotune {

inline constexpr int64_t kMaxFieldValue = int64_t{1} << 40;

bool is_word(std::string_view text);  // 1 to 64 letters, digits and _
// The text of `key`, at most kMaxRecordText characters; "" where it is missing.
std::string short_text(const yaml::Item& map, std::string_view key);
// 1 to 128 letters, digits or _ : . - ("cuda:sm_90a", "user:stencil").
std::string name_text(const yaml::Item& item);
std::string hash_digits(const yaml::Item& item);  // 32 of them
std::string date_text(const yaml::Item& record);  // "date", YYYY-MM-DD or ""
int64_t integer_in(const yaml::Item& item, int64_t low, int64_t high);
double number_in(const yaml::Item& item, double low, double high);  // finite
double seconds_of(const yaml::Item& item);

// Writes text in quotes. Control characters, which readers refuse, become '?'.
std::string quoted_field(const std::string& text);
// Writes six digits, with a point: YAML 1.1 takes 1e-06 for text.
std::string number_field(double value);

// Calls `read` with the text and the name of each file; one that cannot be read, or is longer than
// kMaxRecordFileBytes, is skipped with a warning.
void for_each_text(
    std::span<const std::filesystem::path> files,
    const std::function<void(const std::string& text, const std::string& file)>& read,
    const std::function<void(const std::string&)>& warn);

// Holds a folder's lock, so that two processes that update it do so one after the other.
class FolderLock {
 public:
  explicit FolderLock(const std::filesystem::path& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_;
};

}  // namespace tcc::autotune
