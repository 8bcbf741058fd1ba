// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "tessera/base/result.h"
#include "tessera/notation/notation.h"
#include "tessera/relayout/plan.h"
#include "tools/command/command.h"

/// tools/relayout/: the verb `relayout`. Two tensors and, for a move, two files come in; the
/// program as text or JSON, or the written file, goes out. Programs and plans are made by
/// tessera/relayout: nothing here decides where an element goes.
namespace tessera::tools {

/// A relayout from one file to another.
struct FileMove {
  std::string in;
  std::string out;
  bool raw = false;          ///< files whose extension does not decide are raw binary
  std::int64_t threads = 0;  ///< 0: as many as the hardware runs concurrently
  relayout::Rounding rounding = relayout::Rounding::kChecked;
  bool verify = false;
};

/// The result of a move.
struct FileMoved {
  std::string array;          ///< "array (2, 2, 1024) of '<f4'", or "raw bytes"
  std::int64_t bytes = 0;     ///< of the file
  std::int64_t elements = 0;  ///< copied, including replicas
  std::string sidecar;        ///< its name, or empty
  bool is_compared = false;   ///< with the reference, byte by byte
  std::int64_t clipped = 0;   ///< numbers that were too large for the type of B, or not a number
};

/// kContradiction with the first flaw that the verifier finds in `program`.
Status check_program(const relayout::Program& program, const Placement& from, const Placement& to,
                     relayout::PaddingRule padding);

/// Reads tensor `a` from a file and writes it as `b` to another, which appears complete or not at
/// all. The sidecar changes first: if naming the file then fails, an older file may have the new
/// sidecar, or none. Errors: those of the files (kIo, kSyntax, ..), of the arrays in them
/// (kBadDType, kShapeMismatch, kContradiction with a sidecar), of make_program and of Plan. With
/// `verify` also kContradiction when the program, or (where elements keep their type) the result,
/// is incorrect, which would be a bug in Tessera.
Result<FileMoved> move_files(const Tensor& a, const Tensor& b, const FileMove& move,
                             Console& console);

/// The program of that move, with all checks of its input. No element is read, and nothing is
/// written. Errors: those of move_files.
Result<relayout::Program> program_of_files(const Tensor& a, const Tensor& b, const FileMove& move);

}  // namespace tessera::tools
