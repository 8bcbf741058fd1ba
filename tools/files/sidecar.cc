// SPDX-License-Identifier: Apache-2.0
#include "tools/files/sidecar.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include "tessera/base/text.h"
#include "tools/files/mapped_file.h"
#include "tools/files/text_file.h"
#include "tools/json/json.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

/// The object in the file, or nothing when there is no such file.
Result<std::optional<Json>> read_sidecar(const std::string& name) {
  std::error_code ignored;
  if (!std::filesystem::exists(name, ignored)) return std::optional<Json>();
  TESSERA_TRY(const MappedInput file, MappedInput::open(name));
  const std::span<const std::byte> bytes = file.bytes();
  Result<Json> json = parse_object({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  const auto is_text = [&](const char* key) { return std::as_const(*json)[key].is_string(); };
  if (json && is_text("dtype") && is_text("tensor")) return std::optional<Json>(*std::move(json));
  return Error{ErrorCode::kBadJson, cat(quote(name), " is not a sidecar of an array"), std::nullopt,
               "a sidecar is for example {\"dtype\": \"bf16\", \"shape\": [53, 63], \"tensor\": "
               "\"tensor<..>\"}; move the file to another folder if it is something else"};
}

/// The same elements in the same positions of the same memory.
bool is_same_memory(const Placement& a, const Placement& b) {
  if (a.shape() != b.shape() || a.mesh() != b.mesh() || a.slots() != b.slots()) return false;
  if (a.atom().storage != b.atom().storage) return false;
  const Result<Comparison> comparison = same_placement(a, b);
  return comparison && comparison->equal;
}

}  // namespace

std::string sidecar_name(const std::string& file) { return file + ".json"; }

Status check_sidecar(const std::string& file, const Tensor& tensor) {
  const std::string name = sidecar_name(file);
  TESSERA_TRY(const std::optional<Json> json, read_sidecar(name));
  if (!json) return ok_status();
  const std::string_view storage = dtype_name(tensor.placement.atom().storage);
  const auto dtype = (*json)["dtype"].get<std::string>();
  const auto contradicts = [&](std::string message) {
    return Error{
        ErrorCode::kContradiction, std::move(message), std::nullopt,
        cat("give the tensor that the file holds, or remove ", quote(name), " if it is outdated")};
  };
  if (dtype != storage) {
    return contradicts(cat(quote(name), " states that the elements are ", dtype.substr(0, 20),
                           ", expected ", storage));
  }
  const auto text = (*json)["tensor"].get<std::string>();
  const Result<Tensor> held = parse_tensor(text);
  if (!held) {
    return contradicts(cat(quote(name), " has an invalid tensor: ", held.error().message));
  }
  if (!is_same_memory(held->placement, tensor.placement)) {
    return contradicts(cat(quote(name), " states that the file holds ", quote(text)));
  }
  return ok_status();
}

Status update_sidecar(const std::string& file, const Tensor& tensor, bool is_needed) {
  const std::string name = sidecar_name(file);
  const Result<std::optional<Json>> old = read_sidecar(name);
  if (!is_needed) {
    // A file that is not a sidecar is unrelated to the data file.
    if (!old || !*old) return ok_status();
    if (unlink(name.c_str()) == 0) return ok_status();
    return file_error("cannot remove the outdated", name, errno, "remove it");
  }
  if (!old) return old.error();
  Json json;
  json["dtype"] = dtype_name(tensor.placement.atom().storage);
  json["shape"] = tensor.shape().extents();
  json["tensor"] = print_tensor(tensor);
  const std::string text = dump(json) + "\n";
  TESSERA_TRY(MappedOutput out, MappedOutput::create(name, static_cast<std::int64_t>(text.size())));
  std::memcpy(out.bytes().data(), text.data(), text.size());
  return out.commit();
}

}  // namespace tessera::tools
