#include "ir/ops/_einsum.h"

#include <algorithm>
#include <cctype>

#include "ir/ops/_attributes.h"
#include "ir/ops/_operands.h"
#include "support/error.h"

namespace tcc::ir::ops {
namespace {

class EinsumParser {
 public:
  EinsumParser(const std::vector<Shape>& shapes, const InferContext* context)
      : shapes_(shapes), context_(context) {}

  Einsum parse(std::string_view equation) {
    std::string text;
    for (char c : equation)
      if (c != ' ') text += c;
    const size_t arrow = text.find("->");
    const auto terms = split(std::string_view(text).substr(0, arrow));
    require(terms.size() == shapes_.size(),
            str("the equation has ", terms.size(), " operands, the node ", shapes_.size()));
    for (size_t k = 0; k < terms.size(); ++k) add_operand(terms[k], shapes_[k]);
    if (arrow == std::string::npos)
      infer_output();
    else
      read_output(std::string_view(text).substr(arrow + 2));
    return std::move(result_);
  }

 private:
  void require(bool condition, const std::string& reason) const {
    if (condition) return;
    if (context_) context_->fail(reason);
    fail_input("einsum: ", reason);
  }

  static std::vector<std::string_view> split(std::string_view text) {
    std::vector<std::string_view> parts;
    for (;;) {
      const size_t comma = text.find(',');
      parts.push_back(text.substr(0, comma));
      if (comma == std::string_view::npos) return parts;
      text.remove_prefix(comma + 1);
    }
  }

  // The labels of one term, in which `...` stands for `ellipsis_rank` dims.
  std::vector<Label> labels_of(std::string_view term, size_t ellipsis_rank) const {
    std::vector<Label> labels;
    bool ellipsis = false;
    for (size_t i = 0; i < term.size(); ++i) {
      if (std::isalpha(static_cast<unsigned char>(term[i]))) {
        labels.push_back(term[i]);
        continue;
      }
      require(term.substr(i, 3) == "..." && !ellipsis,
              str("the equation has an unexpected '", term[i], "'"));
      ellipsis = true;
      i += 2;
      for (size_t d = ellipsis_rank; d > 0; --d)
        labels.push_back(kEllipsis + static_cast<Label>(d) - 1);
    }
    return labels;
  }

  void add_operand(std::string_view term, const Shape& shape) {
    const size_t letters = labels_of(term, 0).size();
    const bool ellipsis = term.find('.') != std::string_view::npos;
    require(ellipsis ? letters <= shape.size() : letters == shape.size(),
            str("'", term, "' does not fit an operand of the shape ", shape_text(shape)));
    ellipsis_rank_ = std::max(ellipsis_rank_, shape.size() - letters);
    const auto labels = labels_of(term, shape.size() - letters);
    for (size_t d = 0; d < labels.size(); ++d) {
      const auto [found, is_new] = result_.extents.emplace(labels[d], shape[d]);
      if (is_new || found->second == shape[d] || shape[d].is(1)) continue;
      require(found->second.is(1) || may_be_equal(found->second, shape[d]),
              str("a label of '", term, "' stands for both ", found->second, " and ", shape[d]));
      if (found->second.is(1) || shape[d].is_const()) found->second = shape[d];
    }
    result_.operands.push_back(labels);
  }

  void infer_output() {
    result_.output = labels_of("...", ellipsis_rank_);
    for (const auto& [label, extent] : result_.extents) {
      size_t count = 0;
      for (const auto& labels : result_.operands)
        count += static_cast<size_t>(std::count(labels.begin(), labels.end(), label));
      if (label < kEllipsis && count == 1) result_.output.push_back(label);
    }
  }

  void read_output(std::string_view term) {
    result_.output = labels_of(term, ellipsis_rank_);
    auto sorted = result_.output;
    std::sort(sorted.begin(), sorted.end());
    require(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end(),
            str("a label occurs twice in the output '", term, "'"));
    for (Label label : sorted)
      require(result_.extents.count(label) == 1,
              str("a label of the output '", term, "' is in no operand"));
  }

  const std::vector<Shape>& shapes_;
  const InferContext* context_;
  size_t ellipsis_rank_ = 0;
  Einsum result_;
};

}  // namespace

Einsum parse_einsum(std::string_view equation, const std::vector<Shape>& shapes,
                    const InferContext* context) {
  return EinsumParser(shapes, context).parse(equation);
}

}  // namespace tcc::ir::ops
