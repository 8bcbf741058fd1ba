// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/form.h"
#include "tessera/moves/stored.h"
#include "tessera/target/machine.h"

namespace tessera::moves {

/// A tensor on the places of its own mesh, counted row-major, and the endpoint of each in short
/// form. Places that are dealt out are counted modulo their period: place v = outer·length + page
/// is at the endpoint outer_endpoints[outer] + page mod period. Law: endpoint(reduced(v)) is the
/// endpoint of place v, and reduced(v + w) = sum(reduced(v), reduced(w)) where the pages of v and w
/// together are below `length`.
struct DealtSide {
  Form form;
  std::int64_t length = 1;
  std::int64_t period = 1;
  std::vector<std::int64_t> outer_endpoints;

  std::int64_t reduced(std::int64_t place) const {
    return place / length * room() + place % length % period;
  }
  /// What leads from one place to others; may be negative.
  class Steps {
   public:
    Steps(const DealtSide& side, std::int64_t from)
        : length_(side.length),
          period_(side.period),
          room_(side.room()),
          outer_(from / length_),
          page_(from % length_ % period_) {}
    std::int64_t to(std::int64_t place) const {
      const bool inside = 0 <= place && place < length_;  // divisions take most of the time
      const std::int64_t outer = inside ? 0 : place / length_;
      const std::int64_t pages = (inside ? place : place % length_) % period_ - page_;
      return (outer - outer_) * room_ + (pages < 0 ? pages + period_ : pages);
    }

   private:
    std::int64_t length_;
    std::int64_t period_;
    std::int64_t room_;
    std::int64_t outer_;
    std::int64_t page_;
  };
  std::int64_t step(std::int64_t from, std::int64_t to) const { return Steps(*this, from).to(to); }
  /// A reduced place, and a step to another one.
  std::int64_t sum(std::int64_t place, std::int64_t step) const {
    const std::int64_t both = place + step;
    return both % room() < period ? both : both - period;
  }
  std::int64_t endpoint(std::int64_t reduced_place) const {
    return outer_endpoints[static_cast<std::size_t>(reduced_place / room())] +
           reduced_place % room();
  }
  /// Reduced places are below this.
  std::int64_t numbers() const {
    return static_cast<std::int64_t>(outer_endpoints.size()) * room();
  }
  /// Numbers that one outer place takes: enough for the sum of two pages.
  std::int64_t room() const { return 2 * period - 1; }
};

/// The endpoints of a tensor with one layout, in short form.
Result<DealtSide> dealt_side(const Stored& stored, const Machine& machine);

}  // namespace tessera::moves
