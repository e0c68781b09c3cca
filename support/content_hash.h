// A 128-bit hash of large contents (weights), several times faster than Hasher: equal contents are
// found by it, in memory and in files. Accidental collisions are out of the question; it does not
// withstand someone who constructs them.
#pragma once

#include <cstddef>
#include <span>

#include "support/hash.h"

namespace tcc {

// Uses all cores. The value is the same on every machine and in every version of tcc.
Hash128 content_hash(std::span<const std::byte> bytes);

}  // namespace tcc
