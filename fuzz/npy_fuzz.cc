// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "fuzz/laws.h"
#include "tools/files/npy.h"

// Any bytes are read as the header of an array, or refused with the position of the wrong byte.
// Writing a header that was read gives the same header.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using tessera::require;
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  const auto header = tessera::tools::read_npy_header(std::as_bytes(std::span(bytes, size)));
  if (!header) {
    require(!header.error().message.empty(), "an error has words", text);
    return 0;
  }
  require(header->data_offset <= static_cast<std::int64_t>(size), "the header is in the file",
          text);
  const std::string again =
      tessera::tools::write_npy_header(header->type, header->fortran_order, header->shape);
  const auto read = tessera::tools::read_npy_header(std::as_bytes(std::span(again)));
  require(read.ok(), "what is written can be read", text);
  require(read->type == header->type && read->shape == header->shape &&
              read->fortran_order == header->fortran_order && read->elements == header->elements,
          "what is written says the same", text);
  return 0;
}
