// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/text.h"
#include "tessera/target/machine.h"
#include "tessera/target/machine_check.h"
#include "tessera/target/number_text.h"

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

/// A list on one line.
template <typename Item, typename Print>
std::string list_json(const std::vector<Item>& items, const Print& print) {
  std::string out;
  for (const Item& item : items) out += cat(out.empty() ? "" : ", ", print(item));
  return cat("[", out, "]");
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
  Object& figure(std::string_view key, const std::optional<double>& value) {
    return value ? raw(key, number_text(*value)) : *this;
  }
  /// A list of items that `print` writes; nothing if there are none.
  template <typename Item, typename Print>
  Object& list(std::string_view key, const std::vector<Item>& items, const Print& print) {
    return items.empty() ? *this : raw(key, list_json(items, print));
  }
  Object& numbers(std::string_view key, const std::vector<std::int64_t>& values) {
    return values.empty() ? *this : raw(key, bracketed(values));
  }
  Object& texts(std::string_view key, const std::vector<std::string>& values) {
    return list(key, values, json_text);
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

std::string places_json(const std::vector<Place>& places) { return list_json(places, bracketed); }

std::string network_json(const Network& network) {
  Object object;
  if (!network.name.empty()) object.text("name", network.name);
  object.text("network", network_name(network.kind))
      .texts("ports", network.ports)
      .numbers("route", network.route)
      .list("ways", network.ways, [](Way way) { return json_text(way_name(way)); })
      .figure("hop_cycles", network.hop_cycles)
      .figure("bits_per_cycle", network.bits_per_cycle)
      .figure("ramp_cycles", network.ramp_cycles)
      .figure("hop_seconds", network.hop_seconds)
      .figure("bytes_per_second", network.bytes_per_second);
  if (network.links != 1) object.number("links", network.links);
  return object.number("packet_bytes", network.packet_bytes).on_one_line();
}

std::string mechanism_json(const Mechanism& mechanism) {
  Object object;
  object.text("name", mechanism.name);
  if (!mechanism.network.empty()) object.text("network", mechanism.network);
  return object.figure("overhead_cycles", mechanism.overhead_cycles)
      .figure("issue_cycles", mechanism.issue_cycles)
      .figure("bytes_per_cycle", mechanism.bytes_per_cycle)
      .figure("receiver_cycles", mechanism.receiver_cycles)
      .on_one_line();
}

std::string gateway_json(const Gateway& gateway) {
  return Object()
      .number("axis", gateway.axis)
      .text("way", way_name(gateway.way))
      .raw("routers", places_json(gateway.routers))
      .on_one_line();
}

std::string level_json(const MeshLevel& level) {
  Object object;
  object.text("name", level.name).numbers("extents", level.extents).texts("axes", level.axes);
  if (level.routers) {
    object.raw("routers", Object()
                              .numbers("extents", level.routers->extents)
                              .raw("places", list_json(level.routers->places, bracketed))
                              .on_one_line());
  }
  if (has_links(level)) {
    object.raw("links", network_json(level.networks[0]));
  } else {
    object.list("networks", level.networks, network_json);
  }
  return object.list("mechanisms", level.mechanisms, mechanism_json)
      .list("gateways", level.gateways, gateway_json)
      .on_one_line();
}

void add_bandwidth(std::string_view key, const Bandwidth& bandwidth, Object& object) {
  if (!bandwidth.known()) return;
  object.raw(key, Object()
                      .figure("bytes_per_cycle", bandwidth.bytes_per_cycle)
                      .figure("bytes_per_second", bandwidth.bytes_per_second)
                      .on_one_line());
}

std::string space_json(const MemorySpace& space) {
  Object object;
  object.text("name", space.name);
  if (space.owner != MemorySpace::Owner::kPlace) object.text("per", owner_name(space.owner));
  object.number("banks", space.banks).number("bytes", space.bytes);
  object.list("reserved", space.reserved, [](const Reserve& reserve) {
    return Object().text("name", reserve.name).number("bytes", reserve.bytes).on_one_line();
  });
  object.number("usable_bytes", space.usable_bytes);
  if (space.align_bytes != 1) object.number("align_bytes", space.align_bytes);
  add_bandwidth("read", space.read, object);
  add_bandwidth("write", space.write, object);
  add_bandwidth("mixed", space.mixed, object);
  return object.list("at", space.at, places_json).on_one_line();
}

std::string rate_json(const ComputeRate& rate) {
  Object object;
  object.text("unit", rate.unit);
  if (!rate.dtype.empty()) object.text("dtype", rate.dtype);
  if (!rate.mode.empty()) object.text("mode", rate.mode);
  return object.figure("per_cycle", rate.per_cycle).on_one_line();
}

/// The text may be missing where a note says how a figure is known.
std::string note_json(const Note& note) {
  Object object;
  object.text("about", note.about);
  if (note.evidence) object.text("is", evidence_name(*note.evidence));
  if (!note.evidence || !note.text.empty()) object.text("text", note.text);
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
  if (!machine.compute.empty()) object.raw("compute", list_on_lines(machine.compute, rate_json));
  object.figure("op_gap_seconds", machine.op_gap_seconds);
  if (const Object rules = rules_json(machine.rules); !rules.empty()) {
    object.raw("rules", rules.on_one_line());
  }
  if (!machine.dead.empty()) object.raw("dead", list_on_lines(machine.dead, range_json));
  if (!machine.notes.empty()) object.raw("notes", list_on_lines(machine.notes, note_json));
  return object.on_lines();
}

}  // namespace tessera::target
