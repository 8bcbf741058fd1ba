// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/memory/problem.h"

namespace tessera::memory {

/// A value that a program computes or is given.
struct Value {
  enum class Kind : std::uint8_t {
    kComputed,   ///< by exactly one op
    kInput,      ///< present when the program begins; its memory is free after its last use
    kConstant,   ///< present when the program begins, and throughout
    kParameter,  ///< the same; training changes it in place
  };
  std::string name;
  Kind kind = Kind::kComputed;
  bool output = false;  ///< must be present at the end
  bool stays = false;   ///< an input that is needed throughout, like constants and parameters
};

/// An output that may overwrite an input of the same op, if that input dies there.
struct InPlace {
  std::size_t output = 0;  ///< values, by their indices
  std::size_t input = 0;
  bool required = false;  ///< if it is not possible: an error, instead of separate memory
};

/// An output that is a part of an input: nothing is copied.
struct ViewOf {
  std::size_t output = 0;
  std::size_t input = 0;
  std::int64_t delta = 0;  ///< bytes from the start of the input
};

/// Memory that only one op needs: partial results, panels of a matmul, data that stream through.
struct Scratch {
  std::string name;
  std::int64_t bytes = 0;                 ///< on every place that holds `where`
  std::optional<std::size_t> where = {};  ///< a value; default: every place of the mesh
  std::int64_t panel = 0;    ///< steps of K that the bytes are for, when fewer steps are possible
                             ///< too
  std::int64_t buffers = 1;  ///< equal parts, one of which is filled while another is used
  std::string reserve = {};  ///< the target's reservation that it may use
};

struct Op {
  std::string name;
  std::vector<std::size_t> inputs;
  std::vector<std::size_t> outputs;
  std::vector<Scratch> scratch = {};
  std::vector<InPlace> in_place = {};  ///< in order of preference
  std::vector<ViewOf> views = {};
};

/// Ops in the order in which they run; op k runs at moment k.
struct Program {
  std::vector<Value> values;
  std::vector<Op> ops;
};

/// True when value `part`, placed `delta` bytes into value `whole`, stays inside it on every place.
using FitsInside = std::function<bool(std::size_t part, std::size_t whole, std::int64_t delta)>;

/// An output that got separate memory although it could have been computed in place.
struct Declined {
  std::size_t op = 0;
  InPlace request;
  std::string reason;  ///< "'x' is read again by 'add'"
};

/// The lifetimes of every value and every scratch.
struct Lifetimes {
  /// Values in their order, then the scratches of op 0, op 1, .. Sizes are not set, and there are
  /// no gaps.
  std::vector<Buffer> buffers;
  std::vector<std::string> names;       ///< of the buffers; scratches are "op.scratch"
  std::vector<std::size_t> scratch_of;  ///< the op of each buffer past the values
  std::vector<InPlace> in_place;        ///< outputs that are computed in place, proven to be safe
  std::vector<Declined> declined;       ///< those that are not, and why
  std::int64_t moments = 0;             ///< the number of ops, and at least 1
};

/// The lifetimes of a program's values.
///
/// The rule, for op k at moment k and n ops:
///     computed by k, last read by m        [k, m + 1): the op that reads it last still needs it
///     input, last read by m                [0, m + 1)
///     constant, parameter, input that stays    [0, n)
///     output                               to n
///     never read                           [k, k + 1); an input [0, 1)
///     scratch of k                         [k, k + 1)
/// A view, and an output computed in place, share their input's memory. An output is computed in
/// place only if this is proven safe: nothing that shares the input's memory is read later, is an
/// output, stays, or is also read by this op under another name, and `inside` confirms that the
/// output needs no more bytes than the input on any place. Of several in-place hints for one
/// output, the first that is proven is used.
///
/// Errors, kBadBuffer with the value's index as span: a computed value that no op defines, two
/// definitions, an op that defines a given value, a use before the definition, a view that exceeds
/// its input, a required in-place that is not proven, negative scratch. kOutOfRange for an index
/// that is no value's.
/// Example: y = relu(x) in place, z = y + y: x [0, 1) and y [0, 2) are one block with lifetime [0,
/// 2).
Result<Lifetimes> lifetimes(const Program& program, const FitsInside& inside);

/// The same on one place, where every value has one size.
Result<Lifetimes> lifetimes(const Program& program, const std::vector<std::int64_t>& sizes);

}  // namespace tessera::memory
