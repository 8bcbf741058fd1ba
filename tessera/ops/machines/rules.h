// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/ops/machines/restrictions.h"

namespace tessera::ops::machines {

/// A question that allowed_on has checked.
struct Asked {
  const graph::Call& call;
  const graph::Types& types;  ///< of the outputs
  const Operands& operands;

  bool is(std::string_view name) const { return call.op().is(name); }
  bool is_any(std::initializer_list<std::string_view> names) const;
  /// Null where no layout is given.
  const Layout* in(std::size_t i) const;
  const Layout* out(std::size_t o = 0) const;
  /// All layouts that are given, inputs first, with names for messages: "input 0", "output 0".
  struct Named {
    std::string name;
    const Layout* layout;
  };
  std::vector<Named> all() const;
};

Allowed by(std::string_view rule);
Allowed refused(std::string_view rule, std::string reason);

/// The mesh axes that divide a dim, in increasing order: those of its digits that have several
/// values.
std::vector<int> axes_of(const Layout& layout, std::size_t dim);
bool is_divided(const Layout& layout, std::size_t dim);
bool is_partial(const Layout& layout);

/// The dims that move inside a stick of 128 bytes; none for a sparse tensor.
std::vector<int> stick_dims(const Layout& layout);

/// A rule and the ops that it holds for.
struct OpsRule {
  std::vector<std::string_view> ops;
  Allowed (*rule)(const Asked& asked);
};
/// By the first row with the op, else by its family; "any" for ops that no rule knows.
Allowed by_table(const Asked& asked, const std::vector<OpsRule>& table,
                 Allowed (*elementwise)(const Asked& asked),
                 Allowed (*reduction)(const Asked& asked));

Allowed on_ttnn(const Asked& asked);
Allowed on_spyre(const Asked& asked);
Allowed on_wafer(const Asked& asked);

}  // namespace tessera::ops::machines
