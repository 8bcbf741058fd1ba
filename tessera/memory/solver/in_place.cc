// SPDX-License-Identifier: Apache-2.0
#include "tessera/memory/solver/in_place.h"

#include <algorithm>
#include <utility>

#include "tessera/base/names.h"
#include "tessera/base/text.h"

namespace tessera::memory {

std::vector<Declined> take_back_smaller(Program& program, const Lifetimes& lives,
                                        const FitsInside& inside) {
  std::vector<std::pair<std::size_t, std::size_t>> granted;
  for (const InPlace& wish : lives.in_place) granted.emplace_back(wish.output, wish.input);
  std::sort(granted.begin(), granted.end());
  const auto is_granted = [&granted](const InPlace& wish) {
    return std::binary_search(granted.begin(), granted.end(), std::pair(wish.output, wish.input));
  };
  std::vector<Declined> taken_back;
  for (std::size_t k = 0; k < program.ops.size(); ++k) {
    std::erase_if(program.ops[k].in_place, [&](const InPlace& wish) {
      const bool is_smaller =
          !wish.required && is_granted(wish) && !inside(wish.input, wish.output, 0);
      if (is_smaller) {
        taken_back.push_back(
            {k, wish,
             cat(quote_name(lives.names[wish.output]), " would keep all the memory of ",
                 quote_name(lives.names[wish.input]), ", and needs less")});
      }
      return is_smaller;
    });
  }
  return taken_back;
}

}  // namespace tessera::memory
