// Reads the pieces of a YAML graph: names, types, numbers, attributes and weights.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "frontend/graph_files.h"
#include "frontend/tensor_file.h"
#include "frontend/yaml/document.h"
#include "ir/builder.h"
#include "ir/op.h"

namespace tcc::yaml {

constexpr size_t kMaxValueName = 256;
bool is_value_name(std::string_view name);
bool is_dim_name(std::string_view name);

// Checks that `name` may name a dim, and gives the symbol.
ir::SymInt identifier(const Item& item, const std::string& name);
// Checks that `name` may name a value: printable, no spaces, not a number.
void value_name(const Item& item, const std::string& name);

DType dtype(const Item& item);
// [lo, hi], integers that `dtype` holds; hi is excluded.
std::pair<int64_t, int64_t> integer_range(const Item& item, DType dtype);
ir::Shape shape(const Item& item);

bool is_number(const Item& item);
// A constant of rank 0: in `like`'s dtype, or f32 where a fraction is combined with integers, i64
// and f32 where there is no `like`.
ir::Value* scalar(ir::Builder& builder, const Item& item, const ir::Value* like);
// The same of a number at hand. Throws Error(bad_input) for one that the dtype does not hold.
ir::Value* scalar(ir::Builder& builder, std::variant<int64_t, double> number,
                  const ir::Value* like);

// The value of op attribute `key`.
ir::Attr attribute(const Item& item, const ir::OpDef& op, const std::string& key);

struct Weight {
  ir::Type type;
  ir::ConstantPtr data;
  bool is_mutable = false;
};

class WeightReader {
 public:
  WeightReader(GraphFiles source, uint64_t seed) : source_(std::move(source)), seed_(seed) {}
  // `name` picks the random stream, `use` replaces {i} in the file's name and the key.
  Weight read(const Item& item, const std::string& name, int64_t use);

 private:
  Weight from_file(const Item& item, int64_t use);

  GraphFiles source_;
  uint64_t seed_;
  std::map<std::string, std::shared_ptr<const TensorFile>> files_;
};

}  // namespace tcc::yaml
