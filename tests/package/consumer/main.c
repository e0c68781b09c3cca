/* The C ABI's header is C, the library loads from where it was installed, and errors are values. */
#include <stdio.h>
#include <string.h>
#include <tcc/c_api.h>

int main(void) {
  tcc_graph* graph = NULL;
  if (tcc_graph_load("no/such/graph.yaml", &graph) != TCC_BAD_INPUT || graph) return 1;
  if (!strstr(tcc_last_error(), "graph.yaml")) return 2;
  printf("tcc %s\n", tcc_version());
  return 0;
}
