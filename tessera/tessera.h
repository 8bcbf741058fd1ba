// SPDX-License-Identifier: Apache-2.0
#pragma once

/// All of Tessera except its optional parts (exchange between ranks, MPI, the PyFlame interface).
///
///     const auto rows = tessera::parse_tensor("tensor<53x63xf32, strided<[63, 1]>>");
///     const auto tiles = tessera::parse_tensor("tensor<53x63xf32, pyflame.Grid(3, 2)>");
///     if (!rows || !tiles) return 1;
///     const auto where = tiles->placement.locate({40, 33});                 // place and slot
///     auto program = tessera::relayout::make_program(rows->placement, tiles->placement);
///
/// Every call that can fail returns a Result: a value, or an Error with a code, a message, the span
/// of the text that it refers to, and help. Nothing throws or prints. docs/cpp.md is the reference.

#include "tessera/base/dtype.h"
#include "tessera/base/result.h"
#include "tessera/base/shape.h"
#include "tessera/base/thread_pool.h"
#include "tessera/check/check.h"
#include "tessera/layout/layout.h"
#include "tessera/layout/locator.h"
#include "tessera/layout/placement.h"
#include "tessera/layout/regions.h"
#include "tessera/layout/runs.h"
#include "tessera/layout/view.h"
#include "tessera/memory/problem.h"
#include "tessera/memory/solve.h"
#include "tessera/memory/validate.h"
#include "tessera/notation/convert.h"
#include "tessera/notation/same_places.h"
#include "tessera/notation/tensor.h"
#include "tessera/relayout/plan.h"
#include "tessera/relayout/program.h"
#include "tessera/relayout/rounding.h"
#include "tessera/relayout/verify.h"
#include "tessera/reshard/reshard.h"
#include "tessera/reshard/transfers.h"
#include "tessera/target/fit.h"
#include "tessera/target/machine.h"
#include "tessera/version.h"
