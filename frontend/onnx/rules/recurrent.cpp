// LSTM, GRU, RNN: the ops have the operands and layouts of the format.
#include "frontend/onnx/rules.h"
#include "frontend/onnx/rules/_common.h"
#include "support/error.h"

namespace tcc::onnx {
namespace {

// Attributes that the three share.
ir::Attrs common(OpNode& n) {
  ir::Attrs attrs = {{"direction", n.text("direction", "forward")},
                     {"layout", n.integer("layout", 0)}};
  std::string activations;
  for (const std::string& name : n.texts_attr("activations")) {
    n.require(name.find(' ') == std::string::npos, "an activation's name has a space");
    activations += (activations.empty() ? "" : " ") + name;
  }
  if (!activations.empty()) attrs["activations"] = activations;
  if (n.has("activation_alpha")) attrs["activation_alpha"] = n.numbers_attr("activation_alpha");
  if (n.has("activation_beta")) attrs["activation_beta"] = n.numbers_attr("activation_beta");
  if (n.has("clip")) attrs["clip"] = n.number("clip", 0);
  n.ignore("hidden_size");  // the weights say it
  n.ignore("output_sequence");
  return attrs;
}

Results layer(OpNode& n, std::string_view op, const ir::Attrs& attrs, size_t operands) {
  std::vector<Value*> inputs;
  for (size_t k = 0; k < operands; ++k) inputs.push_back(n.maybe(k));
  return all_of(n.b.ops(op, inputs, attrs));
}

Results lstm(OpNode& n) {
  ir::Attrs attrs = common(n);
  attrs["input_forget"] = n.flag("input_forget", false);
  return layer(n, "lstm", attrs, 8);
}

Results gru(OpNode& n) {
  ir::Attrs attrs = common(n);
  attrs["linear_before_reset"] = n.flag("linear_before_reset", false);
  return layer(n, "gru", attrs, 6);
}

// com.microsoft: weights are [D, input or hidden, 4 * hidden]; behind the operands of LSTM come
// their scales and zero points.
Results quantized_lstm(OpNode& n) {
  ir::Attrs attrs = common(n);
  attrs["input_forget"] = n.flag("input_forget", false);
  std::vector<Value*> inputs;
  for (size_t k = 0; k < 12; ++k) inputs.push_back(n.maybe(k));
  for (const size_t k : {1, 2}) {
    n.require(inputs[k] && inputs[k]->rank() == 3, str("input ", k, " must have three dims"));
    inputs[k] = n.b.transpose(inputs[k], 1, 2);
  }
  return all_of(n.b.ops("dynamic_quantized_lstm", inputs, attrs));
}

Results rnn(OpNode& n) { return layer(n, "rnn", common(n), 6); }

constexpr Rule kRecurrentRules[] = {
    {"DynamicQuantizeLSTM", quantized_lstm, "com.microsoft"},
    {"GRU", gru},
    {"LSTM", lstm},
    {"RNN", rnn},
};

}  // namespace

std::span<const Rule> recurrent_rules() { return kRecurrentRules; }

}  // namespace tcc::onnx
