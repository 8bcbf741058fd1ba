// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/text.h"
#include "tessera/target/machine.h"

namespace tessera::target {
namespace {

std::string json_text(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20) {
      out += cat("\\u00", kHex[byte / 16], kHex[byte % 16]);
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

/// "key": value pairs, as they are added.
class Object {
 public:
  Object& raw(std::string_view key, std::string_view json) {
    fields_.push_back(cat("\"", key, "\": ", json));
    return *this;
  }
  Object& text(std::string_view key, std::string_view value) { return raw(key, json_text(value)); }
  Object& number(std::string_view key, std::optional<std::int64_t> value) {
    return value ? raw(key, std::to_string(*value)) : *this;
  }
  Object& numbers(std::string_view key, const std::vector<std::int64_t>& values) {
    return values.empty() ? *this : raw(key, bracketed(values));
  }
  Object& texts(std::string_view key, const std::vector<std::string>& values) {
    std::string list;
    for (const std::string& value : values) list += cat(list.empty() ? "" : ", ", json_text(value));
    return values.empty() ? *this : raw(key, cat("[", list, "]"));
  }

  bool empty() const { return fields_.empty(); }
  std::string on_one_line() const { return cat("{", joined(", "), "}"); }
  std::string on_lines() const { return cat("{\n  ", joined(",\n  "), "\n}\n"); }

 private:
  std::string joined(std::string_view separator) const {
    std::string out;
    for (const std::string& field : fields_) out += cat(out.empty() ? "" : separator, field);
    return out;
  }
  std::vector<std::string> fields_;
};

/// A list with one item per line, as a field of the outermost object.
template <typename Item, typename Print>
std::string list_on_lines(const std::vector<Item>& items, const Print& print) {
  std::string out;
  for (const Item& item : items) out += cat(out.empty() ? "\n    " : ",\n    ", print(item));
  return cat("[", out, "\n  ]");
}

std::string links_json(const Links& links) {
  return Object()
      .text("network", network_name(links.network))
      .texts("ports", links.ports)
      .number("hop_cycles", links.hop_cycles)
      .number("bits_per_cycle", links.bits_per_cycle)
      .number("ramp_cycles", links.ramp_cycles)
      .on_one_line();
}

std::string level_json(const MeshLevel& level) {
  Object object;
  object.text("name", level.name).numbers("extents", level.extents).texts("axes", level.axes);
  if (level.links) object.raw("links", links_json(*level.links));
  return object.on_one_line();
}

std::string space_json(const MemorySpace& space) {
  Object object;
  object.text("name", space.name);
  if (space.owner != MemorySpace::Owner::kPlace) object.text("per", owner_name(space.owner));
  object.number("banks", space.banks).number("bytes", space.bytes);
  std::string reserves;
  for (const Reserve& reserve : space.reserved) {
    const Object each = Object().text("name", reserve.name).number("bytes", reserve.bytes);
    reserves += cat(reserves.empty() ? "" : ", ", each.on_one_line());
  }
  if (!reserves.empty()) object.raw("reserved", cat("[", reserves, "]"));
  object.number("usable_bytes", space.usable_bytes);
  if (space.align_bytes != 1) object.number("align_bytes", space.align_bytes);
  return object.on_one_line();
}

Object rules_json(const Rules& rules) {
  Object object;
  object.number("wavelet_bits", rules.wavelet_bits)
      .number("colours", rules.colours)
      .numbers("reserved_colours", rules.reserved_colours);
  if (rules.fabric) {
    object.raw("fabric", Object()
                             .number("offset_x", rules.fabric->offset_x)
                             .number("offset_y", rules.fabric->offset_y)
                             .number("width", rules.fabric->width)
                             .number("height", rules.fabric->height)
                             .on_one_line());
  }
  if (rules.tile) object.raw("tile", cat("[", rules.tile->rows, ", ", rules.tile->cols, "]"));
  return object.number("stick_bytes", rules.stick_bytes)
      .number("span_limit_bytes", rules.span_limit_bytes);
}

std::string range_json(const PlaceRange& range) {
  if (range.from == range.to) return bracketed(range.from);
  return cat("{\"from\": ", bracketed(range.from), ", \"to\": ", bracketed(range.to), "}");
}

}  // namespace

std::string to_json(const Machine& machine) {
  Object object;
  object.text("name", machine.name);
  if (!machine.title.empty()) object.text("title", machine.title);
  object.raw("mesh", list_on_lines(machine.mesh, level_json));
  object.number("clock_hz", machine.clock_hz);
  object.raw("memory", list_on_lines(machine.memory, space_json));
  object.text("data_space", machine.data_space);
  if (const Object rules = rules_json(machine.rules); !rules.empty()) {
    object.raw("rules", rules.on_one_line());
  }
  if (!machine.dead.empty()) object.raw("dead", list_on_lines(machine.dead, range_json));
  if (!machine.notes.empty()) {
    object.raw("notes", list_on_lines(machine.notes, [](const Note& note) {
                 return Object().text("about", note.about).text("text", note.text).on_one_line();
               }));
  }
  return object.on_lines();
}

}  // namespace tessera::target
