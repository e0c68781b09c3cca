// Both public headers work in one C++ translation unit, with nothing else on the include path, and
// the library's errors are caught by type.
#include <tcc/c_api.h>

#include <string>
#include <tcc/tcc.hpp>

int main() {
  try {
    tcc::Graph::load("no/such/graph.yaml");
  } catch (const tcc::Error& error) {
    return error.kind() == tcc::ErrorKind::bad_input && tcc::version() == tcc_version() ? 0 : 1;
  }
  return 2;
}
