// A dialect: the spellings in which one target's text differs from another's. The emitter has no
// other knowledge of targets. Patterns hold {placeholders}; type names (f32, i32, ...) come from
// the dialect's prelude and are the same for all.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ir/dtype.h"

namespace tcc::backends {

struct Dialect {
  std::string name;           // folder of device sources: "cuda"
  std::string source_ending;  // ".cu"
  std::string emit_ending;    // of files that tools write: ".cu", ".comp"
  std::string prelude;        // device source file with the type names
  // Words that kernels may not use as names: keywords, and the functions and types of the language
  // that its spellings and prelude use. Separated by spaces; cpp_keywords() where it extends C++.
  std::string reserved;
  // The beginning of a kernel's text; {extensions} is replaced by the lines of `extension` that it
  // needs.
  std::string header;
  // Before the prelude, where the device's exp2 is exact enough for exp, and its conversions of
  // f16.
  std::string native_exp2, native_f16;
  std::string wide_header;  // added before the prelude when 64-bit integers are used
  // The lines by name: "lanes", "storage16", "storage8", ...
  std::map<std::string, std::string, std::less<>> extensions;
  // The line for an extension {name} that a device source names; "": the language has none.
  std::string extension_line;

  std::map<DType, std::string> storage;  // element type in memory
  // Declaration of the type of a buffer of {storage}, once per type; {type}, {bytes}, {access}
  // {restrict}.
  std::string buffer_type;
  std::string buffer_parameter;  // one kernel argument: {storage} {type} {name} {access} {restrict}
  // {access} of buffers that a kernel only reads or only writes; that of others is empty.
  std::string read_only, write_only;
  std::string restrict;  // {restrict} of buffers that no other meets
  // {name}, which a kernel gets by value in 8 bytes: a size of a kernel with wide indices, an i64;
  // the size of another kernel, a count or the launch's number, an i32. "": no such thing.
  std::string size_parameter, number_parameter;
  std::string parameter_separator;
  std::string element;      // {buffer} {index}
  std::string vector_type;  // declaration for vector access, {words} 32-bit words; "" when built in
  std::string vector_load;  // {words} {buffer} {index}: in units of the vector
  // The same pattern where compilers would otherwise move the load to its first use; "" when they
  // do not.
  std::string early_vector_load;
  // {buffer} {index}: 16 bits of a buffer of 8-bit elements, as an unsigned integer; "": no such
  // thing.
  std::string half_word_load;
  std::string vector_store;  // {words} {buffer} {index} {value}
  // The same where {condition} holds, for compilers that would otherwise move the loads which the
  // value is made of under the condition, too; "" when they do not.
  std::string vector_store_where;
  // An element of {bytes} bytes behind {type} {buffer} where a subscript has 32 bits but {index}
  // needs 64; "" where subscripts are wide enough.
  std::string far_element;
  std::string vector_make;  // {words} {values}
  std::string vector_word;  // {vector} {component}, one of x, y, z, w
  std::string word;         // type of a vector of {words} 32-bit words; one word is u32

  // Statements for targets that overlap launches: the next one may begin; waits until the one
  // before has ended and its stores are seen.
  std::string release, wait;
  std::string entry_prefix;  // {workgroup}: lines before the entry
  std::string entry;  // {name} {workgroup} {resident} {cluster} {parameters}: up to and without the
                      // opening brace
  std::string entry_suffix;  // {name} {parameters}: lines behind the entry of a generated kernel,
                             // in which a host language may run its workgroups
  std::string resident, cluster;  // {count}: in `entry` where a kernel asks for them
  std::string
      map_parameter;  // a tensor map, of the device sources' type, {name}; "": no such thing
  // The constant `params` of a device source: a struct {type} that {header} declares, with
  // {fields}, each {name} and {value} in C++. {flat_name} and {flat_value} are the same as
  // identifiers and integers, for languages without such structs, which get the {enumerators} that
  // values may be compared with, each {flat_name} and {number}. "": no such thing.
  std::string source_parameters, source_parameter, source_enumerator;
  // {parameters}: declaration before the entry, "" when they are parameters of the entry.
  std::string argument_block;
  std::string table_block;  // the same, when arguments come through a table; with `table_entry` per
                            // argument
  std::string table_entry;  // {type} {name} {number}
  std::string table_size;   // the same of a `size_parameter`
  std::string table_number;  // and of a `number_parameter`
  std::string block_index, thread_index, lane_thread_index;
  std::string hook;          // {result} {name} {parameters}
  std::string hook_buffers;  // whether hooks get buffers and sizes: "yes" or ""
  // {index}, which is not negative, in a form that compilers do not see through, where they compare
  // widened integers wrongly; "": as it is.
  std::string index_mask;
  std::string shared_in_entry;  // whether shared arrays are declared in the entry: "yes" or ""
  std::string array_in, array_inout;  // hook parameters: {type} {name} {count}
  std::string shared;                 // {type} {name} {count}
  std::string barrier;
  // Keeps compilers from holding in registers across it what was loaded; "": no such thing.
  std::string reload;
  // The exchanges of a cluster, counted by an array {exchanges}: number {exchange} expects {bytes};
  // the two halves of the cluster's barrier; {value} is sent to {array} of {ranks}; the wait. "":
  // no such thing.
  std::string expect_bytes, cluster_arrive, cluster_wait, send_cluster, await_bytes;
  std::string shuffle_xor;  // {value} {mask}
  // {type} {value}: 0.0 as an operand beside {value}, where drivers may not see that it is; "": as
  // it is.
  std::string hidden_zero;
  std::string unroll;         // before a loop
  std::string int64_literal;  // {value}
  // {a} {op} {b} of signed integers of {type}, computed in {unsigned}, where the language leaves
  // results beyond the type undefined; "" where they wrap.
  std::string wrapping;
};

// Keywords of C++, for the words of dialects that extend it.
std::string_view cpp_keywords();

// Returns the pattern with its placeholders replaced.
std::string fill(std::string_view pattern,
                 const std::vector<std::pair<std::string_view, std::string>>& values);

}  // namespace tcc::backends
