// Kernel IR: what a template lowers a region to, and what backends/emit prints for any target.
//
// A kernel is either a body of structured statements over ir::Expr, or a device source file
// (backends/device/) with defines and hooks, whose bodies are such statements too. All buffers are
// arguments, and so are sizes that come at run time; the grid is one-dimensional
// until `legalize` splits it where a target's limit asks for it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "executable/kernel_binary.h"
#include "ir/expr.h"
#include "scheduler/target.h"

namespace tcc::sched {

using exec::TensorMap;
using ir::Expr;
using ir::SymInt;
using ir::Variable;

struct Argument {
  enum class Access : uint8_t { read, write, read_write };
  DType dtype;
  Access access = Access::read;
  SymInt elements = 0;     // of the buffer: offsets stay below
  int64_t alignment = 16;  // bytes: the buffer's address is a multiple of this
  int64_t needed = 1;      // bytes: the multiple that the device source needs, hooks aside

  bool is_read() const { return access != Access::write; }
  bool is_written() const { return access != Access::read; }
};

struct Array {
  Variable variable;  // of a compute dtype
  int64_t elements;
};

struct Stmt;
using Block = std::vector<Stmt>;

struct Stmt {
  enum class Kind : uint8_t {
    let_index,    // axis = index: names an index; axis is an atom that later expressions use
    declare,      // a mutable `variable` of `value`'s dtype, set to `value`
    assign,       // variable = value
    array,        // a register array variable[count]
    set_element,  // variable[index] = value: register or shared array
    store,        // buffer[index] = value, converted to the argument's dtype
    load_vector,  // array variable[0..count) = buffer[index .. index+count), converted to the
                  // compute dtype; zeros where there is a `value` and it is false. `early` asks for
                  // the load to be issued here, before its first use
    store_vector,  // buffer[index .. index+count) = array variable[0..count), converted, unless
                   // there is a `value` and it is false
    loop,          // for axis in [0, extent of axis): body; `unroll` asks for full unrolling
    branch,        // if (value) body else otherwise
    barrier,       // all threads of the workgroup: shared memory before is visible after. It and
                   // all exchanges below stand under no condition on the thread's number
    reload,        // what is read of memory before is read again after it, not kept in registers
    reduce_lanes,  // combines `variables` over the `count` threads whose number differs in
                   // the bits from `stride` up to `stride * count` (powers of two); every thread
                   // gets the results. Each variable is combined by itself, but (value, index) of
                   // argmax and argmin. All threads of the workgroup must arrive. Legalised to
                   // shuffles and shared memory.
    scan_lanes,    // the same threads, in the order of their numbers: `variables` are (prefix,
                   // total), total that of each thread. Afterwards prefix combines what the threads
                   // before had, and total what all had. Legalised as reduce_lanes.
    gather_cluster,  // array variable[rank] = variables[0] of each workgroup of the cluster,
                     // `count` of them; all threads of a workgroup hold the same value. Legalised
                     // to what follows; gathers one after the other are one exchange.
    expect_bytes,    // exchange number `index` brings `count` bytes into this workgroup; `variable`
                     // is the shared array that counts them, as in what follows
    cluster_arrive,  // a barrier of the cluster's threads in two halves: what is expected before
    cluster_wait,    // the one may be sent after the other
    send_cluster,    // shared array variables[1][own rank] of each of `count` workgroups =
                     // variables[0], as a part of exchange `index`; without a barrier
    await_bytes,     // waits until exchange `index` has brought its bytes
    return_value,    // a hook's result
  };
  Kind kind;
  Variable variable;
  std::vector<Variable> variables;
  int buffer = -1;
  int64_t count = 0;
  int64_t stride = 1;
  SymInt axis;   // loop, let_index
  SymInt index;  // let_index, set_element, store, load_vector, store_vector
  Expr value;
  ir::ReduceKind reduce{};
  bool unroll = false;
  bool early = false;
  Block body, otherwise;
};

// Builders, one per kind.
Stmt let_index(const SymInt& axis, const SymInt& value);
Stmt declare(const Variable& variable, Expr value);
Stmt assign(const Variable& variable, Expr value);
Stmt array(const Variable& array, int64_t count);
Stmt set_element(const Variable& array, const SymInt& index, Expr value);
Stmt store(int buffer, const SymInt& index, Expr value);
Stmt load_vector(const Variable& array, int buffer, const SymInt& index, int64_t count);
Stmt store_vector(int buffer, const SymInt& index, const Variable& array, int64_t count);
Stmt loop(const SymInt& axis, Block body, bool unroll = false);
Stmt branch(Expr condition, Block body, Block otherwise = {});
Stmt barrier();
Stmt reload();
Stmt reduce_lanes(ir::ReduceKind kind, std::vector<Variable> variables, int64_t lanes,
                  int64_t stride = 1);
Stmt scan_lanes(ir::ReduceKind kind, const Variable& prefix, const Variable& total, int64_t lanes,
                int64_t stride = 1);
Stmt gather_cluster(const Variable& array, const Variable& variable, int64_t ranks);
Stmt cluster_arrive();
Stmt cluster_wait();
Stmt expect_bytes(const Variable& exchanges, int64_t exchange, int64_t bytes);
Stmt send_cluster(const Variable& exchanges, int64_t exchange, const Variable& array,
                  const Variable& variable, int64_t ranks);
Stmt await_bytes(const Variable& exchanges, int64_t exchange);
// acc = combine(acc, value), of one reduction step, for each of `accs`; for argmax and argmin
// `accs` and `values` are (value, index).
Block combine(ir::ReduceKind kind, const std::vector<Variable>& accs,
              const std::vector<Expr>& values);
Expr combine_values(ir::ReduceKind kind, const Expr& a,
                    const Expr& b);  // not for argmax and argmin
// Returns the identity of the reduction `kind` in `dtype`.
Expr identity_value(ir::ReduceKind kind, DType dtype);
Stmt return_value(Expr value);

// A function that a device source file calls. Parameters are indices, or arrays that are read, and
// maybe written.
struct Hook {
  std::string name;
  struct Parameter {
    std::string name;  // a hint, as those of axes and variables
    SymInt axis;       // an index; constant where it can take one value only
    Variable array;
    int64_t elements = 0;  // of the array; 0: an index
    bool written = false;

    bool is_index() const { return elements == 0; }
  };
  // An index in [0, extent), and an array of `elements`.
  static Parameter index_parameter(std::string name, const SymInt& extent);
  static Parameter array_parameter(std::string name, DType dtype, int64_t elements, bool written);
  std::vector<Parameter> parameters;
  DType result = DType::boolean;  // ignored unless returns
  bool returns = false;
  Block body;
};

// The constants of a device source, where it shares a struct of them with its template.
struct Parameters {
  std::string header;  // that declares the struct, below backends/device; empty: there are none
  std::string type;    // the struct: "GemmSm90", of namespace tcc::kernels
  // Paths of members and their values as C++: {"product.a.load", "Load::tiles"}.
  std::vector<std::pair<std::string, std::string>> fields;
  // The enumerators of all enumerations among the values, with their numbers.
  std::map<std::string, int64_t> enumerators;
};

// The needs of a device source, of its language and its device, beside what its hooks rely on.
struct SourceNeeds {
  // Names of Dialect::extensions, or extensions of the language: "GL_KHR_cooperative_matrix".
  std::set<std::string> extensions;
  std::string environment;                     // as KernelText has it
  std::vector<exec::MatrixUnit> matrix_units;  // that it uses
};

// Facts of the statements that the generated text relies on.
struct Requirements {
  bool int64 = false;           // values of 64-bit integers
  std::vector<int> alignments;  // what each argument's address must be a multiple of, in bytes
  std::set<int> vector_words;   // widths of the vector accesses, in 32-bit words
  // The language must have these: names of Dialect::extensions.
  std::set<std::string> extensions;
  // The text calls these of the device math library, "exp_f32"; what they call is not listed.
  std::set<std::string> functions;
};

// A number that sizes decide, for a device source that counts in 32 bits: the argument behind the
// sizes that the macro `name` stands for. A launch of more is refused.
struct Count {
  std::string name;
  SymInt value;
};

struct Kernel : exec::KernelTraits {
  exec::Amount flops, bytes;  // what it must do and move at least: for the roofline
  std::string name;     // of the entry point: a C identifier that tells the ops, "matmul_add_gelu"
  std::string comment;  // the region, for the reader of the generated text
  std::vector<Argument> arguments;
  // Symbols of its expressions, whose values are arguments after the buffers, 8 bytes each: of 64
  // bits where indices are wide, else of 32.
  std::vector<std::string> sizes;
  std::vector<Count> counts;
  SymInt grid = 1;                        // workgroups
  std::array<SymInt, 2> launch = {0, 0};  // the same by dimension; legalize sets it
  // Iterations of one thread, at most. A program checks them against its device, and a launch once
  // sizes are known. legalize sets those of generated kernels, a template those of its device
  // source where they depend on sizes.
  SymInt loop_iterations = 0;
  std::vector<Array> shared;
  Block body;
  // A device source file below backends/device/<dialect>/, without its ending, with its parameters,
  // its defines, and its hooks.
  std::string source;
  Parameters parameters;
  std::vector<std::pair<std::string, std::string>> defines;
  std::vector<Hook> hooks;
  SourceNeeds needs;
  std::vector<TensorMap> maps;  // of a device source: parameters after the buffers
  int cluster = 1;              // neighbouring workgroups that share their shared memory (cuda)
  int resident = 0;             // workgroups per SM that registers must allow; 0: any number
  // The kernel begins when the launch before it has ended, on an idle device, which places
  // neighbouring workgroups on neighbouring SMs.
  bool begins_alone = false;
  // A device source gets the number of its launch, from 0 on, where a sequence launches it several
  // times in a row: TCC_LAUNCH, an i32.
  bool numbered = false;
  bool uses_lanes = false;    // shuffles: thread numbers must follow subgroup lanes
  bool wide_index = false;    // some offset may reach 2^31: 64-bit index arithmetic
  Requirements requirements;  // legalize finds them

  bool is_generated() const { return source.empty(); }
};

// The standard axes: the workgroup's index in the grid and the thread's in the workgroup.
SymInt block_axis(const SymInt& grid);
SymInt thread_axis(int64_t workgroup);

// The kernel IR as text, for dumps and goldens.
std::string to_string(const Kernel& kernel);

// Checks that every axis and variable is bound once where it is used, with one dtype, that buffers
// are read and written only as declared, and that accesses are in bounds as far as the ranges of
// their indices tell, unless a condition is on what an index is made of; that all threads reach
// exchanges; and that buffers are updated as verify_updates says. Throws InternalError.
void verify(const Kernel& kernel);

// The rule of buffers that are read and written: a thread that loads an element stores that element
// later. As an element is stored once, no thread sees a new value. Device sources have rules of
// their own for such buffers, which are workspaces. Throws InternalError.
void verify_updates(const Kernel& kernel);

// Returns the statements with `axis` replaced in all indices.
Block substitute(const Block& block, const SymInt& axis, const SymInt& by);

// Restricts the kernel to what `target` can do, by the passes of scheduler/legalize.h. Throws
// Error(device) naming the limit that cannot be met.
Kernel legalize(Kernel kernel, const Target& target);

}  // namespace tcc::sched
