// SPDX-License-Identifier: Apache-2.0
#include "tessera/memory/in_place.h"

#include <algorithm>
#include <utility>

#include "tessera/base/names.h"
#include "tessera/base/text.h"

namespace tessera::memory {

std::vector<Declined> take_back_smaller(Program& program, const Lifetimes& lives,
                                        const FitsInside& inside) {
  std::vector<std::pair<std::size_t, std::size_t>> granted;
  for (const InPlace& request : lives.in_place) granted.emplace_back(request.output, request.input);
  std::sort(granted.begin(), granted.end());
  const auto is_granted = [&granted](const InPlace& request) {
    return std::binary_search(granted.begin(), granted.end(),
                              std::pair(request.output, request.input));
  };
  std::vector<Declined> taken_back;
  for (std::size_t k = 0; k < program.ops.size(); ++k) {
    std::erase_if(program.ops[k].in_place, [&](const InPlace& request) {
      const bool is_smaller =
          !request.required && is_granted(request) && !inside(request.input, request.output, 0);
      if (is_smaller) {
        taken_back.push_back(
            {k, request,
             cat(quote_name(lives.names[request.output]), " would keep all the memory of ",
                 quote_name(lives.names[request.input]), ", but needs less")});
      }
      return is_smaller;
    });
  }
  return taken_back;
}

}  // namespace tessera::memory
