// split and chunk share this definition: each result is a piece of one dim.
#pragma once

#include <functional>
#include <string>

#include "ir/builder.h"
#include "ir/op.h"
#include "ir/ops/_attributes.h"

namespace tcc::ir::ops {

// The sizes of the pieces, or why there are none.
struct Sections {
  Shape sizes;
  std::string error;
};
using SectionsOf = std::function<Sections(const Node&, const SymInt& extent)>;

// Pieces of `size`, the last one smaller where it does not divide `extent`; one empty piece of an
// empty dim.
Sections equal_sections(const SymInt& extent, const SymInt& size);

// The op, without attributes and samples; attribute `dim` is needed.
OpDef split_op(std::string name, std::string doc, SectionsOf sections);

}  // namespace tcc::ir::ops
