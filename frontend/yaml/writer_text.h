// Pieces of YAML text that the reader takes back as they were.
#pragma once

#include <span>
#include <string>

#include "ir/graph.h"
#include "ir/op.h"

namespace tcc::yaml {

// A legal name of a value or dim; in quotes where YAML would see null.
std::string name_text(const std::string& name);
// The shortest text that reads back as the same number of `dtype`.
std::string number_text(double value, DType dtype = DType::f64);
std::string dims_text(std::span<const ir::SymInt> dims);  // "[B, 768]"
// Returns the shape of an input or a weight as text. Throws Error(bad_input) for more dims than a
// file may state.
std::string shape_text(const ir::Value& value);
// Throws Error(bad_input) for text that YAML graphs cannot hold.
std::string attr_text(const ir::Attr& attr);

}  // namespace tcc::yaml
