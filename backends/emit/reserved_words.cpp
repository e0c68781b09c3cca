#include "backends/emit/reserved_words.h"

#include <cctype>
#include <sstream>

#include "backends/device_source.h"

namespace tcc::backends {
namespace {

// Names that every text defines, whatever its language.
constexpr std::string_view kWords = "f32 f64 i8 i16 i32 i64 u8 u16 u32 u64 WORKGROUP GRID INDEX";

using Reserved = sched::KernelNames::Reserved;

std::string_view word_at(std::string_view text, size_t at) {
  size_t end = at;
  while (end < text.size() &&
         (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_'))
    ++end;
  return text.substr(at, end - at);
}

void add_macros(std::string_view source, Reserved& words) {
  constexpr std::string_view define = "#define ";
  for (size_t at = source.find(define); at != std::string_view::npos;
       at = source.find(define, at)) {
    at += define.size();
    words.emplace(word_at(source, at));
  }
}

void add_words(std::string_view words, Reserved& to) {
  std::istringstream list{std::string(words)};
  for (std::string word; list >> word;) to.insert(word);
}

Reserved words_of(const Dialect& dialect) {
  Reserved words;
  add_words(kWords, words);
  add_words(dialect.reserved, words);
  add_macros(device_source(dialect.prelude), words);
  return words;
}

}  // namespace

Reserved reserved_words(const Dialect& dialect, const sched::Kernel& kernel) {
  Reserved words = words_of(dialect);
  words.insert(kernel.name);
  if (kernel.is_generated()) return words;
  for (const auto& [name, value] : kernel.defines) words.insert(name);
  for (const sched::Hook& hook : kernel.hooks) words.insert(hook.name);
  add_macros(
      device_source_with_includes(dialect.name + "/" + kernel.source + dialect.source_ending),
      words);
  return words;
}

}  // namespace tcc::backends
