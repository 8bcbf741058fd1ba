// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tessera::tools {

/// The help of an error that only a defect of Tessera can cause.
inline constexpr const char* kBugHelp = "this is a bug in Tessera: please report it";

}  // namespace tessera::tools
