// SPDX-License-Identifier: Apache-2.0
#include "tools/draw/picture_file.h"

#include "tools/command/usage.h"
#include "tools/files/mapped_file.h"

namespace tessera::tools {

Status check_picture_file(const Request& request) {
  if (!request.has("svg") || request.text("svg") == kPictureInAnswer) return ok_status();
  if (request.text("svg").empty()) return usage("--svg names no file", "as in --svg tensor.svg");
  return check_folder_of(request.text("svg"));
}

Status write_picture(const Request& request, const std::string& picture) {
  if (!request.has("svg") || request.text("svg") == kPictureInAnswer) return ok_status();
  return write_whole(request.text("svg"), picture);
}

bool is_only_answer(const Request& request, const Console& console) {
  return request.text("svg") == kPictureInAnswer && !console.json;
}

}  // namespace tessera::tools
