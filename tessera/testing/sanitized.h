// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tessera::test {

/// Whether this build uses the address sanitizer. It slows the naive reference by an order of
/// magnitude, so random tests try fewer cases there. Only the preprocessor can tell.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace tessera::test
