#include "ir/ops/_recurrent_activations.h"

#include <map>
#include <optional>
#include <sstream>

#include "support/error.h"

namespace tcc::ir::ops {
namespace {

Value* number(Builder& b, Value* like, double value) { return b.scalar(like->dtype(), value); }

Value* scaled(Builder& b, Value* x, double factor) {
  return factor == 1 ? x : b.mul(x, number(b, x, factor));
}

Value* affine(Builder& b, Value* x, double alpha, double beta) {
  x = scaled(b, x, alpha);
  return beta == 0 ? x : b.add(x, number(b, x, beta));
}

struct Function {
  std::optional<double> alpha, beta;  // the defaults of what it takes
  std::function<Value*(Builder&, Value*, double alpha, double beta)> apply;
};

Function plain(std::string_view op) {
  return {{}, {}, [op](Builder& b, Value* x, double, double) { return b.unary(op, x); }};
}

const std::map<std::string, Function, std::less<>>& functions() {
  static const std::map<std::string, Function, std::less<>> all = {
      {"relu", plain("relu")},
      {"tanh", plain("tanh")},
      {"sigmoid", plain("sigmoid")},
      {"softsign", plain("softsign")},
      {"softplus", plain("softplus")},
      {"affine", {1.0, 0.0, affine}},
      {"leakyrelu",
       {0.01,
        {},
        [](Builder& b, Value* x, double alpha, double) {
          return b.op("leaky_relu", {x}, {{"negative_slope", alpha}});
        }}},
      {"thresholdedrelu",
       {1.0,
        {},
        [](Builder& b, Value* x, double alpha, double) {
          return b.op("where", {b.op("ge", {x, number(b, x, alpha)}), x, number(b, x, 0)});
        }}},
      {"scaledtanh",
       {1.0, 1.0,
        [](Builder& b, Value* x, double alpha, double beta) {
          return scaled(b, b.unary("tanh", scaled(b, x, beta)), alpha);
        }}},
      {"hardsigmoid",
       {0.2, 0.5,
        [](Builder& b, Value* x, double alpha, double beta) {
          return b.op("clamp", {affine(b, x, alpha, beta)}, {{"min", 0.0}, {"max", 1.0}});
        }}},
      {"elu",
       {1.0,
        {},
        [](Builder& b, Value* x, double alpha, double) {
          return b.op("elu", {x}, {{"alpha", alpha}});
        }}},
  };
  return all;
}

std::string plain_name(const std::string& name) {
  std::string result;
  for (const char c : name)
    if (c != '_') result += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return result;
}

}  // namespace

std::vector<std::string> activation_names(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> names;
  for (std::string name; in >> name;) names.push_back(name);
  return names;
}

ActivationList part_of(const ActivationList& list, size_t first, size_t count) {
  ActivationList part;
  size_t alpha = 0, beta = 0;
  for (size_t k = 0; k < list.names.size(); ++k) {
    const Function& function = functions().at(plain_name(list.names[k]));
    const bool is_in = k >= first && k < first + count;
    if (is_in) part.names.push_back(list.names[k]);
    const auto take = [&](const std::optional<double>& fallback, const std::vector<double>& given,
                          size_t& next, std::vector<double>& to) {
      if (!fallback || next >= given.size()) return;
      if (is_in) to.push_back(given[next]);
      ++next;
    };
    take(function.alpha, list.alphas, alpha, part.alphas);
    take(function.beta, list.betas, beta, part.betas);
  }
  return part;
}

std::vector<Activation> recurrent_activations(const std::vector<std::string>& names,
                                              const std::vector<double>& alphas,
                                              const std::vector<double>& betas,
                                              const std::function<void(const std::string&)>& fail) {
  size_t next_alpha = 0, next_beta = 0;
  const auto take = [](const std::optional<double>& fallback, const std::vector<double>& given,
                       size_t& next) {
    if (!fallback) return 0.0;
    return next < given.size() ? given[next++] : *fallback;
  };
  std::vector<Activation> result;
  for (const std::string& name : names) {
    const auto found = functions().find(plain_name(name));
    if (found == functions().end()) {
      fail(str("unknown activation '", name, "'"));
      return {};
    }
    const Function& function = found->second;
    const double alpha = take(function.alpha, alphas, next_alpha);
    const double beta = take(function.beta, betas, next_beta);
    result.push_back([&function, alpha, beta](Builder& b, Value* x) {
      return function.apply(b, x, alpha, beta);
    });
  }
  if (next_alpha < alphas.size() || next_beta < betas.size())
    fail("activation_alpha or activation_beta has more entries than the activations take");
  return result;
}

}  // namespace tcc::ir::ops
