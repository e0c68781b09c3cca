#include "frontend/yaml/weight_writer.h"

#include <algorithm>
#include <cmath>

#include "frontend/npz.h"
#include "frontend/safetensors.h"
#include "frontend/yaml/weight_data.h"
#include "frontend/yaml/writer_text.h"
#include "support/error.h"

namespace tcc::yaml {
namespace {

std::string constant_text(double value, const std::string& text) {
  if (value == 0 && !std::signbit(value)) return "zeros";
  return value == 1 ? "ones" : "{constant: " + text + "}";
}

std::string whole_text(int64_t value, DType dtype) {
  return dtype == DType::u64 ? std::to_string(static_cast<uint64_t>(value)) : std::to_string(value);
}

std::string init_text(const Init& init, DType dtype) {
  switch (init.kind) {
    case Init::Kind::constant:
      if (init.whole_value) return "{constant: " + whole_text(*init.whole_value, dtype) + "}";
      return constant_text(init.a, number_text(init.a));
    case Init::Kind::normal: return "{normal: " + number_text(init.a) + "}";
    case Init::Kind::uniform:
      return str("{uniform: [", number_text(init.a), ", ", number_text(init.b), "]}");
    case Init::Kind::integers: return str("{integers: [", init.int_low, ", ", init.int_high, "]}");
  }
  throw InternalError("an initialiser that YAML does not know");
}

const Drawn* drawn_of(const ir::ConstantData& data) {
  if (const auto* bound = dynamic_cast<const DrawnConstant*>(&data)) return &bound->drawn();
  const auto* unbound = dynamic_cast<const UnboundDrawn*>(&data);
  return unbound ? &unbound->drawn() : nullptr;
}

// Returns the `init` that draws the same numbers under this name and seed 0, the default seed of
// graph files; "" where there is none.
std::string init_of(const ir::Value& value, const std::string& name) {
  if (const Drawn* drawn = drawn_of(*value.data))
    if (drawn->init.kind == Init::Kind::constant || drawn->seed == stream_seed(0, name))
      return init_text(drawn->init, drawn->dtype);
  const auto splat = value.data->splat();
  // A NaN has a sign and a payload; a large integer is not exact as a number.
  if (!splat || std::isnan(*splat)) return "";
  if (!is_float(value.dtype()) && std::fabs(*splat) > 0x1p53) return "";
  const bool is_exact = value.dtype() == DType::f64 || !is_float(value.dtype());
  return constant_text(*splat, number_text(*splat, is_exact ? DType::f64 : DType::f32));
}

// The tensor that goes into the file, whose shape has no symbols.
const ir::ConstantData& file_data(const ir::Value& value) {
  const auto* unbound = dynamic_cast<const UnboundFile*>(value.data.get());
  return unbound ? *unbound->file_data() : *value.data;
}

TensorInfo file_info(const ir::Value& value) {
  const auto* unbound = dynamic_cast<const UnboundFile*>(value.data.get());
  return {value.dtype(),
          unbound ? ir::const_shape(unbound->file_type().shape) : ir::const_shape(value)};
}

}  // namespace

WeightWriter::WeightWriter(const ir::Graph& graph, const WriterNames& names) : names_(names) {
  for (const auto& value : graph.values()) {
    if (!value->data) continue;
    Entry entry{value.get(), init_of(*value, names.of(value.get()))};
    if (entry.init.empty() && dynamic_cast<const UnboundDrawn*>(value->data.get()))
      fail_input("weight '", value->name, "' is drawn from another name or seed than '",
                 names.of(value.get()), "' and 0, and its shape ",
                 ir::to_string(std::span(value->shape())),
                 " has dims without numbers: it cannot be written");
    any_file_ |= entry.init.empty();
    fits_npz_ &= !entry.init.empty() || has_npy_code(value->dtype());
    entries_.push_back(std::move(entry));
  }
}

std::string WeightWriter::file_name() const {
  return fits_npz_ ? "weights.npz" : "weights.safetensors";
}

std::string WeightWriter::text() const {
  std::string text;
  for (const Entry& entry : entries_)
    if (entry.value->is_constant())
      text += line(*entry.value, &entry, entry.value->is_mutable ? ", mutable: true" : "");
  return text;
}

std::string WeightWriter::states_text(const ir::Graph& graph) const {
  std::string text;
  for (const ir::Value* state : graph.states) {
    const auto entry = std::ranges::find(entries_, state, &Entry::value);
    text += line(*state, entry == entries_.end() ? nullptr : &*entry, "");
  }
  return text;
}

std::string WeightWriter::line(const ir::Value& value, const Entry* entry,
                               std::string_view rest) const {
  const std::string& name = names_.of(&value);
  std::string data;
  if (entry)
    data = entry->init.empty() ? str(", file: ", file_name(), ", key: ", name_text(name))
                               : ", init: " + entry->init;
  return str("  ", name_text(name), ": {dtype: ", tcc::name(value.dtype()),
             ", shape: ", shape_text(value), data, rest, "}\n");
}

void WeightWriter::write_file(const std::filesystem::path& folder) const {
  if (!any_file_) return;
  std::vector<const ir::Value*> values;
  for (const auto& [value, init] : entries_)
    if (init.empty()) values.push_back(value);
  if (!fits_npz_) {
    std::vector<std::pair<std::string, TensorInfo>> tensors;
    for (const ir::Value* value : values) tensors.emplace_back(names_.of(value), file_info(*value));
    write_safetensors(folder / file_name(), tensors,
                      [&](size_t k) { return file_data(*values[k]).load(); });
    return;
  }
  ZipWriter writer(folder / file_name());
  for (const ir::Value* value : values) {
    const TensorPtr tensor = file_data(*value).load();
    const TensorInfo info = file_info(*value);
    TCC_CHECK(tensor->dtype() == info.dtype && tensor->shape() == info.shape, "weight ",
              value->name, " is ", type_text(tensor->dtype(), tensor->shape()));
    writer.add(names_.of(value) + ".npy", npy_header_text(info.dtype, info.shape),
               {tensor->data(), tensor->bytes()});
  }
  writer.commit();
}

}  // namespace tcc::yaml
