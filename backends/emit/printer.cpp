#include "backends/emit/printer.h"

#include <algorithm>

#include "backends/emit/scalar_table.h"
#include "scheduler/index_range.h"
#include "scheduler/legalize.h"
#include "support/error.h"

namespace tcc::backends {

using ir::ExprNode;
using sched::Stmt;

Printer::Printer(const sched::Kernel& kernel, const Dialect& dialect, sched::KernelNames& names)
    : kernel_(kernel), dialect_(dialect), names_(names) {
  for (const sched::Array& array : kernel.shared) arrays_[array.variable.id] = array.variable.dtype;
}

std::string buffer_name(int buffer) { return "b" + std::to_string(buffer); }

std::string buffer_type(const sched::Argument& argument) {
  const bool updated = argument.access == sched::Argument::Access::read_write;
  return std::string(updated                 ? "InOut_"
                     : argument.is_written() ? "Out_"
                                             : "In_") +
         std::string(tcc::name(argument.dtype));
}

std::string without_parentheses(const std::string& text) {
  if (text.size() < 2 || text.front() != '(' || text.back() != ')') return text;
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')' && --depth == 0 && i + 1 < text.size()) return text;
  }
  return text.substr(1, text.size() - 2);
}

void Printer::line(const std::string& text) {
  text_ += std::string(static_cast<size_t>(indent_) * 2, ' ') + text + "\n";
}

void Printer::block(const sched::Block& block) {
  for (const Stmt& stmt : block) {
    // The next statement computes anew what one shared: variables may have changed in between.
    uses_.clear();
    shared_.clear();
    statement(stmt);
  }
}

void Printer::scoped(const sched::Block& body) {
  Atoms indirect = indirect_;
  ++indent_;
  block(body);
  --indent_;
  indirect_ = std::move(indirect);
}

void Printer::loop(const SymInt& axis, bool unroll, const sched::Block& body) {
  if (axis.is_const()) {  // one iteration
    line("{");
    scoped(body);
    line("}");
    return;
  }
  if (unroll) line(dialect_.unroll);
  line(loop_head(axis));
  scoped(body);
  line("}");
}

std::string Printer::loop_head(const SymInt& axis) {
  const std::string& name = names_.of(*axis.as_atom());
  return "for (" + index_type() + " " + name + " = 0; " + name + " < " +
         index_operand(ir::extent_of(axis)) + "; ++" + name + ") {";
}

void Printer::statement(const Stmt& stmt) {
  switch (stmt.kind) {
    case Stmt::Kind::let_index:
      if (stmt.axis.is_const()) return;
      line(index_type() + " " + names_.of(*stmt.axis.as_atom()) + " = " + index(stmt.index) + ";");
      return;
    case Stmt::Kind::declare: {
      std::string value = expression(stmt.value);
      line(compute_type(stmt.variable.dtype) + " " + names_.of(stmt.variable) + " = " +
           without_parentheses(value) + ";");
      return;
    }
    case Stmt::Kind::assign: {
      std::string value = expression(stmt.value);
      line(names_.of(stmt.variable) + " = " + without_parentheses(value) + ";");
      return;
    }
    case Stmt::Kind::array:
      arrays_[stmt.variable.id] = stmt.variable.dtype;
      line(compute_type(stmt.variable.dtype) + " " + names_.of(stmt.variable) + "[" +
           std::to_string(stmt.count) + "];");
      return;
    case Stmt::Kind::set_element: {
      std::string value = expression(stmt.value), at = array_index(stmt.index);
      line(names_.of(stmt.variable) + "[" + at + "] = " + without_parentheses(value) + ";");
      return;
    }
    case Stmt::Kind::store: {
      std::string value = expression(stmt.value), element = buffer_element(stmt.buffer, stmt.index);
      DType stored = kernel_.arguments[static_cast<size_t>(stmt.buffer)].dtype;
      const std::string& storage = dialect_.storage.at(stored);
      if (!is_float(stmt.value->dtype) && is_float(stored)) stored = stmt.value->dtype;  // its bits
      line(element + " = " +
           to_storage(stored, stmt.value->dtype, without_parentheses(value), storage) + ";");
      return;
    }
    case Stmt::Kind::load_vector: load_vector(stmt); return;
    case Stmt::Kind::store_vector: store_vector(stmt); return;
    case Stmt::Kind::loop: loop(stmt.axis, stmt.unroll, stmt.body); return;
    case Stmt::Kind::branch: {
      std::string condition = expression(stmt.value);
      line("if (" + without_parentheses(condition) + ") {");
      scoped(stmt.body);
      if (!stmt.otherwise.empty()) {
        line("} else {");
        scoped(stmt.otherwise);
      }
      line("}");
      return;
    }
    case Stmt::Kind::barrier: line(dialect_.barrier); return;
    case Stmt::Kind::reload:
      if (!dialect_.reload.empty()) line(dialect_.reload);
      return;
    case Stmt::Kind::cluster_arrive: line(dialect_.cluster_arrive); return;
    case Stmt::Kind::cluster_wait: line(dialect_.cluster_wait); return;
    case Stmt::Kind::expect_bytes:
      line(fill(dialect_.expect_bytes, {{"exchanges", names_.of(stmt.variable)},
                                        {"exchange", index_operand(stmt.index)},
                                        {"bytes", std::to_string(stmt.count)}}));
      return;
    case Stmt::Kind::send_cluster:
      line(fill(dialect_.send_cluster, {{"exchanges", names_.of(stmt.variable)},
                                        {"exchange", index_operand(stmt.index)},
                                        {"array", names_.of(stmt.variables[1])},
                                        {"value", names_.of(stmt.variables[0])},
                                        {"ranks", std::to_string(stmt.count)}}));
      return;
    case Stmt::Kind::await_bytes:
      line(fill(dialect_.await_bytes, {{"exchanges", names_.of(stmt.variable)},
                                       {"exchange", index_operand(stmt.index)}}));
      return;
    case Stmt::Kind::return_value: {
      std::string value = expression(stmt.value);
      line("return " + without_parentheses(value) + ";");
      return;
    }
    case Stmt::Kind::reduce_lanes:
    case Stmt::Kind::scan_lanes:
    case Stmt::Kind::gather_cluster: break;
  }
  throw InternalError("a kernel was printed before it was legalised");
}

// Checks that legalize found an access of `words` 32-bit words to this buffer.
void Printer::check_vector(int buffer, int words) const {
  const sched::Requirements& given = kernel_.requirements;
  TCC_CHECK(given.vector_words.contains(words) &&
                given.alignments.at(static_cast<size_t>(buffer)) >= 4 * words,
            kernel_.name, ": b", buffer, " is accessed in ", words,
            " words, which it does not require");
}

namespace {

// The elements in one 32-bit word.
std::vector<std::string> unpack(DType stored, const std::string& word) {
  switch (stored) {
    case DType::f32: return {"tcc_bits_f32(" + word + ")"};
    case DType::i32: return {"i32(" + word + ")"};
    case DType::u32: return {word};
    case DType::bf16:
      return {"tcc_bits_f32(" + word + " << 16)", "tcc_bits_f32(" + word + " & 0xffff0000u)"};
    case DType::f16:
      return {"tcc_f16_to_f32(" + word + " & 0xffffu)", "tcc_f16_to_f32(" + word + " >> 16)"};
    case DType::i16: return {"(i32(" + word + " << 16) >> 16)", "(i32(" + word + ") >> 16)"};
    case DType::u16: return {"(" + word + " & 0xffffu)", "(" + word + " >> 16)"};
    case DType::i8:
      return {"(i32(" + word + " << 24) >> 24)", "(i32(" + word + " << 16) >> 24)",
              "(i32(" + word + " << 8) >> 24)", "(i32(" + word + ") >> 24)"};
    case DType::f8e4m3:
    case DType::f8e5m2: {
      const std::string widen = "tcc_" + std::string(name(stored)) + "_to_f32(" + word;
      return {widen + " & 0xffu)", widen + " >> 8 & 0xffu)", widen + " >> 16 & 0xffu)",
              widen + " >> 24)"};
    }
    case DType::u8:
      return {"(" + word + " & 0xffu)", "(" + word + " >> 8 & 0xffu)",
              "(" + word + " >> 16 & 0xffu)", "(" + word + " >> 24)"};
    case DType::boolean:
      return {"((" + word + " & 0xffu) != 0u)", "((" + word + " & 0xff00u) != 0u)",
              "((" + word + " & 0xff0000u) != 0u)", "((" + word + " & 0xff000000u) != 0u)"};
    default: break;
  }
  throw InternalError("no vector access of this dtype");
}

std::string pack(DType stored, const std::vector<std::string>& values) {
  if (is_low_precision(stored)) {
    std::string list;
    for (const std::string& value : values) list += (list.empty() ? "" : ", ") + value;
    return "tcc_pack_" + std::string(name(stored)) + "(" + list + ")";
  }
  if (values.size() == 2)
    return "(u32(" + values[0] + ") & 0xffffu) | (u32(" + values[1] + ") << 16)";
  if (values.size() == 4)
    return "(u32(" + values[0] + ") & 0xffu) | ((u32(" + values[1] + ") & 0xffu) << 8) | ((u32(" +
           values[2] + ") & 0xffu) << 16) | (u32(" + values[3] + ") << 24)";
  return stored == DType::f32 ? "tcc_f32_bits(" + values[0] + ")" : "u32(" + values[0] + ")";
}

}  // namespace

std::string Printer::vector_word(const std::string& vector, int words, int i) const {
  if (words == 1) return vector;
  return fill(dialect_.vector_word, {{"vector", vector}, {"component", std::string(1, "xyzw"[i])}});
}

// Returns the type as which the elements of a vector access are read or written: an array of
// integers holds the bits of narrow floats.
DType Printer::accessed_as(const Stmt& stmt) const {
  const DType stored = kernel_.arguments[static_cast<size_t>(stmt.buffer)].dtype;
  const auto found = arrays_.find(stmt.variable.id);
  const bool holds_bits = found != arrays_.end() && !is_float(found->second);
  return is_low_precision(stored) && holds_bits ? found->second : stored;
}

void Printer::load_vector(const Stmt& stmt) {
  DType stored = accessed_as(stmt);
  const int elements = sched::vector_elements(kernel_, stmt);
  const std::string& array = names_.of(stmt.variable);
  const std::string where =
      stmt.value ? "if (" + without_parentheses(expression(stmt.value)) + ") " : "";
  if (sched::is_half_word(kernel_, stmt) && !dialect_.half_word_load.empty() && !is_far()) {
    const std::string word = names_.fresh("w");
    const std::string source =
        fill(dialect_.half_word_load,
             {{"buffer", buffer_name(stmt.buffer)}, {"index", index(floordiv(stmt.index, 2))}});
    if (stmt.value) line("u32 " + word + " = 0u;");
    line((stmt.value ? where : "u32 ") + word + " = u32(" + source + ");");
    const std::vector<std::string> parts = unpack(stored, word);
    for (size_t i = 0; i < 2; ++i)
      line(array + "[" + std::to_string(i) + "] = " + without_parentheses(parts[i]) + ";");
    return;
  }
  if (elements == 1) {
    const DType dtype = compute_dtype(stmt.variable.dtype);
    const std::string zero =
        constant(is_float(dtype) ? ir::constant(dtype, 0) : ir::constant_int(dtype, 0));
    for (int64_t i = 0; i < stmt.count; ++i) {
      const std::string element = array + "[" + std::to_string(i) + "] = ";
      if (stmt.value) line(element + zero + ";");
      line(where + element + from_storage(stored, buffer_element(stmt.buffer, stmt.index + i)) +
           ";");
    }
    return;
  }
  int per_word = 4 / size_bytes(stored), words = elements / per_word;
  check_vector(stmt.buffer, words);
  std::string type = words == 1 ? "u32" : fill(dialect_.word, {{"words", std::to_string(words)}});
  std::string zeros = "0u";
  for (int w = 1; w < words; ++w) zeros += ", 0u";
  const std::string zero = words == 1 ? zeros
                                      : fill(dialect_.vector_make,
                                             {{"words", std::to_string(words)}, {"values", zeros}});
  const bool early = stmt.early && !dialect_.early_vector_load.empty();
  const std::string& load = early ? dialect_.early_vector_load : dialect_.vector_load;
  for (int64_t start = 0; start < stmt.count; start += elements) {
    std::string vector = names_.fresh("w");
    std::string at = index(floordiv(stmt.index + start, elements));
    std::string count = std::to_string(words);
    std::string source = is_far() ? far_element("Words" + count, stmt.buffer, at, words * 4)
                                  : fill(load, {{"word", type},
                                                {"words", count},
                                                {"buffer", buffer_name(stmt.buffer)},
                                                {"index", at}});
    if (stmt.value) line(type + " " + vector + " = " + zero + ";");
    line((stmt.value ? where : type + " ") + vector + " = " + source + ";");
    for (int w = 0; w < words; ++w) {
      std::vector<std::string> parts = unpack(stored, vector_word(vector, words, w));
      for (int p = 0; p < per_word; ++p)
        line(array + "[" + std::to_string(start + w * per_word + p) +
             "] = " + without_parentheses(parts[static_cast<size_t>(p)]) + ";");
    }
  }
}

void Printer::store_vector(const Stmt& stmt) {
  DType stored = accessed_as(stmt);
  DType from = compute_dtype(stored);
  const int elements = sched::vector_elements(kernel_, stmt);
  auto element = [&](int64_t i) {
    return names_.of(stmt.variable) + "[" + std::to_string(i) + "]";
  };
  const std::string condition = stmt.value ? without_parentheses(expression(stmt.value)) : "",
                    where = stmt.value ? "if (" + condition + ") " : "";
  if (elements == 1) {
    for (int64_t i = 0; i < stmt.count; ++i)
      line(where + buffer_element(stmt.buffer, stmt.index + i) + " = " +
           to_storage(stored, from, element(i), dialect_.storage.at(stored)) + ";");
    return;
  }
  int per_word = 4 / size_bytes(stored), words = elements / per_word;
  check_vector(stmt.buffer, words);
  std::string type = words == 1 ? "u32" : fill(dialect_.word, {{"words", std::to_string(words)}});
  for (int64_t start = 0; start < stmt.count; start += elements) {
    std::string values;
    for (int w = 0; w < words; ++w) {
      std::vector<std::string> parts;
      for (int p = 0; p < per_word; ++p) parts.push_back(element(start + w * per_word + p));
      values += (w ? ", " : "") + pack(stored, parts);
    }
    std::string vector = words == 1 ? values
                                    : fill(dialect_.vector_make,
                                           {{"words", std::to_string(words)}, {"values", values}});
    std::string at = index(floordiv(stmt.index + start, elements));
    std::string count = std::to_string(words);
    const bool is_one = stmt.value && !is_far() && !dialect_.vector_store_where.empty();
    const std::string& store = is_one ? dialect_.vector_store_where : dialect_.vector_store;
    line((is_one ? "" : where) +
         (is_far() ? far_element("Words" + count, stmt.buffer, at, words * 4) + " = " + vector
                   : fill(store, {{"word", type},
                                  {"words", count},
                                  {"buffer", buffer_name(stmt.buffer)},
                                  {"index", at},
                                  {"value", vector},
                                  {"condition", condition}})) +
         ";");
  }
}

std::string Printer::far_element(const std::string& type, int buffer, const std::string& at,
                                 int bytes) const {
  return fill(dialect_.far_element, {{"type", type},
                                     {"buffer", buffer_name(buffer)},
                                     {"index", at},
                                     {"bytes", std::to_string(bytes)}});
}

std::string Printer::buffer_element(int buffer, const SymInt& offset) {
  const sched::Argument& argument = kernel_.arguments[static_cast<size_t>(buffer)];
  if (is_far())
    return far_element(buffer_type(argument), buffer, index(offset), size_bytes(argument.dtype));
  return fill(dialect_.element, {{"buffer", buffer_name(buffer)}, {"index", index(offset)}});
}

// ---- indices

std::string Printer::index_constant(int64_t value) const {
  if (value > INT32_MAX || value < INT32_MIN)
    return fill(dialect_.int64_literal, {{"value", std::to_string(value)}});
  return std::to_string(value);
}

std::string Printer::index(const SymInt& value) {
  if (value.is_const()) return index_constant(value.value());
  std::string text;
  for (const auto& term : value.terms()) {
    int64_t coefficient = term.coefficient;
    if (text.empty())
      text = coefficient < 0 ? "-" : "";
    else
      text += coefficient < 0 ? " - " : " + ";
    std::string product;
    for (const auto& a : term.atoms) product += (product.empty() ? "" : " * ") + atom(a);
    int64_t magnitude = coefficient < 0 ? -coefficient : coefficient;
    text += magnitude == 1 ? product : product + " * " + index_constant(magnitude);
  }
  if (value.constant() != 0)
    text += value.constant() < 0 ? " - " + index_constant(-value.constant())
                                 : " + " + index_constant(value.constant());
  return without_parentheses(text);
}

// GLSL subscripts arrays with 32 bits only; those of a kernel are small.
std::string Printer::array_index(const SymInt& value) {
  std::string text = index(value);
  return kernel_.wide_index && !value.is_const() ? "i32(" + text + ")" : text;
}

std::string Printer::index_operand(const SymInt& value) {
  std::string text = index(value);
  bool simple = text.find(' ') == std::string::npos && text[0] != '-';
  return simple ? text : "(" + text + ")";
}

std::string Printer::atom(const ir::AtomPtr& atom) {
  using AtomKind = ir::Atom::Kind;
  switch (atom->kind) {
    case AtomKind::symbol: return sched::size_name(atom->name);
    case AtomKind::axis: return names_.of(*atom);
    case AtomKind::indirect: {
      const std::string& name = names_.of(*atom);
      if (!indirect_.insert(atom).second) return name;
      count_uses(atom->value);
      const std::string value = render(atom->value);
      line(index_type() + " " + name + " = " + index_type() + "(" + without_parentheses(value) +
           ");");
      return name;
    }
    case AtomKind::floordiv:
    case AtomKind::mod: {
      const SymInt &a = atom->args[0], &b = atom->args[1];
      bool division = atom->kind == AtomKind::floordiv;
      if (b.is_const() && (b.value() & (b.value() - 1)) == 0) {
        int shift = 0;
        while ((int64_t{1} << shift) < b.value()) ++shift;
        return "(" + index_operand(a) +
               (division ? " >> " + std::to_string(shift) : " & " + index_constant(b.value() - 1)) +
               ")";
      }
      const std::string function = sched::index_function(*atom, index_type());
      if (function.empty() && kernel_.wide_index)  // both fit
        return "i64(i32(" + index(a) + ")" + (division ? " / " : " % ") +
               (b.is_const() ? index_operand(b) : "i32(" + index(b) + ")") + ")";
      if (function.empty())
        return "(" + index_operand(a) + (division ? " / " : " % ") + index_operand(b) + ")";
      return "tcc_" + function + "(" + index(a) + ", " + index(b) + ")";
    }
    case AtomKind::min:
    case AtomKind::max: {
      auto argument = [&](const SymInt& value) {
        return kernel_.wide_index ? "i64(" + index(value) + ")" : index(value);
      };
      return std::string(atom->kind == AtomKind::min ? "min(" : "max(") + argument(atom->args[0]) +
             ", " + argument(atom->args[1]) + ")";
    }
  }
  throw InternalError("an atom of unknown kind");
}

}  // namespace tcc::backends
