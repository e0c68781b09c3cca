#include "tests/fuzz/random_recurrent.h"

#include <string>
#include <vector>

#include "frontend/graph_file.h"
#include "support/error.h"
#include "tests/fuzz/random_source.h"

namespace tcc::test {

ir::Graph random_recurrent(uint64_t seed) {
  RandomSource random(seed);
  const std::string op = random.one_of({"lstm", "lstm", "gru", "gru", "rnn"});
  const int64_t gates = op == "lstm" ? 4 : op == "gru" ? 3 : 1;
  const std::vector<int64_t> sizes = {1, 2, 3, 5, 8, 13, 16, 32, 33, 60, 72};
  const int64_t hidden = random.one_of(sizes), inputs = random.between(1, 9);
  const int64_t batch = random.one_of(std::vector<int64_t>{1, 1, 2, 3, 5, 7, 9, 17});
  const int64_t steps = random.one_of(std::vector<int64_t>{1, 2, 3, 4, 6});
  const std::string direction = random.one_of({"forward", "reverse", "bidirectional"});
  const int64_t d = direction == "bidirectional" ? 2 : 1;
  const std::string dtype = random.one_of({"f32", "f32", "f16", "bf16"});
  const bool batched = random.chance(25);
  const auto shape = [](std::initializer_list<int64_t> dims) {
    std::string text;
    for (const int64_t dim : dims) text += str(text.empty() ? "" : ", ", dim);
    return str("[", text, "]");
  };
  const auto state = [&] {
    return batched ? shape({batch, d, hidden}) : shape({d, batch, hidden});
  };
  std::string given = str(
      "x: {dtype: ", dtype,
      ", shape: ", batched ? shape({batch, steps, inputs}) : shape({steps, batch, inputs}), "}");
  std::string operands = "x, w, r";
  // Weights are so small that differences do not grow from step to step.
  std::string weights = str("w: {dtype: ", dtype, ", shape: ", shape({d, gates * hidden, inputs}),
                            ", init: {normal: 0.4}}, r: {dtype: ", dtype,
                            ", shape: ", shape({d, gates * hidden, hidden}),
                            ", init: {normal: ", hidden > 8 ? 0.1 : 0.3, "}}");
  // Operands that may be omitted; those behind the last one given are left out.
  std::vector<std::string> optional = {"bias", "lengths", "h0"};
  if (op == "lstm") optional.insert(optional.end(), {"c0", "peepholes"});
  std::string omitted;
  for (const std::string& name : optional) {
    if (!random.chance(name == "bias" ? 70 : 30)) {
      omitted += ", null";
      continue;
    }
    operands += omitted + ", " + name;
    omitted.clear();
    if (name == "bias")
      weights += str(", bias: {dtype: ", dtype, ", shape: ", shape({d, 2 * gates * hidden}),
                     ", init: {normal: 0.3}}");
    else if (name == "lengths")
      given += str(", lengths: {dtype: ", random.one_of({"i32", "i64"}), ", shape: [", batch, "]}");
    else if (name == "peepholes")
      weights += str(", peepholes: {dtype: ", dtype, ", shape: ", shape({d, 3 * hidden}),
                     ", init: {normal: 0.3}}");
    else
      given += str(", ", name, ": {dtype: ", dtype, ", shape: ", state(), "}");
  }
  std::string attrs = str("direction: ", direction, ", layout: ", batched ? 1 : 0);
  if (op == "gru" && random.chance(75)) attrs += ", linear_before_reset: true";
  if (op == "lstm" && random.chance(20)) attrs += ", input_forget: true";
  if (random.chance(20)) attrs += ", clip: 0.75";
  if (random.chance(25)) {
    std::string names;
    const int64_t functions = (op == "lstm" ? 3 : op == "gru" ? 2 : 1) * d;
    for (int64_t k = 0; k < functions; ++k)
      names += str(k ? " " : "", random.one_of({"sigmoid", "tanh", "softsign", "hard_sigmoid"}));
    attrs += str(", activations: \"", names, "\"");
  }
  const std::string results = op == "lstm" ? "out, h, c" : "out, h";
  const std::string outputs = random.chance(50) ? results : random.chance(50) ? "out" : "h";
  return parse_yaml_graph(str("tcc: 1\nname: g\ninputs: {", given, "}\nweights: {", weights,
                              "}\nnodes: [{out: [", results, "], op: ", op, ", in: [", operands,
                              "], ", attrs, "}]\noutputs: [", outputs, "]\n"),
                          "g.yaml", ".");
}

}  // namespace tcc::test
