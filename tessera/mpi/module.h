// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>

#include "tessera/base/result.h"
#include "tessera/exchange/exchange.h"
#include "tessera/mpi/mpi_exchange.h"
#include "tessera/version.h"

/// The entry point of the module tessera_mpi.so, for programs that load MPI only when they need it:
///
///     void* module = dlopen("tessera_mpi.so", RTLD_NOW | RTLD_LOCAL);
///     auto ask = reinterpret_cast<MpiModuleFunction>(dlsym(module, kMpiModuleSymbol));
///     if (ask()->version == kMpiModuleVersion) exchange = ask()->open(options);
///
/// C++ values pass through this interface, so both sides must have the same version and compiler.
/// Before that is checked, only `version` may be read. The module is never unloaded.
namespace tessera::mpi {

struct MpiModule {
  std::string_view version;
  Result<std::unique_ptr<exchange::Exchange>> (*open)(const MpiOptions& options) = nullptr;
};

using MpiModuleFunction = const MpiModule* (*)();
inline constexpr const char* kMpiModuleSymbol = "tessera_mpi_module";

namespace module_detail {

/// The version of Tessera, and of the compiler that compiles this header.
inline constexpr auto kStamp = [] {
  constexpr std::string_view kCompiler = __VERSION__;
  constexpr std::string_view kBetween = " by compiler ";
  std::array<char, kVersion.size() + kBetween.size() + kCompiler.size()> text{};
  char* end = std::copy(kVersion.begin(), kVersion.end(), text.data());
  end = std::copy(kBetween.begin(), kBetween.end(), end);
  std::copy(kCompiler.begin(), kCompiler.end(), end);
  return text;
}();

}  // namespace module_detail

/// Example: "0.1.0 by compiler 12.2.0".
inline constexpr std::string_view kMpiModuleVersion(module_detail::kStamp.data(),
                                                    module_detail::kStamp.size());

}  // namespace tessera::mpi
