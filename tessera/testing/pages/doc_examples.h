// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tessera {

/// A command in a page of docs/ and the output that the page shows:
///
///     ```
///     $ tessera show 'tensor<..>'
///     tensor 53x63 of f32, ..
///     ```
///
/// A fence may hold several; each ends where the next begins.
struct DocExample {
  std::int64_t line = 0;          ///< of the command in the page, from 1
  std::vector<std::string> args;  ///< without "tessera"; quotes of the shell removed
  std::string output;
};

/// Every example of a page, in order. `page` is its text.
std::vector<DocExample> doc_examples(const std::string& page);

/// The page with each example's output replaced by `outputs`, one for each example.
std::string with_outputs(const std::string& page, const std::vector<std::string>& outputs);

}  // namespace tessera
