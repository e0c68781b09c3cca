#include "scheduler/kernel_parse.h"

#include <algorithm>
#include <type_traits>

#include "scheduler/kernel_parse_expr.h"
#include "support/error.h"

namespace tcc::sched {
namespace {

constexpr size_t kMaxText = size_t{1} << 24;
constexpr int kMaxDepth = 64;  // of blocks
constexpr size_t kMaxArguments = 4096;
constexpr int64_t kMostNumber = int64_t{1} << 40;

constexpr std::string_view kErrorStart = "kernel text, ";

struct Line {
  size_t number;
  int depth;
  std::string_view text;
};

std::vector<Line> lines_of(std::string_view text) {
  if (text.size() > kMaxText)
    fail_input("kernel text of ", text.size(), " characters; the limit is ", kMaxText);
  std::vector<Line> lines;
  for (size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const size_t spaces = line.find_first_not_of(' ');
    if (spaces == std::string_view::npos) continue;
    if (spaces % 2 != 0 || spaces > 2 * kMaxDepth)
      fail_input("kernel text, line ", number, ": not indented by two spaces for each of at most ",
                 kMaxDepth, " levels");
    lines.push_back({number, static_cast<int>(spaces / 2), line.substr(spaces)});
  }
  return lines;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : lines_(lines_of(text)) {}

  Kernel run() {
    if (lines_.empty()) fail_input("kernel text is empty");
    each([this](LineParser& line) { head(line); });
    while (next_ < lines_.size() && lines_[next_].depth == 1 && is_declaration())
      each([this](LineParser& line) { declaration(line); });
    kernel_.body = block(1);
    while (next_ < lines_.size()) hook();
    return std::move(kernel_);
  }

 private:
  // Hands the next line to `parse`, which must take all of it.
  template <class Parse>
  std::invoke_result_t<const Parse&, LineParser&> each(const Parse& parse) {
    const Line& line = lines_[next_++];
    LineParser parser(line.text, line.number, scope_, kernel_.arguments);
    const auto finish = [&] {
      if (!parser.at_end()) parser.fail("there is more than expected");
    };
    try {
      if constexpr (std::is_void_v<std::invoke_result_t<const Parse&, LineParser&>>) {
        parse(parser);
        finish();
      } else {
        auto result = parse(parser);
        finish();
        return result;
      }
    } catch (const InternalError& error) { parser.fail(error.what()); } catch (const Error& error) {
      if (std::string_view(error.what()).starts_with(kErrorStart)) throw;
      parser.fail(error.what());  // of an index
    }
  }

  int64_t bounded(LineParser& line, int64_t most = kMostNumber) const {
    const int64_t value = line.count();
    if (value > most) line.fail(str("more than ", most));
    return value;
  }

  // A number, or an expression of sizes.
  SymInt size(LineParser& line) {
    SymInt value = extent(line);
    if (value.is_const() && value.value() > kMostNumber) line.fail(str("more than ", kMostNumber));
    return value;
  }

  void head(LineParser& line) {
    line.expect_word("kernel");
    kernel_.name = line.word();
    while (line.accept_word("size")) {
      kernel_.sizes.push_back(line.word());
      scope_.indices[kernel_.sizes.back()] = SymInt::symbol(kernel_.sizes.back());
    }
    line.expect_word("grid");
    kernel_.grid = size(line);
    line.expect_word("workgroup");
    kernel_.workgroup = static_cast<int>(bounded(line, 1 << 16));
    while (!line.at_end()) {
      if (line.accept_word("cluster"))
        kernel_.cluster = static_cast<int>(bounded(line, 1 << 16));
      else if (line.accept_word("resident"))
        kernel_.resident = static_cast<int>(bounded(line, 1 << 16));
      else if (line.accept_word("shared_bytes"))
        kernel_.shared_bytes = bounded(line);
      else if (line.accept_word("begins_alone"))
        kernel_.begins_alone = true;
      else if (line.accept_word("cooperative"))
        kernel_.cooperative = true;
      else if (line.accept_word("numbered"))
        kernel_.numbered = true;
      else if (line.accept_word("lanes"))
        kernel_.uses_lanes = true;
      else if (line.expect_word("wide"), true)
        kernel_.wide_index = true;
    }
    for (const SymInt& axis : {block_axis(kernel_.grid), thread_axis(kernel_.workgroup)})
      if (!axis.is_const()) scope_.indices[axis.as_atom()->name] = axis;
  }

  // ---- arguments, shared arrays, defines

  bool is_declaration() const {
    const std::string_view text = lines_[next_].text;
    const bool argument =
        text[0] == 'b' && text.find(':') == text.find_first_not_of("0123456789", 1);
    return argument || text.starts_with("shared ") || text.starts_with("source ") ||
           text.starts_with("define ") || text.starts_with("parameters ") ||
           text.starts_with("set ");
  }

  void declaration(LineParser& line) {
    if (line.accept_word("shared")) {
      kernel_.shared.push_back(array(line));
    } else if (line.accept_word("source")) {
      kernel_.source = line.rest();
    } else if (line.accept_word("parameters")) {
      kernel_.parameters.header = line.path();
      kernel_.parameters.type = line.word();
    } else if (line.accept_word("set")) {
      std::string name = line.path();
      line.expect("=");
      kernel_.parameters.fields.emplace_back(std::move(name), line.rest());
    } else if (line.accept_word("define")) {
      std::string name = line.word();
      line.expect("=");
      kernel_.defines.emplace_back(std::move(name), line.rest());
    } else {
      argument(line);
    }
  }

  void argument(LineParser& line) {
    if (line.buffer() != static_cast<int>(kernel_.arguments.size()) ||
        kernel_.arguments.size() >= kMaxArguments)
      line.fail("buffers are numbered as they come");
    line.expect(":");
    Argument argument{.dtype = {}};
    using Access = Argument::Access;
    argument.access = line.accept_word("out")     ? Access::write
                      : line.accept_word("inout") ? Access::read_write
                                                  : Access::read;
    if (argument.access == Access::read) line.expect_word("in");
    argument.dtype = line.dtype();
    line.expect("[");
    argument.elements = size(line);
    line.expect("]");
    if (line.accept_word("align")) argument.alignment = bounded(line, 1 << 16);
    if (line.accept_word("needed")) argument.needed = bounded(line, 1 << 16);
    kernel_.arguments.push_back(argument);
  }

  // "name: f32[8]".
  Array array(LineParser& line) {
    std::string name = line.word();
    line.expect(":");
    const DType dtype = line.dtype();
    line.expect("[");
    const int64_t elements = bounded(line);
    line.expect("]");
    return {declare(std::move(name), dtype), elements};
  }

  // One name is one variable, which statements of different blocks may declare each for itself.
  Variable declare(std::string name, DType dtype) {
    const auto found = scope_.variables.find(name);
    if (found != scope_.variables.end() && found->second.dtype == dtype) return found->second;
    const Variable variable = ir::new_variable(name, dtype);
    return scope_.variables[std::move(name)] = variable;
  }

  // ---- hooks

  void hook() {
    const TextScope outside = scope_;
    scope_ = {};
    Hook hook;
    if (lines_[next_].depth != 1) each([](LineParser& line) { line.fail("expected a hook"); });
    each([&](LineParser& line) {
      line.expect_word("hook");
      hook.name = line.word();
      line.expect("(");
      while (!line.accept(")")) {
        hook.parameters.push_back(parameter(line));
        if (!line.peek(")")) line.expect(",");
      }
      hook.returns = line.accept(":");
      if (hook.returns) hook.result = line.dtype();
    });
    hook.body = block(2);
    kernel_.hooks.push_back(std::move(hook));
    scope_ = outside;
  }

  Hook::Parameter parameter(LineParser& line) {
    const std::string name = line.word();
    if (line.accept("<")) {
      Hook::Parameter parameter = Hook::index_parameter(name, extent(line));
      if (!parameter.axis.is_const()) scope_.indices[name] = parameter.axis;
      return parameter;
    }
    line.expect(":");
    const DType dtype = line.dtype();
    line.expect("[");
    const int64_t elements = bounded(line);
    line.expect("]");
    const bool written = line.accept_word("out");
    if (!written) line.expect_word("in");
    Hook::Parameter parameter = Hook::array_parameter(name, dtype, elements, written);
    scope_.variables[name] = parameter.array;
    return parameter;
  }

  // ---- statements

  Block block(int depth) {
    Block block;
    while (next_ < lines_.size() && lines_[next_].depth == depth &&
           !(depth == 1 && lines_[next_].text.starts_with("hook "))) {
      Stmt stmt = each([this](LineParser& line) { return statement(line); });
      if (stmt.kind == Stmt::Kind::loop || stmt.kind == Stmt::Kind::branch)
        stmt.body = this->block(depth + 1);
      if (stmt.kind == Stmt::Kind::branch && next_ < lines_.size() &&
          lines_[next_].depth == depth && lines_[next_].text == "else") {
        ++next_;
        stmt.otherwise = this->block(depth + 1);
      }
      block.push_back(std::move(stmt));
    }
    if (next_ < lines_.size() && lines_[next_].depth > depth)
      each([](LineParser& line) { line.fail("indented more than what it is in"); });
    return block;
  }

  SymInt extent(LineParser& line) {
    const SymInt extent = line.index();
    if (extent.range().lo < 0) line.fail("the extent is negative");
    return extent;
  }

  SymInt axis(LineParser& line) {
    const std::string name = line.word();
    line.expect("<");
    return line.axis(name, extent(line), ir::AxisRole::local);
  }

  Stmt statement(LineParser& line) {
    // A variable may have any name: what follows tells whether it is assigned to.
    const std::string_view first = line.next_word();
    LineParser ahead = line;
    ahead.accept_word(first);
    const bool subscript = ahead.peek("[");
    if (scope_.variables.contains(first) && (subscript || ahead.peek("="))) return assignment(line);
    if (subscript && first.size() > 1 && first[0] == 'b' &&
        first.find_first_not_of("0123456789", 1) == std::string_view::npos)
      return to_buffer(line);
    return keyword(line);
  }

  Stmt assignment(LineParser& line) {
    const Variable variable = line.variable();
    if (line.accept("=")) return assign(variable, line.expression());
    line.expect("[");
    if (line.accept("0..")) {
      const int64_t count = bounded(line);
      line.expect(")");
      line.expect("=");
      const int buffer = line.buffer();
      line.expect("[");
      const SymInt index = line.index();
      line.expect("..]");
      Stmt stmt = load_vector(variable, buffer, index, count);
      stmt.early = line.accept_word("early");
      if (line.accept_word("where")) stmt.value = line.expression();
      return stmt;
    }
    const SymInt index = line.index();
    line.expect("]");
    line.expect("=");
    return set_element(variable, index, line.expression());
  }

  Stmt to_buffer(LineParser& line) {
    const int buffer = line.buffer();
    line.expect("[");
    const SymInt index = line.index();
    if (!line.accept("..]")) {
      line.expect("]");
      line.expect("=");
      return store(buffer, index, line.expression());
    }
    line.expect("=");
    const Variable variable = line.variable();
    line.expect("[0..");
    const int64_t count = bounded(line);
    line.expect(")");
    Stmt stmt = store_vector(buffer, index, variable, count);
    if (line.accept_word("where")) stmt.value = line.expression();
    return stmt;
  }

  Stmt keyword(LineParser& line) {
    if (line.accept_word("let")) {
      // The value is about what was known before.
      const std::string name = line.word();
      line.expect("<");
      const SymInt count = extent(line);
      line.expect("=");
      const SymInt value = line.index();
      return let_index(line.axis(name, count, ir::AxisRole::local), value);
    }
    if (line.accept_word("var")) {
      const std::string name = line.word();
      line.expect(":");
      const DType dtype = line.dtype();
      line.expect("=");
      const Expr value = line.expression();
      return sched::declare(declare(name, dtype), value);
    }
    if (line.accept_word("array")) {
      const Array made = array(line);
      return sched::array(made.variable, made.elements);
    }
    if (line.accept_word("for")) return loop(axis(line), {});
    if (line.accept_word("unroll")) return loop(axis(line), {}, true);
    if (line.accept_word("if")) return branch(line.expression(), {});
    if (line.accept_word("return")) return return_value(line.expression());
    if (line.accept_word("barrier")) return barrier();
    if (line.accept_word("reload")) return reload();
    if (line.accept_word("cluster")) {
      if (line.accept_word("arrive")) return cluster_arrive();
      line.expect_word("wait");
      return cluster_wait();
    }
    if (line.accept_word("gather")) return gather(line);
    if (line.accept_word("exchange")) return exchange(line);
    if (line.accept_word("reduce")) return lanes(line, Stmt::Kind::reduce_lanes);
    if (line.accept_word("scan")) return lanes(line, Stmt::Kind::scan_lanes);
    line.fail("expected a statement");
  }

  Stmt gather(LineParser& line) {
    const Array made = array(line);
    line.expect("=");
    const Variable variable = line.variable();
    line.expect_word("of");
    line.expect_word("the");
    line.expect_word("cluster");
    return gather_cluster(made.variable, variable, made.elements);
  }

  Stmt exchange(LineParser& line) {
    const Variable exchanges = line.variable();
    line.expect("[");
    const int64_t number = bounded(line);
    line.expect("]");
    if (line.accept_word("waits")) return await_bytes(exchanges, number);
    if (line.accept_word("expects")) {
      const int64_t bytes = bounded(line);
      line.expect_word("bytes");
      return expect_bytes(exchanges, number, bytes);
    }
    line.expect_word("sends");
    const Variable value = line.variable();
    line.expect_word("to");
    const Variable to = line.variable();
    line.expect("[rank]");
    line.expect_word("of");
    return send_cluster(exchanges, number, to, value, bounded(line));
  }

  Stmt lanes(LineParser& line, Stmt::Kind kind) {
    Stmt stmt = reduce_lanes(line.reduce_kind(line.word()), {}, 1);
    stmt.kind = kind;
    line.expect_word("over");
    stmt.count = bounded(line);
    line.expect_word("threads");
    line.expect(",");
    line.expect_word("stride");
    stmt.stride = bounded(line);
    line.expect(":");
    while (!line.at_end()) stmt.variables.push_back(line.variable());
    return stmt;
  }

  std::vector<Line> lines_;
  size_t next_ = 0;
  Kernel kernel_;
  TextScope scope_;
};

}  // namespace

Kernel parse_kernel(std::string_view text) { return Parser(text).run(); }

}  // namespace tcc::sched
