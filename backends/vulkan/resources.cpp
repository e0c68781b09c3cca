#include "backends/vulkan/resources.h"

#include <map>
#include <numeric>
#include <optional>

#include "backends/compile/spirv_ops.h"
#include "executable/spirv_words.h"
#include "support/error.h"

namespace tcc::backends {
namespace {

using Words = std::span<const uint32_t>;

using enum spirv::Op;

// SPIR-V's numbers.
constexpr uint32_t kUniformConstant = 0, kUniform = 2, kPushConstant = 9, kStorageBuffer = 12,
                   kPhysicalStorageBuffer = 5349;
constexpr uint32_t kSpecId = 1, kBlock = 2, kArrayStride = 6, kMatrixStride = 7, kBinding = 33,
                   kDescriptorSet = 34, kOffset = 35;
constexpr uint32_t kPhysicalAddresses = 5347, kPhysical64 = 5348, kAligned = 2;
constexpr uint32_t kBufferAlignment = 16;

class Binder {
 public:
  Binder(const std::vector<uint32_t>& module, const KernelResources& resources, int arguments)
      : module_(module), resources_(resources), arguments_(arguments), bound_(module[3]) {}

  std::vector<uint32_t> bound() {
    each(Words(module_).subspan(exec::kSpirvHeaderWords),
         [&](uint32_t op, Words words) { survey(op, words); });
    for (const auto& [variable, buffer] : buffers_) require_binding(variable);
    out_.assign(module_.begin(), module_.begin() + exec::kSpirvHeaderWords);
    each(Words(module_).subspan(exec::kSpirvHeaderWords),
         [&](uint32_t op, Words words) { rewrite(op, words); });
    out_[3] = bound_;
    return std::move(out_);
  }

 private:
  struct Type {
    uint32_t op = 0;
    std::vector<uint32_t> operands;  // after the result
  };
  struct Chain {
    uint32_t alignment = kBufferAlignment;  // of the address
    uint32_t column = 1;                    // bytes from one column of its matrices to the next
  };

  template <class Use>
  static void each(Words words, const Use& use) {
    for (size_t at = 0; at < words.size();) {
      const size_t count = words[at] >> 16;
      if (count == 0 || count > words.size() - at)
        fail_input("a damaged SPIR-V module: an instruction does not fit in it");
      use(words[at] & 0xffff, words.subspan(at, count));
      at += count;
    }
  }

  static uint32_t at(Words words, size_t i) {
    if (i >= words.size()) fail_input("a damaged SPIR-V module: an instruction is too short");
    return words[i];
  }

  void survey(uint32_t op, Words words) {
    switch (op) {
      case kDecorate:
        if (words.size() >= 4) decorations_[at(words, 1)][at(words, 2)] = at(words, 3);
        break;
      case kMemberDecorate:
        if (words.size() >= 5)
          member_decorations_[{at(words, 1), at(words, 2)}][at(words, 3)] = at(words, 4);
        break;
      case kTypeInt:
      case kTypeFloat:
      case kTypeVector:
      case kTypeMatrix:
      case kTypeArray:
      case kTypeRuntimeArray:
      case kTypeStruct:
      case kTypePointer:
        types_[at(words, 1)] = {op, {words.begin() + 2, words.end()}};
        if (op == kTypeInt && at(words, 2) == 32 && at(words, 3) == 0) u32_ = at(words, 1);
        break;
      case kConstant:
        if (words.size() == 4) constants_[at(words, 2)] = at(words, 3);
        break;
      case kVariable: survey_variable(words); break;
      case kCapability: has_addresses_ |= at(words, 1) == kPhysicalAddresses; break;
      default: break;
    }
    // After the types: it needs the vector of two of the unsigned integers.
    if (op == kTypeVector && u32_ && at(words, 2) == u32_ && at(words, 3) == 2)
      uvec2_ = at(words, 1);
  }

  std::optional<uint32_t> decoration(uint32_t id, uint32_t name) const {
    const auto found = decorations_.find(id);
    if (found == decorations_.end()) return std::nullopt;
    const auto value = found->second.find(name);
    return value == found->second.end() ? std::nullopt : std::optional(value->second);
  }

  void survey_variable(Words words) {
    const uint32_t type = at(words, 1), variable = at(words, 2), storage = at(words, 3);
    if (storage == kStorageBuffer) buffers_[variable] = type;
    if (storage == kPushConstant) {
      if (push_) fail_input("more than one block of push constants");
      push_ = variable;
      push_type_ = pointee(type);
    }
    if ((storage == kUniform || storage == kUniformConstant) && decoration(variable, kBinding))
      fail_input("binding ", *decoration(variable, kBinding),
                 " is no storage buffer: there are none of other kinds");
  }

  void require_binding(uint32_t variable) const {
    const uint32_t set = decoration(variable, kDescriptorSet).value_or(0);
    const uint32_t binding = decoration(variable, kBinding).value_or(0);
    if (set != 0) fail_input("descriptor set ", set, ": there is set 0 alone");
    if (binding >= resources_.bindings.size())
      fail_input("the kernel has a buffer at binding ", binding, "; 'bindings' names ",
                 resources_.bindings.size());
  }

  uint32_t pointee(uint32_t pointer) const {
    const auto found = types_.find(pointer);
    if (found == types_.end() || found->second.op != kTypePointer ||
        found->second.operands.size() != 2)
      fail_input("a damaged SPIR-V module: a variable without a pointer type");
    return found->second.operands[1];
  }

  uint32_t new_id() { return bound_++; }
  void emit(uint32_t op, std::initializer_list<uint32_t> operands) {
    out_.push_back(static_cast<uint32_t>(operands.size() + 1) << 16 | op);
    out_.insert(out_.end(), operands.begin(), operands.end());
  }
  void copy(Words words) { out_.insert(out_.end(), words.begin(), words.end()); }
  // The instruction with operands that were changed or added.
  void put(uint32_t op, const std::vector<uint32_t>& words) {
    out_.push_back(static_cast<uint32_t>(words.size()) << 16 | op);
    out_.insert(out_.end(), words.begin() + 1, words.end());
  }

  bool is_gone(uint32_t id) const { return buffers_.contains(id) || (push_ && id == push_); }

  void rewrite(uint32_t op, Words words) {
    if (in_function_) return rewrite_body(op, words);
    switch (op) {
      case kName:
      case kMemberName: return;  // of what may be gone
      case kCapability:
        if (!has_addresses_) emit(kCapability, {kPhysicalAddresses});
        has_addresses_ = true;
        return copy(words);
      case kMemoryModel: return emit(kMemoryModel, {kPhysical64, at(words, 2)});
      case kEntryPoint: return rewrite_entry(words);
      case kDecorate:
        if (is_gone(at(words, 1)) || at(words, 2) == kSpecId) return;
        return copy(words);
      case kTypePointer:
        if (at(words, 2) == kStorageBuffer)
          return emit(kTypePointer, {at(words, 1), kPhysicalStorageBuffer, at(words, 3)});
        return copy(words);
      case kSpecConstant:
      case kSpecConstantTrue:
      case kSpecConstantFalse: return rewrite_spec_constant(op, words);
      case kVariable:
        if (!is_gone(at(words, 2))) copy(words);
        return;
      case kFunction:
        declare_addresses();
        in_function_ = true;
        prologue_ = Prologue::expected;
        return copy(words);
      default: return copy(words);
    }
  }

  void rewrite_entry(Words words) {
    std::vector<uint32_t> kept = {words.begin(), words.begin() + 3};
    size_t i = 3;  // the name ends with a word that has a zero byte
    for (bool ended = false; i < words.size() && !ended; ++i) {
      for (int shift = 0; shift < 32; shift += 8) ended |= (words[i] >> shift & 0xff) == 0;
      kept.push_back(words[i]);
    }
    for (; i < words.size(); ++i)
      if (!is_gone(words[i])) kept.push_back(words[i]);
    addresses_ = new_id();
    kept.push_back(addresses_);
    put(kEntryPoint, kept);
  }

  // Booleans are true for every number but 0. What has no number keeps its own.
  void rewrite_spec_constant(uint32_t op, Words words) {
    const auto id = decoration(at(words, 2), kSpecId);
    const auto given = id ? resources_.constants.find(*id) : resources_.constants.end();
    const bool is_given = given != resources_.constants.end();
    if (op == kSpecConstant) {
      if (words.size() != 4) fail_input("a specialization constant of other than 32 bits");
      return emit(kConstant, {at(words, 1), at(words, 2), is_given ? given->second : at(words, 3)});
    }
    const bool value = is_given ? given->second != 0 : op == kSpecConstantTrue;
    emit(value ? kConstantTrue : kConstantFalse, {at(words, 1), at(words, 2)});
  }

  // The block of addresses, before the first function: types that the module lacks, then it. Its
  // decorations stand elsewhere: they are put where the module's end.
  void declare_addresses() {
    if (block_) return;
    if (!u32_) emit(kTypeInt, {u32_ = new_id(), 32, 0});
    if (!uvec2_) emit(kTypeVector, {uvec2_ = new_id(), u32_, 2});
    block_ = new_id();
    std::vector<uint32_t> members = {0, block_};
    for (int i = 0; i < arguments_; ++i) members.push_back(uvec2_);
    put(kTypeStruct, members);
    const uint32_t pointer = new_id();
    emit(kTypePointer, {pointer, kPushConstant, block_});
    emit(kTypePointer, {word_pointer_ = new_id(), kPushConstant, uvec2_});
    if (!addresses_) fail_input("a SPIR-V module without an entry point");
    emit(kVariable, {pointer, addresses_, kPushConstant});
    for (int i = 0; i < arguments_; ++i) {
      emit(kConstant, {u32_, new_id(), static_cast<uint32_t>(i)});
      numbers_.push_back(bound_ - 1);
    }
    std::vector<uint32_t> decorations;
    std::swap(decorations, out_);
    emit(kDecorate, {block_, kBlock});
    for (int i = 0; i < arguments_; ++i)
      emit(kMemberDecorate,
           {block_, static_cast<uint32_t>(i), kOffset, static_cast<uint32_t>(8 * i)});
    std::swap(decorations, out_);
    out_.insert(out_.begin() + static_cast<long>(first_type()), decorations.begin(),
                decorations.end());
  }

  // Where the annotations of what is written so far end: before the first type.
  size_t first_type() const {
    constexpr uint32_t kTypeVoid = 19, kTypeForwardPointer = 39;
    size_t place = exec::kSpirvHeaderWords;
    while (place < out_.size() &&
           ((out_[place] & 0xffff) < kTypeVoid || (out_[place] & 0xffff) > kTypeForwardPointer))
      place += out_[place] >> 16;
    return place;
  }

  void rewrite_body(uint32_t op, Words words) {
    if (prologue_ == Prologue::due && op != kVariable) write_prologue();
    switch (op) {
      case kName: return;
      case kFunction: prologue_ = Prologue::expected; break;
      case kFunctionEnd: local_.clear(); break;
      case kLabel:
        if (prologue_ == Prologue::expected) prologue_ = Prologue::due;
        break;
      case kAccessChain:
      case kInBoundsAccessChain: return rewrite_chain(op, words);
      case kArrayLength:
        if (buffers_.contains(at(words, 3))) fail_input("the kernel asks a buffer for its length");
        break;
      case kLoad:
        if (const auto value = push_values_.find(at(words, 3)); value != push_values_.end())
          return load_push(words, value->second);
        return aligned(op, words, 3, 4);
      case kStore: return aligned(op, words, 1, 3);
      case kMatrixLoad: return aligned(op, words, 3, 6);
      case kMatrixStore: return aligned(op, words, 1, 5);
      case kMatrixLoadTensor: return aligned(op, words, 3, 6);
      case kMatrixStoreTensor: return aligned(op, words, 1, 4);
      default: break;
    }
    copy(words);
  }

  // The buffers' pointers, in each function anew.
  void write_prologue() {
    prologue_ = Prologue::written;
    for (const auto& [variable, type] : buffers_) {
      const uint32_t binding = decoration(variable, kBinding).value_or(0);
      const auto argument = static_cast<size_t>(resources_.bindings[binding]);
      const uint32_t place = new_id(), bits = new_id(), pointer = new_id();
      emit(kAccessChain, {word_pointer_, place, addresses_, numbers_.at(argument)});
      emit(kLoad, {uvec2_, bits, place});
      emit(kBitcast, {type, pointer, bits});
      local_[variable] = pointer;
      chains_[pointer] = {};
    }
  }

  uint32_t number(uint32_t id) const {
    const auto found = constants_.find(id);
    if (found == constants_.end()) fail_input("an index of a member that is no constant");
    return found->second;
  }

  void rewrite_chain(uint32_t op, Words words) {
    const uint32_t base = at(words, 3);
    if (push_ && base == push_) {
      if (words.size() != 5) fail_input("a push constant that is no number of 32 bits");
      push_values_[at(words, 2)] = push_word(number(at(words, 4)));
      return;
    }
    std::vector<uint32_t> changed(words.begin(), words.end());
    uint32_t type = 0;
    if (const auto buffer = buffers_.find(base); buffer != buffers_.end()) {
      changed[3] = local_.at(base);
      type = pointee(buffer->second);
    } else if (chains_.contains(base)) {
      type = chain_types_[base];
    }
    if (type) {
      Chain chain = chains_[changed[3]];
      for (size_t i = 4; i < words.size(); ++i) type = step(type, words[i], chain);
      chains_[at(words, 2)] = chain;
      chain_types_[at(words, 2)] = type;
    }
    put(op, changed);
  }

  // The type of a part, and what its place leaves of the alignment.
  uint32_t step(uint32_t type, uint32_t index, Chain& chain) const {
    const auto found = types_.find(type);
    if (found == types_.end()) fail_input("a part of a type that a buffer cannot have");
    const auto& [op, operands] = found->second;
    const auto has = [&](uint32_t bytes) { chain.alignment = std::gcd(chain.alignment, bytes); };
    if (op == kTypeStruct) {
      const uint32_t member = number(index);
      const auto decorated = member_decorations_.find({type, member});
      if (member >= operands.size() || decorated == member_decorations_.end() ||
          !decorated->second.contains(kOffset))
        fail_input("a member of a buffer without an offset");
      has(decorated->second.at(kOffset));
      if (const auto stride = decorated->second.find(kMatrixStride);
          stride != decorated->second.end())
        chain.column = stride->second;
      return operands[member];
    }
    if (op == kTypeArray || op == kTypeRuntimeArray) {
      has(decoration(type, kArrayStride).value_or(1));
      return operands.at(0);
    }
    if (op == kTypeMatrix) has(chain.column);
    if (op == kTypeVector) has(bytes_of(operands.at(0)));
    return operands.at(0);
  }

  uint32_t bytes_of(uint32_t scalar) const {
    const auto found = types_.find(scalar);
    const bool is_number =
        found != types_.end() && (found->second.op == kTypeInt || found->second.op == kTypeFloat);
    return is_number ? found->second.operands.at(0) / 8 : 1;
  }

  uint32_t push_word(uint32_t member) const {
    const auto decorated = member_decorations_.find({push_type_, member});
    if (decorated == member_decorations_.end() || !decorated->second.contains(kOffset))
      fail_input("a push constant without an offset");
    const uint32_t word = decorated->second.at(kOffset) / 4;
    if (word >= resources_.push_constants.size())
      fail_input("the kernel reads push constant ", word, "; 'push_constants' has ",
                 resources_.push_constants.size());
    return resources_.push_constants[word];
  }

  // A load of a push constant is its number: a bitcast of the unsigned one that has its bits.
  void load_push(Words words, uint32_t value) {
    const auto type = types_.find(at(words, 1));
    if (type == types_.end() || (type->second.op != kTypeInt && type->second.op != kTypeFloat) ||
        type->second.operands.at(0) != 32)
      fail_input("a push constant that is no number of 32 bits");
    emit(at(words, 1) == u32_ ? kCopyObject : kBitcast,
         {at(words, 1), at(words, 2), constant(value)});
  }

  // Constants stand before the functions.
  uint32_t constant(uint32_t value) {
    const auto [entry, is_new] = new_constants_.try_emplace(value, 0);
    if (is_new) entry->second = new_id();
    return entry->second;
  }

  // Accesses by address state their alignment.
  void aligned(uint32_t op, Words words, size_t pointer, size_t operands) {
    if (is_gone(at(words, pointer))) fail_input("the kernel uses a whole block of memory at once");
    const auto chain = chains_.find(at(words, pointer));
    if (chain == chains_.end()) return copy(words);
    std::vector<uint32_t> changed(words.begin(), words.end());
    if (changed.size() < operands) fail_input("a matrix that is loaded without a stride");
    if (changed.size() == operands) changed.push_back(0);
    if (!(changed[operands] & kAligned)) {
      changed[operands] |= kAligned;
      changed.insert(changed.begin() + static_cast<long>(operands) + 1, chain->second.alignment);
    }
    put(op, changed);
  }

 public:
  // The constants that loads of push constants became, to be put before the first function.
  std::vector<uint32_t> late_constants() {
    out_.clear();
    for (const auto& [value, id] : new_constants_) emit(kConstant, {u32_, id, value});
    return std::move(out_);
  }

 private:
  enum class Prologue { none, expected, due, written };

  const std::vector<uint32_t>& module_;
  const KernelResources& resources_;
  int arguments_;
  uint32_t bound_;
  std::vector<uint32_t> out_;

  std::map<uint32_t, Type> types_;
  std::map<uint32_t, uint32_t> constants_;
  std::map<uint32_t, std::map<uint32_t, uint32_t>> decorations_;
  std::map<std::pair<uint32_t, uint32_t>, std::map<uint32_t, uint32_t>> member_decorations_;
  std::map<uint32_t, uint32_t> buffers_;  // variables, with the types of their pointers
  uint32_t push_ = 0, push_type_ = 0, u32_ = 0, uvec2_ = 0;
  bool has_addresses_ = false;

  uint32_t addresses_ = 0, block_ = 0, word_pointer_ = 0;
  std::vector<uint32_t> numbers_;  // constants of the arguments' numbers
  bool in_function_ = false;
  Prologue prologue_ = Prologue::none;
  std::map<uint32_t, uint32_t> local_;        // in this function, of buffers
  std::map<uint32_t, Chain> chains_;          // pointers into buffers
  std::map<uint32_t, uint32_t> chain_types_;  // what they point to
  std::map<uint32_t, uint32_t> push_values_;  // pointers to push constants
  std::map<uint32_t, uint32_t> new_constants_;
};

}  // namespace

std::vector<uint8_t> bind_resources(std::span<const uint8_t> code, const KernelResources& resources,
                                    int arguments) {
  const std::vector<uint32_t> module = exec::spirv_words(code);
  if (module.size() < exec::kSpirvHeaderWords) fail_input("a damaged SPIR-V module: no header");
  Binder binder(module, resources, arguments);
  std::vector<uint32_t> words = binder.bound();
  const std::vector<uint32_t> constants = binder.late_constants();
  size_t at = exec::kSpirvHeaderWords;
  while (at < words.size() && (words[at] & 0xffff) != kFunction) at += words[at] >> 16;
  words.insert(words.begin() + static_cast<long>(at), constants.begin(), constants.end());
  return exec::spirv_bytes(words);
}

}  // namespace tcc::backends
