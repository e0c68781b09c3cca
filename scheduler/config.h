// A kernel's tunables: a flat map of small integers, the space it is drawn from and its
// constraints.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tcc::sched {

class Config {
 public:
  using Value = std::pair<std::string, int64_t>;

  Config() = default;
  Config(std::initializer_list<Value> values);
  int64_t operator[](std::string_view key) const;  // TCC_CHECKs that it is there
  void set(std::string_view key, int64_t value);
  bool has(std::string_view key) const { return find(key); }
  const int64_t* find(std::string_view key) const;              // null: it is not there
  const std::vector<Value>& values() const { return values_; }  // sorted by name
  std::string to_string() const;  // "block_m=64 block_n=64", sorted by name
  uint64_t hash() const;
  friend bool operator==(const Config&, const Config&) = default;
  friend auto operator<=>(const Config&, const Config&) = default;

 private:
  // Searches copy and read thousands of configs of about ten values.
  std::vector<Value> values_;
};

struct Parameter {
  std::string name;
  std::vector<int64_t> values;  // ascending
  std::string doc;
};

// A template declares its space beside the code that reads the config.
struct ConfigSpace {
  std::vector<Parameter> parameters;
  struct Constraint {
    // Legal configs are those for which `holds` is true; `reason` names the constraint in messages.
    Constraint(std::string reason, std::function<bool(const Config&)> holds);
    // Several constraints that share what they compute from a config: returns "" for legal ones,
    // otherwise the reason.
    explicit Constraint(std::function<std::string(const Config&)> reason_against)
        : against(std::move(reason_against)) {}

    std::function<std::string(const Config&)> against;
  };
  std::vector<Constraint> constraints;
  // Adds the parameters that the same kernel's spaces lack for sizes that are numbers; may be none.
  std::function<void(Config&)> complete = {};

  // A config of another size's space as one of this space, where it is legal.
  Config completed(Config config) const {
    if (complete) complete(config);
    return config;
  }
  // Returns whether the config has exactly these parameters, each with a listed value.
  bool lists(const Config& config) const;
  // Returns "" when the space lists the config and all constraints hold; otherwise the reason.
  std::string violation(const Config& config) const;
  // Visits all legal configs in lexicographic order; stops when `visit` returns false.
  void enumerate(const std::function<bool(const Config&)>& visit) const;
  int64_t size() const;
  // Draws different legal configs by random words, all equally likely, and returns fewer than
  // `count` where there are fewer. In spaces of more than 2^20 combinations of values, that is so
  // while 4096 drawn combinations have enough legal ones; then what is missing comes from 2^20
  // neighbouring combinations at a random place, and is not there where these have too few.
  std::vector<Config> draw(const std::function<uint64_t()>& random, size_t count) const;
  uint64_t hash() const;  // of names and values

 private:
  bool satisfies(const Config& config) const;  // the constraints; its values are the parameters'
};

}  // namespace tcc::sched
