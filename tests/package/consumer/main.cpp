// Both public headers work in one C++ translation unit, and with nothing else on the include path.
#include <tcc/c_api.h>
#if __has_include(<tcc/tcc.hpp>)
#include <tcc/tcc.hpp>
#endif

int main() { return 0; }
