// Symbols that archives made by a newer compiler refer to, and the libraries of Debian 12 and
// Ubuntu 22.04 lack (docs/decisions/051-newer-compiler.md). Libraries that have a symbol define it
// themselves: where glibc has
// __isoc23_strtol, its headers also compile strtol as a call of it, so that the definition here
// would call itself.
#include <cstdlib>
#include <ios>

extern "C" {

#if !__GLIBC_PREREQ(2, 38)
// strtol of C23 also reads "0b1": glslang reads no number so.
long __isoc23_strtol(const char* text, char** end, int base) {
  return std::strtol(text, end, base);
}
unsigned long __isoc23_strtoul(const char* text, char** end, int base) {
  return std::strtoul(text, end, base);
}
long long __isoc23_strtoll(const char* text, char** end, int base) {
  return std::strtoll(text, end, base);
}
unsigned long long __isoc23_strtoull(const char* text, char** end, int base) {
  return std::strtoull(text, end, base);
}
#endif

#if _GLIBCXX_RELEASE < 13
// std::ios_base_library_init(): sources that include <iostream> ask for it instead of having an
// object of their own that initialises the streams.
void _ZSt21ios_base_library_initv() { static const std::ios_base::Init streams; }
#endif

}  // extern "C"
