// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <utility>

#include "tools/check/check_printer.h"

namespace tessera::tools {

std::string_view code_meaning(std::string_view code) {
  using Meaning = std::pair<std::string_view, std::string_view>;
  static constexpr std::array kMeanings = {
      Meaning{"contradiction", "A layout says something else than its own rule derives."},
      Meaning{"syntax", "A layout does not follow its grammar."},
      Meaning{"unknown_name", "A layout uses a word that its grammar does not have."},
      Meaning{"bad_number", "A number in a layout is malformed or does not fit."},
      Meaning{"bad_dtype", "An element type is unknown, or does not fit its tile."},
      Meaning{"bad_shape", "A layout has an extent that no tensor can have."},
      Meaning{"invalid_shape", "The layout's fixed sizes do not divide or cover the shape."},
      Meaning{"rank_too_large", "A tensor or mesh has more dims than Tessera accepts."},
      Meaning{"overflow", "The sizes of a layout do not fit 64 bits."},
      Meaning{"too_large", "Deciding exactly would take more work than is reasonable."},
      Meaning{"not_injective", "Two elements share one slot of one place."},
      Meaning{"not_supported", "A layout of a kind that Tessera does not answer for."},
      Meaning{"waste", "A layout allocates many times the bytes of its data."},
      Meaning{"empty_cores", "Some cores of a layout's grid hold no data."},
      Meaning{"unusual_core_ranges", "Core ranges that no compiler would choose."},
      Meaning{"exceeds_memory", "A place's share is larger than its memory on the target."},
      Meaning{"exceeds_data_budget",
              "A place's share is larger than what the target has for data."},
      Meaning{"mesh_too_large", "A layout has more places than the target."},
      Meaning{"dead_places", "A layout uses places of the target that do not work."},
      Meaning{"span_too_long", "A place reaches further into a tensor than the target can."},
  };
  for (const auto& [name, meaning] : kMeanings) {
    if (name == code) return meaning;
  }
  return "A layout cannot be as it is written.";
}

}  // namespace tessera::tools
