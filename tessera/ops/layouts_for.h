// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tessera/base/result.h"
#include "tessera/graph/op.h"
#include "tessera/layout/layout.h"
#include "tessera/ops/loops.h"
#include "tessera/ops/work_map.h"

namespace tessera::ops {

/// The layout in which the work finds what it reads of an input: each element on the places that
/// read it, in row-major order there. A dim under a window is cut in the same proportion as the
/// positions, so that only halos are missing. A dim of which only a part is read, as by a slice, is
/// dealt out to the same places again and again, so that the part that is read lies as the work is
/// divided. Along mesh axes whose cut the input cannot follow it is replicated, which always
/// supplies the work.
/// Law: supplies(loops, access, layout_for_input(..).form(), work).complete, and the layout is on
/// no coordinate that the work does not use, so it is the same on every mesh that has these.
/// Example: C[i, j] = A[i, k]·B[k, j] with i over axis 0 and j over axis 1: A is cut by rows over
/// axis 0 and replicated over axis 1.
Result<Layout> layout_for_input(const Loops& loops, const Access& access,
                                const graph::TensorType& type, const WorkMap& work);

/// The layout in which the work leaves an output: where the iterations that make an element are
/// performed; partial over the mesh axes that divide reduced factors, replicated where work is
/// repeated. kNotSupported if no layout can say it.
Result<Layout> layout_for_output(const Loops& loops, const Access& access,
                                 const graph::TensorType& type, const WorkMap& work);

}  // namespace tessera::ops
