#include "frontend/yaml/values.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "frontend/yaml/weight_data.h"
#include "ir/exact_double.h"
#include "ir/suggest.h"
#include "support/error.h"
#include "support/file.h"

namespace tcc::yaml {
namespace {

bool is_const(const ir::Shape& shape) {
  return std::all_of(shape.begin(), shape.end(),
                     [](const ir::SymInt& dim) { return dim.is_const(); });
}

Init constant_init(const Item& item, DType dtype) {
  if (const auto bits = item.unsigned_bits(); bits && dtype == DType::u64)
    return Init::whole(*bits);
  if (item.is_integer() && is_integer(dtype) && !ir::is_exact_double(item.integer())) {
    if (!ir::is_value_of(dtype, item.integer()))
      item.fail("does not fit into " + std::string(name(dtype)));
    return Init::whole(item.integer());
  }
  double value = item.number();
  if (!is_float(dtype) && (!std::isfinite(value) || round_to(dtype, value) != value))
    item.fail("does not fit into " + std::string(name(dtype)));
  return Init::constant(value);
}

Init read_init(const Item& item, DType dtype) {
  if (item.is_scalar()) {
    std::string text = item.text();
    if (text == "zeros") return Init::zeros();
    if (text == "ones") return Init::ones();
    item.fail("unknown initialiser '" + text +
              "'; there are zeros, ones, {normal: std}, {uniform: [lo, hi]}, {constant: x}, "
              "{integers: [lo, hi]}");
  }
  item.allow_keys({"normal", "uniform", "constant", "integers"});
  auto entries = item.map();
  if (entries.size() != 1) item.fail("must name one initialiser");
  const auto& [kind, value] = entries[0];
  if (kind == "constant") return constant_init(value, dtype);
  if (kind == "normal") {
    if (double std = value.number(); std >= 0 && std::isfinite(std)) return Init::normal(std);
    value.fail("the standard deviation must be finite and not negative");
  }
  if (kind == "integers") {
    auto [lo, hi] = integer_range(value, dtype);
    return Init::integers(lo, hi);
  }
  std::vector<Item> bounds = value.list();
  if (bounds.size() != 2) value.fail("must be [lo, hi]");
  double lo = bounds[0].number(), hi = bounds[1].number();
  if (!(lo <= hi) || !std::isfinite(lo) || !std::isfinite(hi))
    value.fail("must be finite and ascending");
  return Init::uniform(lo, hi);
}

std::string with_use(std::string text, int64_t use) {
  for (size_t at = text.find("{i}"); at != std::string::npos; at = text.find("{i}", at))
    text.replace(at, 3, std::to_string(use));
  return text;
}

}  // namespace

bool is_dim_name(std::string_view name) {
  return !name.empty() && name.size() <= 64 && !std::isdigit(static_cast<unsigned char>(name[0])) &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
         });
}

ir::SymInt identifier(const Item& item, const std::string& name) {
  if (!is_dim_name(name)) item.fail("a dim's name is letters, digits and _");
  return ir::SymInt::symbol(name);
}

bool is_value_name(std::string_view name) {
  const auto letter = [](char c) {
    return std::isalpha(static_cast<unsigned char>(c)) || c == '_';
  };
  const auto later = [&](char c) {
    return letter(c) || std::isdigit(static_cast<unsigned char>(c)) || c == '.' || c == '-' ||
           c == '/';
  };
  return !name.empty() && name.size() <= kMaxValueName && letter(name[0]) &&
         std::all_of(name.begin(), name.end(), later);
}

void value_name(const Item& item, const std::string& name) {
  if (!is_value_name(name))
    item.fail("'" + name.substr(0, 40) +
              "' cannot name a value: use a letter, then letters, digits, _ . - /");
}

DType dtype(const Item& item) {
  if (auto found = parse_dtype(item.text())) return *found;
  std::vector<std::string> names;
  for (const DTypeInfo& info : all_dtypes()) names.emplace_back(info.name);
  // The names of other frameworks.
  static constexpr std::pair<std::string_view, std::string_view> kElsewhere[] = {
      {"float64", "f64"},
      {"double", "f64"},
      {"float32", "f32"},
      {"float", "f32"},
      {"float16", "f16"},
      {"half", "f16"},
      {"bfloat16", "bf16"},
      {"float8_e4m3fn", "f8e4m3"},
      {"float8_e5m2", "f8e5m2"},
      {"int8", "i8"},
      {"int16", "i16"},
      {"int32", "i32"},
      {"int", "i32"},
      {"int64", "i64"},
      {"long", "i64"},
      {"uint8", "u8"},
      {"uint16", "u16"},
      {"uint32", "u32"},
      {"uint64", "u64"},
      {"boolean", "bool"}};
  std::string meant = or_known(item.text(), names);
  for (const auto& [elsewhere, here] : kElsewhere)
    if (item.text() == elsewhere) meant = str("; did you mean '", here, "'?");
  item.fail("unknown dtype '" + item.text() + "'" + meant);
}

std::pair<int64_t, int64_t> integer_range(const Item& item, DType dtype) {
  std::vector<Item> bounds = item.list();
  if (bounds.size() != 2) item.fail("must be [lo, hi]");
  int64_t lo = bounds[0].integer(), hi = bounds[1].integer();
  if (lo >= hi) item.fail("is empty");
  if (!is_float(dtype) && (wrap_to(dtype, lo) != lo || wrap_to(dtype, hi - 1) != hi - 1))
    item.fail(str("[", lo, ", ", hi, ") does not fit into ", name(dtype)));
  return {lo, hi};
}

ir::Shape shape(const Item& item) {
  ir::Shape shape;
  std::vector<Item> list = item.list();
  if (list.size() > kMaxFileRank)
    item.fail(str("a rank of ", list.size(), " is more than ", kMaxFileRank));
  for (const Item& dim : list) {
    shape.push_back(dim.dim());
    if (shape.back().is_const() && shape.back().value() < 0)
      dim.fail(str("a dim cannot be ", shape.back().value()));
  }
  return shape;
}

bool is_number(const Item& item) {
  if (!item.is_scalar() || item.is_quoted()) return false;
  std::string text = item.text();
  if (text.empty()) return false;
  unsigned char first = static_cast<unsigned char>(text[0]);
  return std::isdigit(first) || text[0] == '.' ||
         ((text[0] == '-' || text[0] == '+') && text.size() > 1);
}

ir::Value* scalar(ir::Builder& builder, const Item& item, const ir::Value* like) {
  std::string text = item.text();
  bool fraction =
      text.find_first_of(".eE") != std::string::npos || text.find("nf") != std::string::npos;
  const auto bits = like && like->dtype() == DType::u64 ? item.unsigned_bits() : std::nullopt;
  try {
    if (bits) return scalar(builder, *bits, like);
    if (!fraction && (!like || is_integer(like->dtype())))
      return scalar(builder, item.integer(), like);
    return scalar(builder, item.number(), like);
  } catch (const Error& error) {
    const std::string message = error.what();
    if (message.starts_with(ir::to_string(item.location()))) throw;
    item.fail(message);
  }
}

ir::Value* scalar(ir::Builder& builder, std::variant<int64_t, double> number,
                  const ir::Value* like) {
  const int64_t* integer = std::get_if<int64_t>(&number);
  if (integer && (!like || is_integer(like->dtype()))) {
    const DType dtype = like ? like->dtype() : DType::i64;
    if (wrap_to(dtype, *integer) != *integer) fail_input("does not fit into ", name(dtype));
    return builder.graph().add_constant("", {dtype, {}}, ir::make_scalar_int(dtype, *integer));
  }
  const DType dtype = like && is_float(like->dtype()) ? like->dtype() : DType::f32;
  return builder.scalar(dtype, integer ? static_cast<double>(*integer) : std::get<double>(number));
}

ir::Attr attribute(const Item& item, const ir::OpDef& op, const std::string& key) {
  auto def = std::find_if(op.attrs.begin(), op.attrs.end(),
                          [&](const ir::AttrDef& a) { return a.name == key; });
  if (def == op.attrs.end()) {
    std::string has;
    std::vector<std::string> keys = {"out", "op", "in"};  // which may be meant as well
    for (const ir::AttrDef& a : op.attrs) {
      has += (has.empty() ? "" : ", ") + a.name;
      keys.push_back(a.name);
    }
    item.fail(str("unknown attribute of '", op.name, "', which has ", has.empty() ? "none" : has,
                  ir::did_you_mean(key, keys)));
  }
  switch (def->type) {
    case ir::AttrType::boolean: return item.boolean();
    case ir::AttrType::integer: return item.integer();
    case ir::AttrType::number:
      if (item.is_integer() && !ir::is_exact_double(item.integer())) return item.integer();
      return item.number();
    case ir::AttrType::text: return item.text();
    case ir::AttrType::dtype: return dtype(item);
    case ir::AttrType::numbers: {
      std::vector<double> values;
      for (const Item& entry : item.is_list() ? item.list() : std::vector<Item>{item})
        values.push_back(entry.number());
      return values;
    }
    case ir::AttrType::ints: {
      std::vector<ir::SymInt> values;
      if (!item.is_list() && !def->scalar_to_list) item.fail("must be a list of integers");
      for (const Item& entry : item.is_list() ? item.list() : std::vector<Item>{item})
        values.push_back(entry.dim());
      return values;
    }
  }
  throw InternalError("an attribute type that YAML does not know");
}

Weight WeightReader::read(const Item& item, const std::string& name, int64_t use) {
  item.allow_keys({"dtype", "shape", "init", "file", "key", "mutable"});
  Weight weight;
  if (item.has("file")) {
    if (item.has("init")) item.fail("has both a file and an initialiser");
    weight = from_file(item, use);
  } else {
    if (!item.has("init")) item.fail("missing key 'init' or 'file'");
    weight.type = {dtype(item.at("dtype")), shape(item.at("shape"))};
    const bool is_bound = is_const(weight.type.shape);
    if (is_bound && !tensor_bytes(weight.type.dtype, ir::const_shape(weight.type.shape)))
      item.at("shape").fail("is too large");
    const Init init = read_init(item.at("init"), weight.type.dtype);
    const UnboundDrawn drawn({weight.type.dtype, init, stream_seed(seed_, name)});
    weight.data = is_bound ? drawn.bind(ir::const_shape(weight.type.shape))
                           : std::make_shared<UnboundDrawn>(drawn);
  }
  if (item.has("mutable")) weight.is_mutable = item.at("mutable").boolean();
  return weight;
}

Weight WeightReader::from_file(const Item& item, int64_t use) {
  Item file_item = item.at("file");
  std::string relative = with_use(file_item.text(), use);
  std::string key = item.has("key") ? with_use(item.at("key").text(), use) : "";
  std::shared_ptr<const TensorFile> file;
  TensorInfo info;
  try {
    const std::filesystem::path path = source_.place(relative);
    file = files_[path.string()];
    if (!file)
      file = files_[path.string()] = open_tensor_file(path, [&] { return source_.open(relative); });
    if (!file->contains(key)) fail_missing_tensor(path, *file, key);
    info = file->info(key);
  } catch (const Error& error) { file_item.fail(error.what()); }
  Weight weight;
  weight.type = {info.dtype, ir::Shape(info.shape.begin(), info.shape.end())};
  if (item.has("dtype") && dtype(item.at("dtype")) != info.dtype)
    item.at("dtype").fail(str(relative, " holds '", key, "' as ", name(info.dtype)));
  weight.data = ir::make_lazy_constant(
      [file, key] { return std::make_shared<const Tensor>(file->load(key)); });
  if (!item.has("shape")) return weight;
  ir::Shape given = shape(item.at("shape"));
  const bool is_bound = is_const(given);
  if (is_bound ? given != weight.type.shape : given.size() != weight.type.shape.size())
    item.at("shape").fail(str(relative, " holds '", key, "' as ", ir::to_string(weight.type)));
  if (is_bound) return weight;
  weight.data = std::make_shared<UnboundFile>(relative, weight.type, weight.data);
  weight.type.shape = std::move(given);
  return weight;
}

}  // namespace tcc::yaml
