// SPDX-License-Identifier: Apache-2.0
#include <ostream>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/layout/enumerate.h"
#include "tools/command.h"
#include "tools/replicas.h"
#include "tools/words.h"

namespace tessera::tools {
namespace {

// More answers than this are for a program that calls the library.
constexpr std::int64_t kMostAnswers = std::int64_t{1} << 24;

Error usage_error(std::string message) {
  return Error{ErrorCode::kUsage, std::move(message), std::nullopt,
               "ask one of: --index 1,2 | --place 0,1 --slot 5 | --all | --slots"};
}

Status check_count(Checked count, std::string_view what) {
  if (count.saturated() <= kMostAnswers) return ok_status();
  return Error{ErrorCode::kTooLarge,
               cat("there are ", count.overflowed() ? "more than " : "", count.saturated(), " ",
                   what, "; at most ", kMostAnswers, " are listed"),
               std::nullopt, "ask with --index or --place and --slot"};
}

Status check_index(const Layout& layout, const Index& index) {
  const Shape& shape = layout.shape();
  if (index.size() != shape.rank()) {
    return Error{ErrorCode::kOutOfRange,
                 cat("index ", bracketed(index), " has ", count_of(std::ssize(index), "number"),
                     ", the tensor ", count_of(static_cast<std::int64_t>(shape.rank()), "dim")),
                 std::nullopt, "give one number a dim"};
  }
  for (std::size_t dim = 0; dim < index.size(); ++dim) {
    if (index[dim] >= 0 && index[dim] < shape[dim]) continue;
    return Error{
        ErrorCode::kOutOfRange,
        cat("index ", index[dim], " is outside dim ", dim, ", which is ", shape[dim], " long"),
        std::nullopt, "indices count from 0 to the extent less 1"};
  }
  return ok_status();
}

void append_content_json(const Slot& content, std::string& out) {
  if (const Index* index = std::get_if<Index>(&content)) {
    out += "\"index\":";
    append_numbers(out, *index);
  } else {
    out += cat("\"padding\":\"", cause_name(std::get<Padding>(content).cause), "\"");
  }
}

std::string content_text(const Slot& content) {
  if (const Index* index = std::get_if<Index>(&content)) return bracketed(*index);
  return cat("padding (", cause_name(std::get<Padding>(content).cause), ")");
}

Status locate_index(const Layout& layout, const Index& index, const PlaceWriter& writer,
                    Console& console) {
  TESSERA_CHECK_OK(check_index(layout, index));
  Place first;
  std::int64_t slot = 0;
  // Not Layout::locate, which lists every replica however many there are.
  layout.form().evaluate(index, first, slot);
  const std::optional<std::int64_t> byte = layout.atom().byte_of(slot);
  if (console.json) {
    std::string line = "{\"index\":";
    append_numbers(line, index);
    line += ',';
    writer.places_json(first, line);
    line += cat(",\"slot\":", slot, ",\"byte\":", byte ? std::to_string(*byte) : "null", "}\n");
    console.out << line;
    return ok_status();
  }
  console.out << "element " << bracketed(index) << " is on place " << writer.places_text(first)
              << ", in slot " << slot
              << (byte ? cat(" (byte ", *byte, ")") : " (inside a block-float tile, so no byte)")
              << '\n';
  return ok_status();
}

Status locate_slot(const Layout& layout, const Place& place, std::int64_t slot,
                   const PlaceWriter& writer, Console& console) {
  TESSERA_TRY(const Slot content, layout.element_at(place, slot));
  if (console.json) {
    std::string line = "{";
    writer.place_json(place, line);
    line += cat(",\"slot\":", slot, ",");
    append_content_json(content, line);
    console.out << line << "}\n";
    return ok_status();
  }
  console.out << "slot " << slot << " of place " << writer.place_text(place)
              << (std::holds_alternative<Index>(content) ? " holds element " : " is ")
              << content_text(content) << '\n';
  return ok_status();
}

Status locate_all(const Layout& layout, const PlaceWriter& writer, Console& console) {
  TESSERA_CHECK_OK(check_count(layout.shape().elements(), "elements"));
  std::string line;
  bool first_element = true;
  bool begun = false;
  const auto begin = [&] {
    if (!begun && console.json) console.out << "{\"elements\":[";
    begun = true;
  };
  const auto visit = [&](const Row& row) {
    begin();
    Index index = row.index;
    for (const Spot& offset : row.offsets) {
      const Spot spot = row.base + offset;
      const Place first = layout.mesh().delinear(spot.place);
      line.clear();
      if (console.json) {
        line += first_element ? "{\"index\":" : ",{\"index\":";
        append_numbers(line, index);
        line += ',';
        writer.places_json(first, line);
        line += cat(",\"slot\":", spot.slot, "}");
      } else {
        line = cat(bracketed(index), "  place ", writer.places_text(first), "  slot ", spot.slot,
                   "\n");
      }
      console.out << line;
      first_element = false;
      if (row.dim >= 0) ++index[static_cast<std::size_t>(row.dim)];
    }
  };
  // Nothing is written before the walk has begun, so an error is still the only answer.
  TESSERA_CHECK_OK(for_each_row(layout, visit));
  begin();
  if (console.json) console.out << "]}\n";
  return ok_status();
}

Status locate_slots(const Layout& layout, const PlaceWriter& writer, Console& console) {
  TESSERA_CHECK_OK(check_count(Checked(layout.slots()) * layout.places(), "slots"));
  std::string line;
  bool first_slot = true;
  if (console.json) console.out << "{\"slots\":[";
  for (std::int64_t number = 0; number < layout.places(); ++number) {
    const Place place = layout.mesh().delinear(number);
    for (std::int64_t slot = 0; slot < layout.slots() && console.out; ++slot) {
      const Result<Slot> content = layout.element_at(place, slot);
      if (!content) return content.error();  // cannot be: place and slot are inside
      line.clear();
      if (console.json) {
        line += first_slot ? "{" : ",{";
        writer.place_json(place, line);
        line += cat(",\"slot\":", slot, ",");
        append_content_json(*content, line);
        line += '}';
      } else {
        line = cat("place ", writer.place_text(place), "  slot ", slot, "  ",
                   content_text(*content), "\n");
      }
      console.out << line;
      first_slot = false;
    }
  }
  if (console.json) console.out << "]}\n";
  return ok_status();
}

Result<Verdict> run(const Request& request, Console& console) {
  const Layout& layout = request.tensor("tensor").layout;
  const bool by_index = request.has("index");
  const bool by_slot = request.has("place") || request.has("slot");
  const bool all = request.has("all");
  const bool slots = request.has("slots");
  const int questions = int{by_index} + int{by_slot} + int{all} + int{slots};
  if (questions == 0) return usage_error("locate needs a question");
  if (questions > 1) return usage_error("locate takes one question at a time");
  TESSERA_TRY(const PlaceWriter writer, PlaceWriter::make(layout, request.has("physical")));
  if (by_index) {
    TESSERA_CHECK_OK(locate_index(layout, request.numbers("index"), writer, console));
  } else if (all) {
    TESSERA_CHECK_OK(locate_all(layout, writer, console));
  } else if (slots) {
    TESSERA_CHECK_OK(locate_slots(layout, writer, console));
  } else {
    if (!request.has("slot")) return usage_error("--place needs --slot");
    // On a single place without a mesh there is nothing to choose.
    if (!request.has("place") && layout.mesh().rank() > 0) {
      return usage_error("--slot needs --place");
    }
    TESSERA_CHECK_OK(
        locate_slot(layout, request.numbers("place"), request.number("slot"), writer, console));
  }
  return Verdict::kYes;
}

}  // namespace

Verb locate_verb() {
  Verb verb;
  verb.name = "locate";
  verb.summary = "where an element lives, or what a slot holds";
  verb.description =
      "Answers one question: --index asks for the places, slot and byte of an element; --place "
      "with "
      "--slot for the element in a slot, or why it is padding; --all lists every element in "
      "row-major order; --slots lists every slot of every place. A slot counts elements inside a "
      "place. An element with more than 64 replicas has its places told as rectangles {from, to}, "
      "both ends included. The index of a scalar, and the place of a layout without a mesh, is the "
      "empty text. byte is null inside block-float tiles.";
  verb.positionals = {{"tensor", Positional::Kind::kTensor, "the tensor to look into", {}, false}};
  verb.flags = {
      {"index", ValueKind::kNumbers, "I,J", "the element at this index"},
      {"place", ValueKind::kNumbers, "R,C", "a place of the mesh; needs --slot"},
      {"slot", ValueKind::kNumber, "N", "a slot of that place"},
      {"all", ValueKind::kSwitch, "", "every element"},
      {"slots", ValueKind::kSwitch, "", "every slot of every place"},
      {"physical", ValueKind::kSwitch, "", "add where the places really are, by the device map"},
  };
  verb.examples = {"tessera locate 'tensor<4x6xf32, strided<[6, 1]>>' --index 2,3",
                   "echo '{\"tensor\": \"tensor<4x6xf32, strided<[6, 1]>>\", \"index\": [2, 3]}' | "
                   "tessera locate --batch"};
  verb.answers_json = true;
  verb.answers_batch = true;
  verb.run = run;
  return verb;
}

}  // namespace tessera::tools
