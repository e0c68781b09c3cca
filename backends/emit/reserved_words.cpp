#include "backends/emit/reserved_words.h"

#include <cctype>
#include <sstream>

#include "backends/device_source.h"

namespace tcc::backends {
namespace {

constexpr std::string_view kWords =
    // C++ and CUDA
    "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t "
    "char8_t class co_await co_return co_yield compl concept const const_cast consteval constexpr "
    "constinit continue decltype default delete do double dynamic_cast else enum explicit export "
    "extern false float for friend goto if inline int long mutable namespace new noexcept not "
    "not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires "
    "return short signed sizeof static static_assert static_cast struct switch template this "
    "thread_local throw true try typedef typeid typename union unsigned using virtual void "
    "volatile "
    "wchar_t while xor xor_eq blockDim blockIdx gridDim threadIdx warpSize NULL "
    // GLSL
    "active atomic_uint attribute buffer cast centroid coherent common demote discard dmat2 dmat3 "
    "dmat4 dvec2 dvec3 dvec4 external filter fixed flat fvec2 fvec3 fvec4 half highp hvec2 hvec3 "
    "hvec4 image1D image2D image3D in inout input interface invariant invocations isampler2D ivec2 "
    "ivec3 ivec4 layout lowp main mat2 mat3 mat4 mediump noinline noperspective out output "
    "partition patch precise precision readonly resource restrict sample sampler sampler1D "
    "sampler2D sampler3D shared smooth subroutine superp texture uniform usampler2D uvec2 uvec3 "
    "uvec4 varying vec2 vec3 vec4 writeonly "
    // Functions and types that printed text uses
    "abs acos acosh asin asinh atan atanh barrier bvec2 ceil clamp cos cosh exp exp2 findMSB "
    "floatBitsToUint floor fma fract inversesqrt isinf isnan log log2 max min mix mod "
    "packDouble2x32 packInt2x32 packUint2x32 pow round roundEven sign sin sinh sqrt "
    "subgroupShuffleXor "
    "tan tanh trunc uintBitsToFloat umulExtended unpackDouble2x32 unpackUint2x32 uint uint2 uint3 "
    "uint4 make_uint2 make_uint3 make_uint4 TensorMap tcc params tcc_parameters "
    // Types of the preludes, and what the emitter defines
    "f32 f64 i8 i16 i32 i64 u8 u16 u32 u64 Arguments Table Words1 Words2 Words4 WORKGROUP GRID "
    "INDEX";

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

Reserved words_of(const Dialect& dialect) {
  Reserved words;
  std::istringstream list{std::string(kWords)};
  for (std::string word; list >> word;) words.insert(word);
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
