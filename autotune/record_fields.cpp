#include "autotune/record_fields.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdio>

#include "autotune/record_file.h"
#include "support/error.h"
#include "support/file.h"

namespace tcc::autotune {

bool is_word(std::string_view text) {
  return !text.empty() && text.size() <= 64 && std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  });
}

std::string short_text(const yaml::Item& map, std::string_view key) {
  if (!map.has(key)) return "";
  yaml::Item item = map.at(key);
  std::string text = item.text();
  if (text.size() > kMaxRecordText)
    item.fail(str("is longer than ", kMaxRecordText, " characters"));
  return text;
}

std::string name_text(const yaml::Item& item) {
  std::string text = item.text();
  bool fine =
      !text.empty() && text.size() <= 128 && std::all_of(text.begin(), text.end(), [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == ':' || c == '.' ||
               c == '-';
      });
  if (!fine) item.fail("must be 1 to 128 letters, digits or _ : . -");
  return text;
}

std::string hash_digits(const yaml::Item& item) {
  std::string text = item.text();
  if (text.size() != 32 || text.find_first_not_of("0123456789abcdef") != std::string::npos)
    item.fail("must be 32 hexadecimal digits");
  return text;
}

std::string date_text(const yaml::Item& record) {
  std::string text = short_text(record, "date");
  std::string shape = text;
  std::replace_if(
      shape.begin(), shape.end(), [](char c) { return c >= '0' && c <= '9'; }, '0');
  if (!text.empty() && shape != "0000-00-00") record.at("date").fail("must be YYYY-MM-DD");
  return text;
}

int64_t integer_in(const yaml::Item& item, int64_t low, int64_t high) {
  int64_t value = item.integer();
  if (value < low || value > high) item.fail(str(value, " is not in [", low, ", ", high, "]"));
  return value;
}

double number_in(const yaml::Item& item, double low, double high) {
  double value = item.number();
  if (!(value >= low && value <= high)) item.fail(str(value, " is not in [", low, ", ", high, "]"));
  return value;
}

double seconds_of(const yaml::Item& item) { return number_in(item, 1e-12, 1e6); }

std::string quoted_field(const std::string& text) {
  std::string out = "\"";
  for (char c : text.substr(0, kMaxRecordText)) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  }
  return out + "\"";
}

std::string number_field(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  std::string result = text;
  if (result.find('.') == std::string::npos)
    if (size_t e = result.find('e'); e != std::string::npos) result.insert(e, ".0");
  return result;
}

void for_each_text(
    std::span<const std::filesystem::path> files,
    const std::function<void(const std::string& text, const std::string& file)>& read,
    const std::function<void(const std::string&)>& warn) {
  for (const std::filesystem::path& file : files) {
    std::string text;
    try {
      text = read_file(file, kMaxRecordFileBytes);
    } catch (const Error& reason) {
      warn(str(reason.what(), "; file skipped"));
      continue;
    }
    read(text, file.string());
  }
}

FolderLock::FolderLock(const std::filesystem::path& folder)
    : descriptor_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  // Not every file system can lock: then files are still whole, but the last writer wins.
  if (descriptor_ >= 0) (void)::flock(descriptor_, LOCK_EX);
}

FolderLock::~FolderLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace tcc::autotune
