// SPDX-License-Identifier: Apache-2.0
#include <ostream>
#include <tuple>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/layout/enumerate.h"
#include "tessera/layout/slots/slot_list.h"
#include "tools/command/command.h"
#include "tools/json/json.h"
#include "tools/locate/locate_window.h"
#include "tools/terminal/replicas.h"
#include "tools/terminal/sharing.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

// Larger requests should call the library.
constexpr std::int64_t kMostElements = std::int64_t{1} << 22;
constexpr std::int64_t kMostSlots = std::int64_t{1} << 20;

Error usage_error(std::string message) {
  return Error{ErrorCode::kUsage, std::move(message), std::nullopt,
               "give one of: --index 1,2 | --place 0,1 --slot 5 | --all | --slots | --from 0,0 "
               "--counts 4,4 | --classes"};
}

Status check_count(Checked count, std::string_view what, std::int64_t most) {
  if (count.saturated() <= most) return ok_status();
  return Error{ErrorCode::kTooLarge,
               cat("there are ", count.overflowed() ? "more than " : "", count.saturated(), " ",
                   what, "; at most ", most, " are listed"),
               std::nullopt, "use --index, or --place and --slot"};
}

Status check_index(const Shape& shape, const Index& index) {
  if (index.size() != shape.rank()) {
    return Error{ErrorCode::kOutOfRange,
                 cat("index ", bracketed(index), " has ", count_of(std::ssize(index), "number"),
                     ", the tensor ", count_of(static_cast<std::int64_t>(shape.rank()), "dim")),
                 std::nullopt, "give one number per dim"};
  }
  for (std::size_t dim = 0; dim < index.size(); ++dim) {
    if (index[dim] >= 0 && index[dim] < shape[dim]) continue;
    return Error{
        ErrorCode::kOutOfRange,
        cat("index ", index[dim], " is outside dim ", dim, ", which is ", shape[dim], " long"),
        std::nullopt, "indices are from 0 to the extent minus 1"};
  }
  return ok_status();
}

/// `"index":[..]`, `"indices":[[..],[..]]` where elements may share a slot, or `"padding":".."`.
void append_content_json(const SlotContent& content, bool may_share, std::string& out) {
  const auto* const indices = std::get_if<std::vector<Index>>(&content);
  if (indices == nullptr) {
    out += cat("\"padding\":\"", cause_name(std::get<Padding>(content).cause), "\"");
    return;
  }
  out += may_share ? "\"indices\":[" : "\"index\":";
  for (std::size_t i = 0; i < indices->size(); ++i) {
    if (i > 0) out += ',';
    append_numbers(out, (*indices)[i]);
  }
  if (may_share) out += ']';
}

std::string content_text(const SlotContent& content) {
  const auto* const indices = std::get_if<std::vector<Index>>(&content);
  if (indices == nullptr) {
    return cat("padding (", cause_name(std::get<Padding>(content).cause), ")");
  }
  std::string text;
  for (const Index& index : *indices) text += cat(text.empty() ? "" : " ", bracketed(index));
  return text;
}

/// The first place and the slot of an element. Placement::locate is not used because it lists every
/// replica, of which there may be many.
struct FirstPosition {
  const Form* form = nullptr;
  Place place;
  std::int64_t slot = 0;
};

FirstPosition first_position(const Placement& placement, const Index& index) {
  FirstPosition position;
  const auto [form, local] = placement.form_at(index);
  position.form = form;
  form->evaluate(local, position.place, position.slot);
  return position;
}

Status locate_index(const Placement& placement, const Index& index, const PlaceWriter& writer,
                    Console& console) {
  TESSERA_CHECK_OK(check_index(placement.shape(), index));
  const FirstPosition position = first_position(placement, index);
  const std::optional<std::int64_t> byte = placement.atom().byte_of(position.slot);
  if (console.json) {
    std::string line = cat("{", sharing_field(placement), "\"index\":");
    append_numbers(line, index);
    line += ',';
    writer.places_json(*position.form, position.place, line);
    line += cat(",\"slot\":", position.slot, ",\"byte\":", byte ? std::to_string(*byte) : "null",
                "}\n");
    console.out << line;
    return ok_status();
  }
  console.out << sharing_warning(placement, console.terminal) << "element " << bracketed(index)
              << " is on place " << writer.places_text(*position.form, position.place)
              << ", in slot " << position.slot
              << (byte ? cat(" (byte ", *byte, ")") : " (inside a block-float tile, so no byte)")
              << '\n';
  return ok_status();
}

Status locate_slot(const Placement& placement, const Place& place, std::int64_t slot,
                   const PlaceWriter& writer, Console& console) {
  TESSERA_TRY(const SlotContent content, placement.contents_at(place, slot));
  const auto* const indices = std::get_if<std::vector<Index>>(&content);
  if (console.json) {
    std::string line = cat("{", sharing_field(placement));
    writer.place_json(place, line);
    line += cat(",\"slot\":", slot, ",");
    append_content_json(content, placement.view() != nullptr, line);
    console.out << line << "}\n";
    return ok_status();
  }
  console.out << sharing_warning(placement, console.terminal) << "slot " << slot << " of place "
              << writer.place_text(place)
              << (indices == nullptr     ? " is "
                  : indices->size() == 1 ? " holds element "
                                         : " holds elements ")
              << content_text(content) << '\n';
  return ok_status();
}

/// Prints the elements of `--all` one after the other. Nothing is written before the first, so that
/// an error of the walk is still the only answer.
class ElementList {
 public:
  ElementList(const Placement& placement, const PlaceWriter& writer, Console& console)
      : placement_(placement), writer_(writer), console_(console) {}

  void begin() {
    if (begun_) return;
    begun_ = true;
    console_.out << (console_.json ? cat("{", sharing_field(placement_), "\"elements\":[")
                                   : sharing_warning(placement_, console_.terminal));
  }
  void add(const Index& index, const Form& form, const Place& first, std::int64_t slot) {
    begin();
    line_.clear();
    if (console_.json) {
      line_ += first_ ? "{\"index\":" : ",{\"index\":";
      append_numbers(line_, index);
      line_ += ',';
      writer_.places_json(form, first, line_);
      line_ += cat(",\"slot\":", slot, "}");
    } else {
      line_ = cat(bracketed(index), "  place ", writer_.places_text(form, first), "  slot ", slot,
                  "\n");
    }
    console_.out << line_;
    first_ = false;
  }
  void end() {
    begin();
    if (console_.json) console_.out << "]}\n";
  }

 private:
  const Placement& placement_;
  const PlaceWriter& writer_;
  Console& console_;
  std::string line_;
  bool first_ = true;
  bool begun_ = false;
};

/// The elements of boxes: listed box by box, and printed in row-major order.
Status list_pieces(const Placement& placement, ElementList& list) {
  struct Listed {
    Position position;
    std::size_t piece = 0;
  };
  std::vector<Listed> listed(static_cast<std::size_t>(placement.shape().elements()));
  const std::vector<std::int64_t> strides = placement.shape().row_major_strides();
  const std::vector<FormPiece> pieces = form_pieces(placement);
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    TESSERA_CHECK_OK(for_each_row(*pieces[p].form, [&](const Row& row) {
      std::int64_t element = placement.shape().linear(plus(row.index, pieces[p].box.from));
      for (const Position& offset : row.offsets) {
        listed[static_cast<std::size_t>(element)] = {row.base + offset, p};
        if (row.dim >= 0) element += strides[static_cast<std::size_t>(row.dim)];
      }
    }));
  }
  Index index(placement.shape().rank(), 0);
  for (const Listed& one : listed) {
    const Form& form = *pieces[one.piece].form;
    list.add(index, form, form.mesh.delinear(one.position.place), one.position.slot);
    placement.shape().next(index);
  }
  return ok_status();
}

Status locate_all(const Placement& placement, const PlaceWriter& writer, Console& console) {
  TESSERA_CHECK_OK(check_count(placement.shape().elements(), "elements", kMostElements));
  ElementList list(placement, writer, console);
  if (placement.pieces() == nullptr) {
    const Form& form = *form_pieces(placement).front().form;
    TESSERA_CHECK_OK(for_each_row(form, [&](const Row& row) {
      Index index = row.index;
      for (const Position& offset : row.offsets) {
        const Position position = row.base + offset;
        list.add(index, form, form.mesh.delinear(position.place), position.slot);
        if (row.dim >= 0) ++index[static_cast<std::size_t>(row.dim)];
      }
    }));
  } else if (!placement.shape().empty()) {
    TESSERA_CHECK_OK(list_pieces(placement, list));
  }
  list.end();
  return ok_status();
}

Status locate_slots(const Placement& placement, const PlaceNames& names, const PlaceWriter& writer,
                    Console& console) {
  TESSERA_CHECK_OK(
      check_count(Checked(placement.slots()) * placement.places(), "slots", kMostSlots));
  // Nothing is written before all slots are known, so that an error is still the only answer.
  TESSERA_TRY(const SlotList list, SlotList::make(placement, kMostSlots));
  std::string line;
  bool first_slot = true;
  if (console.json) console.out << cat("{", sharing_field(placement), "\"slots\":[");
  if (!console.json) console.out << sharing_warning(placement, console.terminal);
  for (std::int64_t number = 0; number < placement.places(); ++number) {
    const Place place = names.place_of(placement.mesh().delinear(number));
    std::int64_t at = placement.mesh().linear(place) * placement.slots();
    for (std::int64_t slot = 0; slot < placement.slots() && console.out; ++slot, ++at) {
      SlotContent content = Padding{list.cause(at)};
      if (const auto held = list.elements(at); !held.empty()) {
        std::vector<Index> indices;
        for (const auto& [where, element] : held) {
          indices.push_back(placement.shape().delinear(element));
        }
        content = std::move(indices);
      }
      line.clear();
      if (console.json) {
        line += first_slot ? "{" : ",{";
        writer.place_json(place, line);
        line += cat(",\"slot\":", slot, ",");
        append_content_json(content, placement.view() != nullptr, line);
        line += '}';
      } else {
        line = cat("place ", writer.place_text(place), "  slot ", slot, "  ", content_text(content),
                   "\n");
      }
      console.out << line;
      first_slot = false;
    }
  }
  if (console.json) console.out << "]}\n";
  return ok_status();
}

Result<Verdict> run(const Request& request, Console& console) {
  const Placement& placement = request.tensor("tensor").placement;
  const bool by_index = request.has("index");
  const bool by_window = request.has("from") || request.has("counts");
  const bool classes = request.has("classes");
  const bool by_slot = request.has("place") || request.has("slot");
  const bool all = request.has("all");
  const bool slots = request.has("slots");
  const int questions =
      int{by_index} + int{by_slot} + int{all} + int{slots} + int{by_window} + int{classes};
  if (questions == 0) {
    return usage_error(
        "locate needs --index, --place with --slot, --all, --slots, --from with --counts or "
        "--classes");
  }
  if (questions > 1) return usage_error("locate answers one question per call");
  for (const auto& [flag, needs, given] : {std::tuple("steps", "from", by_window),
                                           {"counts", "from", request.has("from")},
                                           {"from", "counts", request.has("counts")},
                                           {"count", "slot", request.has("slot")},
                                           {"step", "count", request.has("count")}}) {
    if (request.has(flag) && !given) return usage_error(cat("--", flag, " needs --", needs));
  }
  if (by_window) return locate_elements_window(request, console);
  if (classes) return locate_classes(request, console);
  const PlaceNames names = PlaceNames::of(request.tensor("tensor"));
  TESSERA_TRY(const PlaceWriter writer,
              PlaceWriter::make(placement, names, request.has("physical")));
  if (by_index) {
    TESSERA_CHECK_OK(locate_index(placement, request.numbers("index"), writer, console));
  } else if (all) {
    TESSERA_CHECK_OK(locate_all(placement, writer, console));
  } else if (slots) {
    TESSERA_CHECK_OK(locate_slots(placement, names, writer, console));
  } else {
    if (!request.has("slot")) return usage_error("--place needs --slot");
    // On a single place without a mesh no place needs to be given.
    if (!request.has("place") && placement.mesh().rank() > 0) {
      return usage_error("--slot needs --place");
    }
    if (request.has("count")) return locate_slots_window(request, console);
    TESSERA_CHECK_OK(locate_slot(placement, names.place_of(request.numbers("place")),
                                 request.number("slot"), writer, console));
  }
  return Verdict::kYes;
}

}  // namespace

Verb locate_verb() {
  Verb verb;
  verb.name = "locate";
  verb.summary = "find where an element is stored, or what a slot holds";
  verb.description =
      "Answers one question: --index asks for the places, slot and byte of an element; --place "
      "with --slot for the element in a slot, or why it is padding; --all lists every element in "
      "row-major order; --slots lists every slot of every place. For pictures of parts of large "
      "tensors: --from with --counts asks for a window of elements, and with --steps for some of "
      "them, by the row-major numbers of their first places; --place, --slot and --count for "
      "slots in a row, and with --step for some of them; --classes for sets of places whose memory "
      "is alike. A slot counts elements inside a "
      "place. An element with more than 64 replicas has its places listed as rectangles {from, "
      "to}, both ends included. The index of a scalar, and the place of a layout without a mesh, "
      "is the empty text. byte is null inside block-float tiles. Where elements may share a slot "
      "(stride 0), a slot lists all of them as indices; where they share one without a stride of "
      "0, which is often a typo, shared_slot names two of them.";
  verb.positionals = {{"tensor", Positional::Kind::kTensor, "the tensor to query", {}, false}};
  verb.flags = {
      {"index", ValueKind::kNumbers, "I,J", "the element at this index"},
      {"place", ValueKind::kNumbers, "R,C", "a place of the mesh; needs --slot"},
      {"slot", ValueKind::kNumber, "N", "a slot of that place"},
      {"all", ValueKind::kSwitch, "", "every element"},
      {"slots", ValueKind::kSwitch, "", "every slot of every place"},
      {"from", ValueKind::kNumbers, "I,J", "the first element of a window; needs --counts"},
      {"counts", ValueKind::kNumbers, "N,M", "how many elements the window has along each dim"},
      {"steps", ValueKind::kNumbers, "S,T", "how far apart they are; default 1"},
      {"count", ValueKind::kNumber, "N", "with --place and --slot: that many slots from there on"},
      {"step", ValueKind::kNumber, "N", "how far apart these slots are; default 1"},
      {"classes", ValueKind::kSwitch, "",
       "sets of places whose memory holds data in the same slots"},
      {"physical", ValueKind::kSwitch, "", "also print the physical places, by the device map"},
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
