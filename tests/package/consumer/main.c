/* The C ABI's header is C, and the library loads from where it was installed. */
#include <tcc/c_api.h>

int main(void) { return 0; }
