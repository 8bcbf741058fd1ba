// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/notation/notation.h"
#include "tessera/reshard/reshard.h"
#include "tessera/testing/reshard/naive_reshard.h"
#include "tools/files/npy.h"

namespace tessera::tools {

/// The files of a reshard, place by place, computed by loops over elements, shares and copies
/// alone: the files to read, and those that must be written. Padding is 0xa5 bytes in the former
/// and 0 in the latter.
class ShardCase {
 public:
  ShardCase(const std::string& a, const std::string& b)
      : a_text(a), b_text(b), a_(*parse_tensor(a)), b_(*parse_tensor(b)) {
    // Distances between places do not change what the places hold in the end.
    const std::int64_t most = std::max(places_of(a_.placement), places_of(b_.placement));
    reshard::PhysicalMesh physical;
    physical.mesh = *Shape::make({most});
    const test::NaiveReshard moves = test::naive_reshard(a_.placement, b_.placement, physical);
    inputs_ = memory_of(a_.placement, '\xa5');
    outputs_ = memory_of(b_.placement, '\0');
    for (std::size_t e = 0; e < moves.from.size(); ++e) {
      const test::NaiveHome& from = moves.from[e];
      const test::NaiveHome& to = moves.to[e];
      double all = 0;
      for (std::size_t share = 0; share < from.shares.size(); ++share) {
        all += value(e, share);
        put(inputs_, from, share, value(e, share));
      }
      const bool alike = test::naive_alike(from, to);
      for (std::size_t share = 0; share < to.shares.size(); ++share) {
        put(outputs_, to, share, alike ? value(e, share) : share == 0 ? all : 0.0);
      }
    }
  }

  const std::string a_text;
  const std::string b_text;

  /// Writes the files of A as `folder`/x.N.npy, N below places().
  void write_inputs(const std::string& folder) const {
    const NpyType type = type_of(a_.placement.atom().storage);
    for (std::size_t place = 0; place < inputs_.size(); ++place) {
      const std::int64_t count = static_cast<std::int64_t>(inputs_[place].size()) / type.bytes;
      std::ofstream(cat(folder, "/x.", place, ".npy"), std::ios::binary)
          << write_npy_header(type, false, {count}) << inputs_[place];
    }
  }

  /// The same in one file: all of A's places, one after the other.
  std::string all_inputs() const { return joined(inputs_); }
  std::string all_outputs() const { return joined(outputs_); }

  /// What is wrong with the files `folder`/y.N.npy; empty when each holds the memory of its place.
  std::string check_outputs(const std::string& folder) const {
    for (std::size_t place = 0; place < outputs_.size(); ++place) {
      const std::string name = cat(folder, "/y.", place, ".npy");
      std::ostringstream text;
      text << std::ifstream(name, std::ios::binary).rdbuf();
      const std::string bytes = text.str();
      const Result<NpyHeader> header = read_npy_header(std::as_bytes(std::span(bytes)));
      if (!header) return cat(name, ": ", header.error().message);
      const std::string data = bytes.substr(static_cast<std::size_t>(header->data_offset));
      if (data == outputs_[place]) continue;
      std::size_t byte = 0;
      while (byte < std::min(data.size(), outputs_[place].size()) &&
             data[byte] == outputs_[place][byte]) {
        ++byte;
      }
      return cat(name, " has ", data.size(), " bytes, expected ", outputs_[place].size(),
                 ", and differs first at ", byte);
    }
    return "";
  }

  std::int64_t places() const { return static_cast<std::int64_t>(outputs_.size()); }

 private:
  using Memories = std::vector<std::string>;

  static std::int64_t places_of(const Placement& placement) {
    std::int64_t most = placement.mesh().elements();
    for (const FormPiece& piece : form_pieces(placement)) {
      if (piece.device_map != nullptr && piece.device_map->kind() != DeviceMap::Kind::kIdentity) {
        most = std::max(most, piece.device_map->physical().elements());
      }
    }
    return most;
  }

  static NpyType type_of(DType dtype) {
    const std::int64_t bytes = *dtype_bits(dtype) / 8;
    if (dtype == DType::kF64 || dtype == DType::kF32) return {'f', bytes, false};
    return {dtype == DType::kSI32 ? 'i' : 'u', bytes, false};
  }

  static Memories memory_of(const Placement& placement, char fill) {
    const auto bytes = static_cast<std::size_t>(placement.shard_bytes());
    return Memories(static_cast<std::size_t>(placement.places()), std::string(bytes, fill));
  }

  static std::string joined(const Memories& memories) {
    std::string all;
    for (const std::string& memory : memories) all += memory;
    return all;
  }

  /// Small enough that sums of them are exact in every order.
  static double value(std::size_t element, std::size_t share) {
    return static_cast<double>((element * 7 + share * 31) % 4093 + 1);
  }

  /// Writes the number to every place of a share.
  void put(Memories& memories, const test::NaiveHome& home, std::size_t share, double number) {
    const DType dtype = a_.placement.atom().storage;
    std::string bytes(static_cast<std::size_t>(*dtype_bits(dtype) / 8), '\0');
    const auto single = static_cast<float>(number);
    const auto whole = static_cast<std::int64_t>(number);
    if (dtype == DType::kF64) {
      std::memcpy(bytes.data(), &number, bytes.size());
    } else if (dtype == DType::kF32) {
      std::memcpy(bytes.data(), &single, bytes.size());
    } else {
      std::memcpy(bytes.data(), &whole, bytes.size());
    }
    for (const test::NaivePlace& place : home.shares[share]) {
      std::string& memory = memories[static_cast<std::size_t>(place.place)];
      memory.replace(static_cast<std::size_t>(home.slot) * bytes.size(), bytes.size(), bytes);
    }
  }

  Tensor a_;
  Tensor b_;
  Memories inputs_;
  Memories outputs_;
};

}  // namespace tessera::tools
