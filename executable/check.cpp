#include <algorithm>
#include <bit>
#include <optional>
#include <set>

#include "executable/executable.h"
#include "executable/kernel_label.h"
#include "executable/open_dims.h"
#include "executable/quirks.h"
#include "ir/tensor.h"
#include "support/checked.h"
#include "support/error.h"

namespace tcc::exec {
namespace {

constexpr int64_t kMostRank = 32;
constexpr int64_t kMostInARow = 1 << 20;  // launches in a row, of all steps together
constexpr int64_t kWord = 4;              // bytes: of fills
constexpr int64_t kMapAlignment = 16;     // bytes: of a tensor map's beginning and strides

template <class T>
void within(const char* what, const T& value, int64_t low, int64_t high) {
  const auto number = static_cast<int64_t>(value);
  if (number < low || number > high)
    fail_input(what, " is ", number, ", outside [", low, ", ", high, "]");
}

int64_t last_of(const auto& list) { return std::ssize(list) - 1; }

void check_kernel(const KernelBinary& kernel) {
  within("a workgroup", kernel.workgroup, 0, 1 << 16);
  within("a kernel's shared memory", kernel.shared_bytes, 0, 1 << 30);
  within("a subgroup size", kernel.subgroup_size, 0, 1 << 16);
  within("a kernel's number of arguments", kernel.num_arguments, 0, 1 << 13);
  within("a kernel's number of tensor maps", kernel.num_maps, 0, 64);
  within("a kernel's number of alignments", std::ssize(kernel.alignments), 0, kernel.num_arguments);
  for (const int alignment : kernel.alignments) {
    within("an alignment", alignment, 1, kMostAlignment);
    if (!std::has_single_bit(static_cast<unsigned>(alignment)))
      fail_input("an alignment of ", alignment, " bytes");
  }
  for (const uint32_t threads : kernel.block) within("a workgroup's side", threads, 0, 1 << 16);
}

// Types that the copy engine moves; f8 and integers as bytes.
bool is_mapped(DType dtype) {
  switch (dtype) {
    case DType::f32:
    case DType::bf16:
    case DType::f16:
    case DType::f8e4m3:
    case DType::f8e5m2:
    case DType::i8:
    case DType::u8: return true;
    default: return false;
  }
}

// The corners of an im2col map's box share 16 bits.
void check_im2col(const TensorMap& map) {
  const Im2col& im2col = map.im2col;
  const size_t spatial = map.dims.size() - 2;
  if (map.dims.size() < 3 || im2col.lower.size() != spatial || im2col.upper.size() != spatial)
    fail_input("an im2col map of ", map.dims.size(), " dims, with corners of ", im2col.lower.size(),
               " and ", im2col.upper.size());
  const int64_t reach = int64_t{1} << (16 / static_cast<int64_t>(spatial) - 1);
  for (const auto* corner : {&im2col.lower, &im2col.upper})
    for (const int place : *corner) within("an im2col map's corner", place, -reach, reach - 1);
  within("an im2col map's channels", im2col.channels, 1, 256);
  within("an im2col map's pixels", im2col.pixels, 1, 1024);
  const int64_t row = int64_t{im2col.channels} * size_bytes(map.dtype);
  if (row % kMapAlignment != 0 || (map.swizzle > 0 && row > map.swizzle))
    fail_input("an im2col map of rows of ", row, " bytes, with a swizzle of ", map.swizzle);
}

void check_map(const TensorMap& map, int64_t arguments) {
  if (!is_mapped(map.dtype)) fail_input("a tensor map of type ", name(map.dtype));
  within("a tensor map's argument", map.argument, 0, arguments - 1);
  const size_t rank = map.dims.size();
  const bool is_tiled = map.kind == TensorMap::Kind::tiled;
  if (rank < 1 || rank > MapNumbers::kMostDims || map.strides.size() + 1 != rank ||
      map.box.size() != (is_tiled ? rank : 0))
    fail_input("a tensor map of ", rank, " dims, ", map.strides.size(), " strides and ",
               map.box.size(), " sides of a box");
  for (const int side : map.box) within("a side of a tensor map's box", side, 1, 256);
  if (!map.clip.empty() && map.clip.size() != map.box.size())
    fail_input("a tensor map of ", map.box.size(), " sides of a box, of which ", map.clip.size(),
               " are clipped");
  for (const int unit : map.clip) within("what a clipped side is rounded up to", unit, 0, 256);
  const int s = map.swizzle;
  if (s != 0 && s != 32 && s != 64 && s != 128) fail_input("a tensor map's swizzle is ", s);
  if (!map.steps.empty() && map.steps.size() != rank)
    fail_input("a tensor map of ", rank, " dims and ", map.steps.size(), " steps");
  for (const int step : map.steps) within("a tensor map's step", step, 1, 8);
  if (!is_tiled)
    check_im2col(map);
  else if (map.im2col != Im2col())
    fail_input("a tiled tensor map with fields of im2col");
}

void check_scalar(const Scalar& scalar) {
  if (scalar.dtype != DType::i32 && scalar.dtype != DType::i64)
    fail_input("a scalar argument of type ", name(scalar.dtype));
}

// Returns the bytes from the map's offset on that it views.
int64_t check_numbers(const MapNumbers& map) {
  const int64_t element = size_bytes(map.dtype);
  within("a tensor map's offset", map.offset, 0, Tensor::max_bytes / element);
  if (map.offset * element % kMapAlignment != 0)
    fail_input("a tensor map's offset is ", map.offset * element, " bytes, no multiple of ",
               kMapAlignment);
  std::optional<int64_t> viewed = element;
  for (size_t i = 0; i < map.rank; ++i) {
    const auto dim = static_cast<int64_t>(map.dims[i]);
    within("a tensor map's dim", dim, 1, int64_t{1} << 32);
    const int64_t stride = i > 0 ? static_cast<int64_t>(map.strides[i]) : element;
    within("a tensor map's stride", stride, 0, (int64_t{1} << 40) - 1);
    if (i > 0 && stride % kMapAlignment != 0)
      fail_input("a tensor map's stride is ", stride, " bytes, no multiple of ", kMapAlignment);
    const auto step = checked_mul(dim - 1, stride);
    viewed = viewed && step ? checked_add(*viewed, *step) : std::nullopt;
  }
  if (!viewed) fail_input("a tensor map views more than 2^63 bytes");
  for (size_t i = 0; map.kind == TensorMap::Kind::im2col && i + 2 < map.rank; ++i) {
    const auto dim = static_cast<int64_t>(map.dims[i + 1]);
    if (dim + map.upper[i] - map.lower[i] < 1)
      fail_input("an im2col map without pixels: ", dim, " from ", map.lower[i], " to ",
                 map.upper[i]);
  }
  return *viewed;
}

class Checker {
 public:
  explicit Checker(const Executable& executable) : e_(executable) {}

  void run() {
    for (const OpenDim& dim : e_.dims) check_dim(dim);
    for (const EqualDim& dim : e_.equal_dims) {
      dim.value.visit_atoms([&](const ir::AtomPtr& atom) {
        const bool is_symbol = atom->kind == ir::Atom::Kind::symbol;
        if (is_symbol && std::ranges::find(e_.dims, atom->name, &OpenDim::name) == e_.dims.end())
          fail_input("no dim '", atom->name, "'");
      });
      if (!dims_.insert(dim.name).second) fail_input("two dims '", dim.name, "'");
    }
    for (const KernelBinary& kernel : e_.kernels) check_kernel(kernel);
    for (const ConstantInfo& constant : e_.constants)
      within("a constant's size", constant.bytes, 0, Tensor::max_bytes);
    for (size_t i = 0; i < e_.buffers.size(); ++i) check_buffer(i);
    owners_ = owners(e_);
    check_list(e_.inputs, BufferInfo::Kind::input);
    check_list(e_.outputs, BufferInfo::Kind::output);
    for (const StateInfo& state : e_.states) check_state(state);
    for (size_t i = 0; i < e_.buffers.size(); ++i)
      if (e_.buffers[i].kind == BufferInfo::Kind::state && e_.buffers[i].alias < 0 &&
          !states_.contains(static_cast<int>(i)))
        fail_input("buffer ", i, " is no state that is listed");
    known(e_.arena_bytes);
    known(e_.live_bytes_peak);
    for (const SizeTable& table : e_.tables) check_table(table);
    for (const Step& step : e_.steps)
      std::visit(
          [&](const auto& one) {
            if constexpr (requires { one.chosen; }) check_chosen(one.chosen);
            check_step(one);
          },
          step);
    for (const int number : e_.inputs) check_given(number);
    for (const StateInfo& state : e_.states) check_given(state.buffer);
  }

 private:
  void known(const SymInt& expression) const {
    expression.visit_atoms([&](const ir::AtomPtr& atom) {
      if (atom->kind == ir::Atom::Kind::symbol && !symbols_.contains(atom->name))
        fail_input("no symbol '", atom->name, "'");
    });
  }

  // The run reads no size of what is there before it begins.
  void check_given(int number) const {
    const BufferInfo& buffer = e_.buffers[static_cast<size_t>(number)];
    for (const int read : read_) {
      const OpenDim& dim = e_.dims[static_cast<size_t>(read)];
      const ir::AtomPtr symbol = SymInt::symbol(dim.symbol()).as_atom();
      if (buffer.bytes.uses(symbol) ||
          std::ranges::any_of(buffer.shape, [&](const SymInt& size) { return size.uses(symbol); }))
        fail_input("'", buffer.name, "' has the size '", dim.name, "', which each run reads");
    }
  }

  void check_dim(const OpenDim& dim) {
    const ir::SizeRange& range = dim.range;
    within("a dim's multiple", range.multiple, 1, ir::kMostSize);
    within("a dim's least size", range.least, 0, ir::kMostSize);
    within("a dim's largest size", range.most, range.least, ir::kMostSize);
    if (range.least % range.multiple != 0)
      fail_input("a dim's least size is ", range.least, ", no multiple of ", range.multiple);
    symbols_.insert(dim.symbol());
    if (!dims_.insert(dim.name).second) fail_input("two dims '", dim.name, "'");
  }

  void check_buffer(size_t i) const {
    const BufferInfo& buffer = e_.buffers[i];
    within("a buffer's rank", std::ssize(buffer.shape), 0, kMostRank);
    if (buffer.strides.size() != buffer.shape.size())
      fail_input("buffer ", i, " has ", buffer.shape.size(), " dims and ", buffer.strides.size(),
                 " strides");
    for (const SymInt& dim : buffer.shape) known(dim);
    for (const SymInt& stride : buffer.strides) known(stride);
    known(buffer.bytes);
    known(buffer.offset);
    within("a buffer's alias", buffer.alias, -1, static_cast<int64_t>(i) - 1);
    if (buffer.alias >= 0) return;
    const auto number = [&](int64_t last) {
      if (!buffer.offset.is_const()) fail_input("buffer ", i, " has no fixed number");
      within("a buffer's number", buffer.offset.value(), 0, last);
    };
    if (buffer.kind == BufferInfo::Kind::input) number(last_of(e_.inputs));
    if (buffer.kind == BufferInfo::Kind::output) number(last_of(e_.outputs));
    if (buffer.kind == BufferInfo::Kind::constant) {
      number(last_of(e_.constants));
      const auto constant = static_cast<size_t>(buffer.offset.value());
      if (!buffer.bytes.is(e_.constants[constant].bytes))
        fail_input("buffer ", i, " has another size than its constant");
      // Its bytes are known, so that no check at sizes asks for its type.
      const auto is_size = [](const SymInt& dim) { return dim.is_const() && dim.value() >= 0; };
      if (!std::ranges::all_of(buffer.shape, is_size) ||
          !tensor_bytes(buffer.dtype, fixed(buffer.shape)))
        fail_input("constant '", buffer.name, "' has no fixed type");
    }
  }

  // Inputs and outputs know their places in their lists.
  void check_list(const std::vector<int>& list, BufferInfo::Kind kind) const {
    for (size_t i = 0; i < list.size(); ++i) {
      within("an input or output", list[i], 0, last_of(e_.buffers));
      const BufferInfo& buffer = e_.buffers[static_cast<size_t>(list[i])];
      if (buffer.kind != kind || buffer.alias >= 0 || !buffer.offset.is(static_cast<int64_t>(i)))
        fail_input("buffer ", list[i], " is no input or output ", i);
    }
  }

  void check_state(const StateInfo& state) {
    within("a state's buffer", state.buffer, 0, last_of(e_.buffers));
    const BufferInfo& buffer = e_.buffers[static_cast<size_t>(state.buffer)];
    if (buffer.kind != BufferInfo::Kind::state || buffer.alias >= 0 ||
        !states_.insert(state.buffer).second)
      fail_input("buffer ", state.buffer, " is no state, or one twice");
    within("a state's first value", state.initial, -1, last_of(e_.constants));
    // A context makes such a state before it knows any size.
    if (std::ranges::all_of(buffer.shape, &SymInt::is_const)) {
      const auto dense = tensor_bytes(buffer.dtype, fixed(buffer.shape));
      if (!dense || !buffer.bytes.is(*dense))
        fail_input("state '", buffer.name, "' of ", buffer.bytes.to_string(),
                   " bytes has another size than its type");
    }
    if (state.initial >= 0 &&
        !buffer.bytes.is(e_.constants[static_cast<size_t>(state.initial)].bytes))
      fail_input("state '", buffer.name, "' has another size than its first value");
    if (state.grows()) check_growth(state, buffer);
  }

  void check_growth(const StateInfo& state, const BufferInfo& buffer) {
    within("the axis along which a state grows", state.axis, 0, last_of(buffer.shape));
    within("the dim that is a state's length", state.dim, 0, last_of(e_.dims));
    known(state.added);
    if (!std::ranges::all_of(buffer.shape, &SymInt::is_const))
      fail_input("state '", buffer.name, "' grows and has an open size");
    const auto [first, is_new] = growing_.emplace(state.dim, &state);
    if (!is_new && !(first->second->added == state.added))
      fail_input("states '", e_.buffers[static_cast<size_t>(first->second->buffer)].name, "' and '",
                 buffer.name, "' have one length, '", e_.dims[static_cast<size_t>(state.dim)].name,
                 "', and grow by ", first->second->added, " and ", state.added);
  }

  void check_table(const SizeTable& table) const {
    within("a table's number of choices", table.choices(), 1, kMostChoices);
    std::vector<const SizeCondition*> all;
    for (const auto& any_of : table.conditions) {
      within("a choice's number of conditions", std::ssize(any_of), 1, kMostConditions);
      for (const SizeCondition& condition : any_of) {
        within("a condition's number of bounds", std::ssize(condition), 1, kMostRank);
        for (const SizeBounds& bounds : condition) {
          known(bounds.number);
          within("a condition's bound", bounds.most, bounds.least, INT64_MAX);
        }
        all.push_back(&condition);
      }
    }
    within("a table's number of conditions", std::ssize(all), 0, kMostConditions);
    for (size_t i = 0; i < all.size(); ++i)
      for (size_t j = 0; j < i; ++j)
        if (may_meet(*all[i], *all[j]))
          fail_input("a table's conditions '", to_string(*all[j]), "' and '", to_string(*all[i]),
                     "' may hold at once");
  }

  void check_chosen(const Chosen& chosen) const {
    within("a step's table", chosen.table, -1, last_of(e_.tables));
    if (chosen.table >= 0)
      within("a step's choice", chosen.choice, 0,
             e_.tables[static_cast<size_t>(chosen.table)].choices() - 1);
  }

  void check_address(const Address& at) const {
    within("a step's buffer", at.buffer, 0, last_of(e_.buffers));
    known(at.offset);
  }

  void check_step(const KernelLaunch& launch) const {
    within("a launch's kernel", launch.kernel, 0, last_of(e_.kernels));
    const KernelBinary& kernel = e_.kernels[static_cast<size_t>(launch.kernel)];
    if (std::ssize(launch.arguments) != kernel.num_arguments)
      fail_input(launch.arguments.size(), " arguments for a kernel of ", kernel.num_arguments);
    if (std::ssize(launch.maps) != kernel.num_maps)
      fail_input(launch.maps.size(), " tensor maps for a kernel of ", kernel.num_maps);
    for (const SymInt& side : launch.grid) known(side);
    known(launch.loop_iterations);
    known(launch.times);
    known(launch.flops.count);
    known(launch.bytes.count);
    if (!launch.times.is(1)) {
      const auto* number =
          launch.arguments.empty() ? nullptr : std::get_if<Scalar>(&launch.arguments.back());
      if (!number || number->dtype != DType::i32) fail_input("launches in a row without a number");
    }
    for (const Argument& argument : launch.arguments) {
      if (const auto* address = std::get_if<Address>(&argument)) {
        check_address(*address);
      } else {
        check_scalar(std::get<Scalar>(argument));
        known(std::get<Scalar>(argument).value);
      }
    }
    for (const TensorMap& map : launch.maps) {
      check_map(map, std::ssize(launch.arguments));
      if (!std::holds_alternative<Address>(launch.arguments[static_cast<size_t>(map.argument)]))
        fail_input("a tensor map of a scalar");
      known(map.offset);
      for (const SymInt& dim : map.dims) known(dim);
      for (const SymInt& stride : map.strides) known(stride);
    }
  }

  // Programs share their constants, and the caller keeps its inputs.
  void check_written(const std::string& what, const Address& at) const {
    check_address(at);
    const int owner = owners_[static_cast<size_t>(at.buffer)];
    const BufferInfo::Kind kind = e_.buffers[static_cast<size_t>(owner)].kind;
    if (kind == BufferInfo::Kind::constant || kind == BufferInfo::Kind::input)
      fail_input(what, " writes buffer ", at.buffer, ", which is a constant or an input");
  }

  void check_step(const Copy& copy) const {
    check_written("a copy", copy.to);
    check_address(copy.from);
    known(copy.bytes);
  }

  void check_step(const Fill& fill) const {
    check_written("a fill", fill.to);
    known(fill.bytes);
  }

  void check_step(const HostCall& call) const {
    for (const auto* list : {&call.reads, &call.writes})
      for (const int buffer : *list) within("a step's buffer", buffer, 0, last_of(e_.buffers));
    for (const int buffer : call.writes)
      check_written(str("the host's function '", call.function, "'"), {buffer});
  }

  void check_step(const ReadSize& read) {
    within("the dim whose size is read", read.dim, 0, last_of(e_.dims));
    check_address(read.from);
    known(read.most);
    const OpenDim& dim = e_.dims[static_cast<size_t>(read.dim)];
    if (growing_.contains(read.dim) || !read_.insert(read.dim).second)
      fail_input("the size of '", dim.name, "' is read twice, or is a state's length");
    if (dim.range.multiple != 1)
      fail_input("the size of '", dim.name, "' is read and a multiple of ", dim.range.multiple);
  }

  const Executable& e_;
  std::set<std::string, std::less<>> dims_, symbols_;
  std::vector<int> owners_;                  // by buffer
  std::set<int> states_;                     // buffers
  std::map<int, const StateInfo*> growing_;  // the first one by dim
  std::set<int> read_;                       // dims
};

// Everything that depends on the values of symbols.
class RangeChecker {
 public:
  RangeChecker(const Executable& executable, const Sizes& sizes) : e_(executable), sizes_(sizes) {}

  void run() {
    const int64_t arena = sizes_.of(e_.arena_bytes);
    within("the arena's size", arena, 0, Tensor::max_bytes);
    bytes_.reserve(e_.buffers.size());
    places_.reserve(e_.buffers.size());
    std::vector<int64_t> shape;
    for (const BufferInfo& buffer : e_.buffers) {
      if (buffer.kind == BufferInfo::Kind::constant && buffer.alias < 0) {
        places_.push_back({static_cast<int>(places_.size()), 0});
        bytes_.push_back(buffer.bytes.value());
        continue;
      }
      sizes_.put(buffer.shape, shape);
      for (size_t d = 0; d < shape.size(); ++d)
        if (shape[d] < 0)
          fail_input("'", buffer.name, "' would have ", shape[d], " elements along dim ", d, ", ",
                     buffer.shape[d].to_string(), ": the sizes are too small for it");
      const int64_t bytes = sizes_.of(buffer.bytes), offset = sizes_.of(buffer.offset);
      within("a buffer's size", bytes, 0, Tensor::max_bytes);
      if (buffer.alias >= 0)
        require("an alias", offset, bytes, bytes_[static_cast<size_t>(buffer.alias)]);
      else if (buffer.is_in_arena())
        require("a buffer of the arena", offset, bytes, arena);
      const auto dense = tensor_bytes(buffer.dtype, shape);
      const bool outside = buffer.kind == BufferInfo::Kind::input ||
                           buffer.kind == BufferInfo::Kind::output ||
                           (buffer.kind == BufferInfo::Kind::state && buffer.alias < 0);
      if (!dense || (outside && *dense != bytes))
        fail_input("buffer '", buffer.name, "' of ", bytes,
                   " bytes has another size than its type");
      bytes_.push_back(bytes);
      if (buffer.alias >= 0)
        places_.push_back(place({buffer.alias, offset}));
      else if (buffer.is_in_arena())
        places_.push_back({-1, offset});
      else
        places_.push_back({static_cast<int>(places_.size()), 0});
    }
    for (const StateInfo& state : e_.states)
      if (state.grows()) check_room(state);
    const std::vector<int> taken = choices(e_, sizes_);
    int64_t in_rows = 0;
    for (const Step& step : e_.steps) {
      if (!runs(step, taken)) continue;
      std::visit([&](const auto& one) { check_step(one); }, step);
      const auto* launch = std::get_if<KernelLaunch>(&step);
      if (!launch || launch->times.is(1)) continue;
      const int64_t times = sizes_.of(launch->times);
      within("a number of launches in a row", times, 0, kMostInARow - in_rows);
      in_rows += times;
    }
  }

 private:
  // The rows of a run are behind those that the state has.
  void check_room(const StateInfo& state) const {
    const BufferInfo& buffer = e_.buffers[static_cast<size_t>(state.buffer)];
    const OpenDim& dim = e_.dims[static_cast<size_t>(state.dim)];
    const int64_t room = sizes_.of(buffer.shape)[static_cast<size_t>(state.axis)];
    const int64_t length = sizes_.of(SymInt::symbol(dim.symbol())) * dim.range.multiple;
    const int64_t added = sizes_.of(state.added);
    if (length < 0 || added < 0 || length > room || added > room - length)
      fail_input("state '", buffer.name, "' has room for ", room, " along dim ", state.axis,
                 ", not for ", length, " (", dim.name, ") and ", added, " more");
  }

  static void require(const char* what, int64_t offset, int64_t bytes, int64_t size) {
    if (offset < 0 || bytes < 0 || offset > size || bytes > size - offset)
      fail_input(what, ": bytes ", offset, " to ", offset, " + ", bytes, " of ", size);
  }

  void require(const char* what, const Address& at, int64_t bytes) const {
    require(what, sizes_.of(at.offset), bytes, bytes_[static_cast<size_t>(at.buffer)]);
  }

  // Returns, by map, the bytes that it views; -1: none, since sizes make it empty.
  static std::vector<int64_t> check_numbers_of(const KernelLaunch& launch,
                                               const LaunchNumbers& numbers) {
    for (size_t i = 0; i < launch.arguments.size(); ++i)
      if (const auto* scalar = std::get_if<Scalar>(&launch.arguments[i]))
        if (scalar->dtype == DType::i32)
          within("a scalar argument", static_cast<int64_t>(numbers.arguments[i]), INT32_MIN,
                 INT32_MAX);
    std::vector<int64_t> viewed;
    for (size_t i = 0; i < launch.maps.size(); ++i) {
      const bool has_open = !std::ranges::all_of(launch.maps[i].dims, &SymInt::is_const);
      const bool is_empty = has_open && numbers.maps[i].is_empty();
      viewed.push_back(is_empty ? -1 : check_numbers(numbers.maps[i]));
    }
    return viewed;
  }

  void check_step(const KernelLaunch& launch) {
    sizes_.of(launch.loop_iterations);
    LaunchNumbers own;
    const LaunchNumbers& numbers = sizes_.of(launch, own);
    const auto [kept, is_new] = viewed_.try_emplace(launch.same_as);
    std::vector<int64_t>& viewed = kept->second;
    if (is_new || launch.same_as < 0) viewed = check_numbers_of(launch, numbers);
    const KernelBinary& kernel = e_.kernels[static_cast<size_t>(launch.kernel)];
    for (size_t i = 0; i < launch.arguments.size(); ++i)
      if (const auto* address = std::get_if<Address>(&launch.arguments[i])) {
        require("an argument", *address, 0);
        if (const int64_t offset = place(*address).offset; offset % alignment(kernel, i) != 0)
          fail_input("an argument at byte ", offset, ", no multiple of ", alignment(kernel, i));
      }
    for (size_t i = 0; i < launch.maps.size(); ++i) {
      if (viewed[i] < 0) continue;
      const MapNumbers& map = numbers.maps[i];
      const auto& at = std::get<Address>(launch.arguments[static_cast<size_t>(map.argument)]);
      require("a tensor map", sizes_.of(at.offset) + map.offset * size_bytes(map.dtype), viewed[i],
              bytes_[static_cast<size_t>(at.buffer)]);
    }
  }

  void check_step(const Copy& copy) const {
    const int64_t bytes = sizes_.of(copy.bytes);
    require("a copy", copy.to, bytes);
    require("a copy", copy.from, bytes);
    const Place to = place(copy.to), from = place(copy.from);
    if (to.owner == from.owner && to.offset < from.offset + bytes &&
        from.offset < to.offset + bytes)
      fail_input("a copy of ", bytes, " bytes onto itself");
  }

  void check_step(const Fill& fill) const {
    const int64_t bytes = sizes_.of(fill.bytes);
    require("a fill", fill.to, bytes);
    if (bytes % 4 != 0 || sizes_.of(fill.to.offset) % 4 != 0)
      fail_input("a fill of ", bytes, " bytes at ", fill.to.offset.to_string());
  }

  void check_step(const ReadSize& read) const {
    require("a size", read.from, size_bytes(DType::i64));
    sizes_.of(read.most);
  }

  // The host gets dense tensors.
  void check_step(const HostCall& call) const {
    for (const auto* list : {&call.reads, &call.writes})
      for (const int number : *list) {
        const BufferInfo& buffer = e_.buffers[static_cast<size_t>(number)];
        const std::vector<int64_t> shape = sizes_.of(buffer.shape);
        const auto dense = tensor_bytes(buffer.dtype, shape);
        int64_t stride = 1;
        bool is_dense = dense == bytes_[static_cast<size_t>(number)];
        for (size_t i = shape.size(); i-- > 0 && is_dense; stride *= shape[i])
          is_dense = shape[i] <= 1 || sizes_.of(buffer.strides[i]) == stride;
        if (!is_dense)
          fail_input("the host's function '", call.function, "' gets buffer '", buffer.name,
                     "', which is not dense and row-major");
      }
  }

  // Where bytes are: in the arena, -1, or a buffer's own memory. Buffers lie within those that they
  // are in, so that offsets do not overflow.
  struct Place {
    int owner;
    int64_t offset;
  };
  Place place(const Address& at) const {
    const Place& buffer = places_[static_cast<size_t>(at.buffer)];
    return {buffer.owner, buffer.offset + sizes_.of(at.offset)};
  }

  const Executable& e_;
  const Sizes& sizes_;
  std::vector<int64_t> bytes_;  // by buffer
  std::vector<Place> places_;
  std::map<int, std::vector<int64_t>> viewed_;  // bytes, by map of launches that have the same
};

}  // namespace

void check(const Executable& executable, const Sizes& sizes) {
  for (const OpenDim& dim : executable.dims) {
    const auto found = sizes.values.find(dim.symbol());
    if (found == sizes.values.end()) fail_input("'", dim.name, "' has no value");
    within("a size", found->second, 0, ir::kMostSize / dim.range.multiple);
    check_size(dim, found->second * dim.range.multiple);
  }
  RangeChecker(executable, sizes).run();
}

namespace {

void check_variant(const Executable& whole, const Variant& variant) {
  const Executable& one = variant.executable;
  if (!one.variants.empty()) fail_input("a variant has variants");
  if (one.target.api != whole.target.api) fail_input("a variant for another back end");
  std::vector<std::string> open;
  size_t fixed = 0;
  for (const OpenDim& dim : whole.dims) {
    const auto size = variant.sizes.find(dim.name);
    if (size == variant.sizes.end()) {
      const auto same = std::ranges::find(one.dims, dim.name, &OpenDim::name);
      if (same == one.dims.end() || same->range != dim.range)
        fail_input("a variant without the open dim '", dim.name, "'");
      open.push_back(dim.name);
    } else {
      check_size(dim, size->second);
      ++fixed;
    }
  }
  if (fixed == 0 || fixed != variant.sizes.size() || open.size() != one.dims.size() ||
      !std::ranges::equal(open, one.dims, {}, {}, &OpenDim::name))
    fail_input("a variant with other dims");
  if (whole.inputs.size() != one.inputs.size() || whole.outputs.size() != one.outputs.size() ||
      whole.states.size() != one.states.size())
    fail_input("a variant with other inputs, outputs or states");
}

}  // namespace

void check_same(const Executable& whole, const Sizes& of_whole, const Executable& variant,
                const Sizes& of_variant) {
  const auto check_buffer = [&](int number, int other) {
    const BufferInfo& a = whole.buffers[static_cast<size_t>(number)];
    const BufferInfo& b = variant.buffers[static_cast<size_t>(other)];
    if (a.dtype != b.dtype || of_whole.of(a.shape) != of_variant.of(b.shape) ||
        of_whole.of(a.bytes) != of_variant.of(b.bytes))
      fail_input(whole.name, ": '", a.name, "' is another value in the variant for these sizes");
  };
  for (size_t i = 0; i < whole.inputs.size(); ++i) check_buffer(whole.inputs[i], variant.inputs[i]);
  for (size_t i = 0; i < whole.outputs.size(); ++i)
    check_buffer(whole.outputs[i], variant.outputs[i]);
  for (size_t i = 0; i < whole.states.size(); ++i) {
    const StateInfo &a = whole.states[i], &b = variant.states[i];
    check_buffer(a.buffer, b.buffer);
    const bool is_same = a.axis == b.axis && of_whole.of(a.added) == of_variant.of(b.added) &&
                         (!a.grows() || whole.dims[static_cast<size_t>(a.dim)].name ==
                                            variant.dims[static_cast<size_t>(b.dim)].name);
    if (!is_same)
      fail_input(whole.name, ": state '", whole.buffers[static_cast<size_t>(a.buffer)].name,
                 "' grows in another way in the variant for these sizes");
  }
}

void check(const Executable& executable) {
  Checker(executable).run();
  if (executable.dims.empty()) check(executable, Sizes());
  within("a number of variants", std::ssize(executable.variants), 0, kMostVariants);
  for (const Variant& variant : executable.variants) {
    check_variant(executable, variant);
    check(variant.executable);
  }
}

void check_loops(const Executable& executable, const Sizes& sizes, const Target& target) {
  const int64_t most = target.max_loop_iterations;
  if (most == 0) return;
  const std::vector<int> taken = choices(executable, sizes);
  for (const Step& step : executable.steps) {
    const auto* launch = std::get_if<KernelLaunch>(&step);
    if (!launch || !runs(step, taken)) continue;
    if (const int64_t iterations = sizes.of(launch->loop_iterations); iterations > most)
      fail_device(executable.name, ": a thread of ",
                  executable.kernels[static_cast<size_t>(launch->kernel)].entry, " runs up to ",
                  iterations, " loop iterations, and ", target.id(), " stops it after ", most,
                  executable.dims.empty() ? ""
                                          : ": sizes that are named where the graph is compiled "
                                            "(specialize) have kernels of their own");
  }
}

void check_units(const KernelBinary& kernel, const Target& target) {
  for (const std::string& wanted : kernel.matrix_units)
    if (std::ranges::none_of(target.matrix_units,
                             [&](const MatrixUnit& unit) { return to_string(unit) == wanted; })) {
      const auto off = std::ranges::find(target.switched_off, wanted, &SwitchedOff::what);
      fail_device("kernel ", label_of(kernel), " of ", kernel.region, " uses matrix units '",
                  wanted, "', which the device lacks",
                  off == target.switched_off.end() ? "" : " (" + off->text() + ")",
                  ": compile the graph for this device");
    }
}

void check_cooperation(const KernelBinary& kernel, const Target& target) {
  if (kernel.cooperative && !target.cooperative_launches) {
    const std::string off = why_feature_off(target, "cooperative_launches");
    fail_device("kernel ", label_of(kernel), " of ", kernel.region,
                ": its workgroups wait for each other, and the device does not promise to run all "
                "of them at once",
                off.empty() ? "" : " (" + off + ")");
  }
}

namespace {

void check_launch(const StandaloneKernel& kernel) {
  check_kernel(kernel);
  const Sizes none;
  none.of(kernel.grid);
  none.of(kernel.loop_iterations);
  if (std::ssize(kernel.maps) != kernel.num_maps)
    fail_input(kernel.maps.size(), " tensor maps for a kernel of ", kernel.num_maps);
  for (const Scalar& scalar : kernel.scalars) {
    check_scalar(scalar);
    none.of(scalar.value);
  }
  if (std::ssize(kernel.scalars) > kernel.num_arguments) fail_input("more scalars than arguments");
  for (const TensorMap& map : kernel.maps) {
    check_map(map, kernel.num_arguments - std::ssize(kernel.scalars));
    check_numbers(none.of(map));
  }
}

}  // namespace

void check(const StandaloneSequence& sequence) {
  within("a number of arguments", sequence.arguments, 0, 1 << 13);
  within("a number of launches", std::ssize(sequence.launches), 1, 1 << 10);
  within("a number of workspaces", std::ssize(sequence.workspaces), 0, 1 << 10);
  const Sizes none;
  for (const Workspace& workspace : sequence.workspaces) {
    const int64_t elements = none.of(workspace.elements);
    within("a workspace's elements", elements, 0,
           Tensor::max_bytes / size_bytes(workspace.dtype) - kWord);
  }
  const int64_t buffers = sequence.arguments + std::ssize(sequence.workspaces);
  int64_t in_rows = 0;
  for (const auto& [kernel, numbers, times] : sequence.launches) {
    check_launch(kernel);
    const int64_t in_row = none.of(times);
    within("a number of launches in a row", in_row, 1, kMostInARow - in_rows);
    in_rows += in_row;
    if (in_row > 1 && kernel.scalars.empty()) fail_input("launches in a row without a number");
    if (std::ssize(numbers) != kernel.num_arguments - std::ssize(kernel.scalars))
      fail_input(numbers.size(), " buffers and ", kernel.scalars.size(),
                 " scalars for a kernel of ", kernel.num_arguments, " arguments");
    for (const int number : numbers) within("a launch's buffer", number, 0, buffers - 1);
  }
}

}  // namespace tcc::exec
