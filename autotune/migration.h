// Carries tuning records of an earlier schema over to today's keys. Records hold hashes of regions,
// so that their keys follow from a table alone: from old hash to canonical text
// (scheduler/region_text.h), made from the graphs that the records are of.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autotune/records.h"

namespace tcc::autotune {

inline constexpr int kMigratedSchema = 2;  // whose records are carried over

class KeyTable {
 public:
  struct Keys {
    std::string text;    // canonical, of the region; its hash is the new key
    std::string family;  // 32 digits
    std::vector<int64_t> extents;
    friend auto operator<=>(const Keys&, const Keys&) = default;
  };

  void add(const sched::Region& region);
  // Returns null where the table does not know the old key.
  const Keys* find(const std::string& old_key) const;
  size_t size() const { return keys_.size(); }

  // Returns the table as YAML, sorted by old key.
  std::string to_yaml() const;
  // Adds the entries of such a text; throws Error(bad_input) naming file and line: the text is not
  // trusted.
  void read(std::string_view text, const std::string& file);

 private:
  std::map<std::string, Keys> keys_;
};

// Loads the table of the graphs that tcc ships and measures: configs/migrations/schema2.yaml. It is
// empty where the file is missing.
KeyTable shipped_key_table();

// Returns the record under its new keys; none where the table does not know its region. Records of
// users' own kernels keep theirs.
std::optional<Record> carried_over(Record record, const KeyTable& table);

}  // namespace tcc::autotune
