// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <ios>
#include <new>
#include <stdexcept>

#include "tessera/base/result.h"

namespace tessera::tools {

/// The error for an exception that reached the command. The library throws nothing of its own, so
/// this is memory that the system refused (kOutOfMemory), a thread, or standard input that cannot
/// be read (kIo). Never throws: where no memory is left, the error has no help.
#if defined(__cpp_exceptions)
inline Error gave_up(const std::exception& exception, const char* help) noexcept {
  const bool is_memory = dynamic_cast<const std::bad_alloc*>(&exception) != nullptr ||
                         dynamic_cast<const std::length_error*>(&exception) != nullptr;
  Error error{is_memory ? ErrorCode::kOutOfMemory : ErrorCode::kIo, "out of memory"};
  const bool is_stream = dynamic_cast<const std::ios_base::failure*>(&exception) != nullptr;
  try {
    if (!is_memory) error.message = exception.what();
    if (is_stream) error.message = "cannot read standard input";
    error.help = is_stream ? "redirect it from a file or a pipe that can be read" : help;
  } catch (const std::bad_alloc&) {
    error.help.clear();
  }
  return error;
}
#endif

/// The same as a value: what `work` returns, or the error of the exception that it throws. Compiled
/// without exceptions, there are none, and memory that is refused ends the program.
template <typename Work>
auto caught(const Work& work, const char* help) -> decltype(work()) {
#if defined(__cpp_exceptions)
  try {
    return work();
  } catch (const std::exception& exception) {
    return gave_up(exception, help);
  }
#else
  static_cast<void>(help);
  return work();
#endif
}

}  // namespace tessera::tools
