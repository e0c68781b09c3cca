// The text of one tuning file.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "autotune/records.h"

namespace tcc::autotune {

// The records, all of one device and template, sorted by name, operands and key.
std::string record_file_text(std::span<const Record* const> records);

// Adds the records of a tuning file's text to `store`; `file` is for messages. The text is not
// trusted: what is damaged, of another schema or beyond a limit is skipped with a warning
// "FILE:LINE: ...".
void read_record_text(std::string_view text, const std::string& file, RecordStore& store,
                      const std::function<void(const std::string&)>& warn);

// A file, or every .yaml file in a folder, in the order of their names.
void read_record_path(const std::filesystem::path& path, RecordStore& store,
                      const std::function<void(const std::string&)>& warn);

// "cuda-sm_90a.contraction.yaml"
std::string record_file_name(const std::string& device, const std::string& kernel_template);

}  // namespace tcc::autotune
