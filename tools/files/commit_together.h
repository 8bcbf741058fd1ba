// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "tessera/base/result.h"
#include "tools/files/mapped_file.h"

namespace tessera::tools {

struct NamedOutput {
  std::string name;
  MappedOutput file;  ///< created under this name
};

/// Commits files of different names. Law: afterwards each file has all of its bytes or, on an
/// error, each has its former content. Between the first name and the last, only SIGKILL and a loss
/// of power can stop it.
Status commit_together(std::span<NamedOutput> files);

}  // namespace tessera::tools
