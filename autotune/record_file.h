// The text of one tuning file; docs/tuning.md shows one, docs/tuning-file.schema.json is its
// schema.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "autotune/records.h"

namespace tcc::autotune {

inline constexpr int kRecordSchema = 3;
inline constexpr int64_t kMaxRecordFileBytes = int64_t{16} << 20;
inline constexpr size_t kMaxRecordText = 1024;  // of a name, an operand list, a version
inline constexpr size_t kMaxRunnersUp = 4;

// Writes the records, all of one architecture and template, sorted by name, operands and key.
std::string record_file_text(std::span<const Record* const> records);

// Adds the records of a tuning file's text to `store`; `file` is for messages. The text is not
// trusted: records that are damaged, of another schema or beyond a limit are skipped with a warning
// "FILE:LINE: ...". Only migration passes another `schema`.
void read_record_text(std::string_view text, const std::string& file, RecordStore& store,
                      const std::function<void(const std::string&)>& warn,
                      int schema = kRecordSchema);

// The .yaml files of a folder in the order of their names, or the file itself. Hidden files are
// left out: another process may be writing one.
std::vector<std::filesystem::path> record_files(
    const std::filesystem::path& path, const std::function<void(const std::string&)>& warn);

// Reads all files of record_files().
void read_record_path(const std::filesystem::path& path, RecordStore& store,
                      const std::function<void(const std::string&)>& warn);

// "cuda-sm_90a.contraction.yaml"
std::string record_file_name(const std::string& device, const std::string& kernel_template);

}  // namespace tcc::autotune
