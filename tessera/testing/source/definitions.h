// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

/// testing/source/: C++ source text comes in, the types that it defines go out. It is read without
/// a compiler, so that a test can check rules for the whole tree that no single translation unit
/// can see. It must not be used to judge code inside functions.
namespace tessera::test {

/// `text` with comments, literals and preprocessor lines replaced by blanks; line breaks are kept.
std::string without_comments(std::string_view text);

/// A class, struct, union, enum or alias that is defined at namespace scope.
struct TypeDefinition {
  std::string scope;  ///< "tessera::reshard"; empty for the global namespace
  std::string name;   ///< with its arguments for a specialisation: "hash<tessera::Key>"
  int line = 0;       ///< from 1
};

/// The types that `text` defines in named namespaces, in order. Types in unnamed namespaces and in
/// functions belong to one file alone and are left out.
/// Example: "namespace a { struct B {}; namespace { struct C {}; } }" defines a::B.
std::vector<TypeDefinition> type_definitions(std::string_view text);

}  // namespace tessera::test
