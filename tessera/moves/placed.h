// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "tessera/base/result.h"
#include "tessera/layout/device_map.h"
#include "tessera/layout/form.h"
#include "tessera/layout/layout.h"
#include "tessera/moves/endpoints.h"
#include "tessera/target/fit.h"
#include "tessera/target/machine.h"

namespace tessera::moves {

/// The form of a layout in a memory of a machine, and the endpoint of each of its places.
struct Placed {
  Form form;
  DeviceMap map;
  std::int64_t slots = 0;
  std::int64_t length = 1;  ///< as in DealtSide
  std::int64_t period = 1;
};

/// By the rules of stored.h. `numbers` has as many elements as there are endpoints.
/// Errors: kOutOfRange and kMeshMismatch for places that the machine does not have; kNotSupported
/// where pages would be needed that the layout does not have.
Result<Placed> placed_in(const Layout& layout, std::size_t memory, target::Spread spread,
                         const Machine& machine, const EndpointNumbers& endpoints,
                         const Shape& numbers);

/// The form of in_pages.
Result<Form> paged(const Layout& layout, std::int64_t page);

}  // namespace tessera::moves
