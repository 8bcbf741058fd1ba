// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "tools/command/run.h"
#include "tools/json/json.h"

/// tools/testing/: what the tests of the verbs share. Arguments, shell lines and folders come in;
/// the output, exit status and files of the command go out. Only tests include these headers.
namespace tessera::tools {

/// 53x63 on 3x2 places: 18 rows and 32 columns per place, each kept in one 32x32 tile.
inline const std::string kTiled =
    "tensor<53x63xf32, native<mesh=[3, 2], {d0} / (18 -> m0, 32 -> mem*1024 !tile, 1#32 -> "
    "mem*32), "
    "{d1} / (32 -> m1, 32 -> mem*1024 !tile, 1 -> mem), atom=tile(32x32, bfp_bf8), space=l1>>";
inline const std::string kRowMajor = "tensor<4x6xf32, strided<[6, 1]>>";
inline const std::string kColumnMajor = "tensor<4x6xf32, strided<[1, 4]>>";

struct Answer {
  int status = 0;
  std::string out;
  std::string err;

  /// Null when what was printed is not JSON.
  Json json() const { return parse_json(out).value_or(Json()); }
  /// The code of the error that was printed as JSON, or "".
  std::string error_code() const {
    const Json parsed = json();
    return parsed.contains("error") ? parsed["error"]["code"].get<std::string>() : "";
  }
  std::vector<std::string> lines() const {
    std::vector<std::string> list;
    std::istringstream stream(out);
    for (std::string line; std::getline(stream, line);) list.push_back(line);
    return list;
  }
};

/// Runs the command without starting a process.
inline Answer run(const std::vector<std::string>& args, const std::string& input = "",
                  const Terminal& terminal = {}) {
  std::istringstream in(input);
  std::ostringstream out;
  std::ostringstream err;
  Answer answer;
  answer.status = run_command(args, in, out, err, terminal);
  answer.out = out.str();
  answer.err = err.str();
  return answer;
}

inline Json parsed(const std::string& text) {
  const std::optional<Json> json = parse_json(text);
  EXPECT_TRUE(json) << text.substr(0, 200) << " is not JSON";
  return json.value_or(Json());
}

}  // namespace tessera::tools
