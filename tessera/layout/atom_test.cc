// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>

#include "tessera/layout/layout.h"

namespace tessera {
namespace {

TEST(Atom, ScalarsAndTiles) {
  EXPECT_FALSE(Atom::scalar(DType::kF32).is_tile());
  EXPECT_EQ(Atom::scalar(DType::kF32).elements(), 1);
  EXPECT_TRUE(Atom::tile(32, 32, DType::kBfpBf8).is_tile());
  EXPECT_EQ(Atom::tile(32, 32, DType::kBfpBf8).elements(), 1024);
}

TEST(Atom, BytesOfSlots) {
  EXPECT_EQ(Atom::scalar(DType::kF32).bytes(10), 40);
  EXPECT_EQ(Atom::scalar(DType::kI4).bytes(3), 2);
  EXPECT_EQ(Atom::scalar(DType::kI2).bytes(9), 3);
  EXPECT_EQ(Atom::tile(32, 32, DType::kF32).bytes(1024), 4096);
  EXPECT_EQ(Atom::tile(32, 32, DType::kBfpBf8).bytes(2048), 2176);
  EXPECT_EQ(Atom::tile(32, 32, DType::kBfpF4).bytes(1024), 576);
  EXPECT_FALSE(Atom::scalar(DType::kF64).bytes(INT64_MAX).has_value());
}

TEST(Atom, ByteOfASlot) {
  EXPECT_EQ(Atom::scalar(DType::kF32).byte_of(10), 40);
  EXPECT_EQ(Atom::scalar(DType::kI4).byte_of(3), 1);
  EXPECT_EQ(Atom::scalar(DType::kI2).byte_of(7), 1);
  EXPECT_EQ(Atom::scalar(DType::kBool).byte_of(7), 7);
  EXPECT_FALSE(Atom::tile(32, 32, DType::kBfpBf8).byte_of(7).has_value());
}

TEST(Atom, WhatCannotBeIsAnError) {
  EXPECT_TRUE(Atom::tile(32, 32, DType::kBfpBf2).check().ok());
  EXPECT_TRUE(Atom::tile(16, 32, DType::kF32).check().ok());
  for (const Atom& bad : {Atom::tile(0, 32, DType::kF32), Atom::tile(32, -1, DType::kF32),
                          Atom::tile(16, 32, DType::kBfpBf8), Atom::scalar(DType::kBfpF8),
                          Atom::tile(INT64_MAX, 2, DType::kF32)}) {
    const Status status = bad.check();
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::kBadAtom);
  }
}

}  // namespace
}  // namespace tessera
