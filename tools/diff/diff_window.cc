// SPDX-License-Identifier: Apache-2.0
#include "tools/diff/diff_window.h"

#include <cstddef>
#include <ostream>
#include <string>
#include <string_view>

#include "tessera/base/text.h"
#include "tessera/layout/placement.h"
#include "tessera/notation/same_places.h"
#include "tools/command/window.h"
#include "tools/diff/changes.h"
#include "tools/terminal/replicas.h"
#include "tools/terminal/text.h"

namespace tessera::tools {

Result<Verdict> diff_window(const Request& request, Console& console) {
  TESSERA_TRY(const SamePlaces places, same_places(request.tensor("a"), request.tensor("b")));
  TESSERA_TRY(const Comparison comparison, same_on_device(places.a, places.b));
  TESSERA_TRY(const Window window, read_window(request, places.a.shape()));
  TESSERA_TRY(const Changes found, changes_in(places, window));
  std::string changes;
  for (std::size_t k = 0; k < found.changes.size(); ++k) {
    const std::string_view change = change_name(found.changes[k]);
    changes += console.json ? cat(k > 0 ? ",\"" : "\"", change, "\"")
                            : cat(bracketed(window.element(static_cast<std::int64_t>(k))), "  ",
                                  change, "  place ", found.from[k], " to ", found.to[k], "\n");
  }
  if (console.json) {
    std::string line = cat("{\"equal\":", comparison.equal ? "true" : "false", ",\"mesh\":");
    append_numbers(line, found.mesh.extents());
    line += cat(",\"changes\":[", changes, "],\"from\":");
    append_numbers(line, found.from);
    line += ",\"to\":";
    append_numbers(line, found.to);
    console.out << line << "}\n";
  } else {
    console.out << changes;
  }
  return comparison.equal ? Verdict::kYes : Verdict::kNo;
}

}  // namespace tessera::tools
