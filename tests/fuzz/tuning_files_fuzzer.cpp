// libFuzzer target for tuning files, tables of keys and trial logs. Whatever the bytes are: no
// crash, one-line warnings, and records that are read are written as a file that reads back without
// a warning.
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "autotune/migration.h"
#include "autotune/record_file.h"
#include "autotune/trial_log_json.h"
#include "support/error.h"

namespace {

using tcc::autotune::Record;
using tcc::autotune::RecordStore;

void require(bool condition) {
  if (!condition) std::abort();
}

RecordStore read(const std::string& text, size_t& warnings) {
  RecordStore store;
  tcc::autotune::read_record_text(text, "f.yaml", store, [&](const std::string& warning) {
    require(warning.starts_with("f.yaml") && warning.find('\n') == std::string::npos);
    ++warnings;
  });
  return store;
}

void read_records(const std::string& text) {
  size_t warnings = 0;
  RecordStore store = read(text, warnings);
  if (store.records().empty()) return;
  std::vector<const Record*> list;
  for (const auto& [key, record] : store.records()) list.push_back(&record);
  warnings = 0;
  std::string written = tcc::autotune::record_file_text(list);
  RecordStore again = read(written, warnings);
  require(warnings == 0 && again.records().size() == list.size());
  // From the second time on, numbers have the digits that are written.
  list.clear();
  for (const auto& [key, record] : again.records()) list.push_back(&record);
  require(tcc::autotune::record_file_text(list) == written);
  RecordStore joined = again;
  joined.merge(store);
  joined.merge(again);
  require(joined.records().size() == list.size());
}

void read_table(const std::string& text) {
  tcc::autotune::KeyTable table, again;
  try {
    table.read(text, "f.yaml");
  } catch (const tcc::Error& error) {
    require(error.kind() == tcc::ErrorKind::bad_input);
    return;
  }
  again.read(table.to_yaml(), "f.yaml");
  require(again.to_yaml() == table.to_yaml());
}

void read_log_line(const std::string& text) {
  try {
    tcc::autotune::LoggedLine line = tcc::autotune::parse_log_line(text);
    if (auto* task = std::get_if<tcc::autotune::LoggedTask>(&line.content))
      tcc::autotune::parse_log_line(tcc::autotune::to_json(*task).dump());
  } catch (const tcc::Error& error) { require(error.kind() == tcc::ErrorKind::bad_input); }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (text.starts_with("{\"t"))
    read_log_line(text);
  else if (text.starts_with("tcc_keys"))
    read_table(text);
  else
    read_records(text);
  return 0;
}
