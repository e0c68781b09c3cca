// Whether this build has a sanitizer, which takes memory and time of its own and handles faults.
#pragma once

namespace tcc::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace tcc::test
