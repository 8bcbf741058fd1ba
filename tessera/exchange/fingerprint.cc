// SPDX-License-Identifier: Apache-2.0
#include "tessera/exchange/fingerprint.h"

#include <bit>
#include <span>

#include "tessera/exchange/mixing.h"
#include "tessera/exchange/packets/checksum.h"

namespace tessera::exchange {

void Fingerprint::absorb(std::uint64_t word) {
  state_ = avalanche(std::rotl(state_, 23) ^ avalanche(word)) + kFive;
}

void Fingerprint::add(std::int64_t number) { absorb(static_cast<std::uint64_t>(number)); }

void Fingerprint::add(std::string_view text) {
  // A text adds two words, so that no single number can equal it.
  absorb(kEleven ^ static_cast<std::uint64_t>(text.size()));
  absorb(checksum(std::as_bytes(std::span(text))));
}

std::uint64_t Fingerprint::value() const { return avalanche(state_ ^ kTwo); }

}  // namespace tessera::exchange
