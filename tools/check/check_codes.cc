// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <utility>

#include "tools/check/check_printer.h"

namespace tessera::tools {

std::string_view code_meaning(std::string_view code) {
  using Meaning = std::pair<std::string_view, std::string_view>;
  static constexpr std::array kMeanings = {
      Meaning{"contradiction", "A layout contradicts what its own rule derives."},
      Meaning{"syntax", "A layout does not follow its grammar."},
      Meaning{"unknown_name", "A layout uses a name that its grammar does not have."},
      Meaning{"bad_number", "A number in a layout is malformed or does not fit."},
      Meaning{"bad_dtype", "An element type is unknown, or does not fit its tile."},
      Meaning{"bad_shape", "A layout has an extent that no tensor can have."},
      Meaning{"invalid_shape", "The layout's fixed sizes do not divide or cover the shape."},
      Meaning{"rank_too_large", "A tensor or mesh has more dims than Tessera accepts."},
      Meaning{"overflow", "The sizes of a layout do not fit 64 bits."},
      Meaning{"too_large", "An exact decision would take too much work."},
      Meaning{"not_injective", "Two elements share one slot of one place."},
      Meaning{"not_supported", "Tessera does not support this kind of layout."},
      Meaning{"waste", "A layout allocates many times the bytes of its data."},
      Meaning{"empty_cores", "Some cores of a layout's grid hold no data."},
      Meaning{"unusual_core_ranges", "Core ranges that no compiler would choose."},
      Meaning{"exceeds_memory", "A place's share is larger than its memory on the target."},
      Meaning{"exceeds_data_budget",
              "A place's share is larger than the memory that the target has for data."},
      Meaning{"mesh_too_large", "A layout has more places than the target."},
      Meaning{"dead_places", "A layout uses dead places of the target."},
      Meaning{"span_too_long", "A place spans more of a tensor than the target allows."},
  };
  for (const auto& [name, meaning] : kMeanings) {
    if (name == code) return meaning;
  }
  return "A layout is invalid as written.";
}

}  // namespace tessera::tools
