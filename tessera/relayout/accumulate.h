// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include "tessera/base/thread_pool.h"
#include "tessera/relayout/program.h"
#include "tessera/reshard/combine.h"
#include "tessera/reshard/element_memory.h"
namespace tessera {
class Accumulate {
 public:
  static Result<Accumulate> make(Program p, Reduction r) {
    Accumulate a;
    TESSERA_TRY(a.c, combiner_of(r, p.to.storage()));
    a.p = std::move(p);
    return a;
  }
  Status run(std::span<const std::byte> from, std::span<std::byte> to, ThreadPool&) const {
    const std::int64_t bits = *dtype_bits(p.to.storage());
    for (std::int64_t n = 0; n < p.nests(); ++n) {
      const Nest nest = p.nest(n);
      std::vector<std::int64_t> digits(nest.loops.size(), 0);
      for (bool more = true; more;) {
        Spots at = nest.at;
        for (std::size_t i = 0; i < digits.size(); ++i) {
          at.a.slot += digits[i] * nest.loops[i].move.a.slot;
          at.b.slot += digits[i] * nest.loops[i].move.b.slot;
        }
        store(to.data(), at.b.slot, bits, c.combine(load(to.data(), at.b.slot, bits), load(from.data(), at.a.slot, bits)));
        more = false;
        for (std::size_t i = digits.size(); i-- > 0 && !more;) {
          more = ++digits[i] < nest.loops[i].extent;
          if (!more) digits[i] = 0;
        }
      }
    }
    return ok_status();
  }
  Program p;
  Combiner c;
};
}
