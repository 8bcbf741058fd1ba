// SPDX-License-Identifier: Apache-2.0
#include "tessera/target/machine_check.h"

#include <vector>

#include "tessera/base/checked.h"
#include "tessera/base/dtype.h"
#include "tessera/base/names.h"
#include "tessera/base/text.h"
#include "tessera/target/field_checks.h"
#include "tessera/target/field_path.h"

namespace tessera::target {
namespace {

Found check_colours(const Rules& rules) {
  const std::string path = "/rules/reserved_colours";
  if (Found found = at_least(1, rules.colours, "/rules/colours")) return found;
  if (rules.colours && *rules.colours > kMaxColours) {
    return Problem{ErrorCode::kTooLarge, "/rules/colours",
                   cat("expected at most ", kMaxColours, " colours, found ", *rules.colours)};
  }
  for (std::size_t i = 0; i < rules.reserved_colours.size(); ++i) {
    const std::int64_t colour = rules.reserved_colours[i];
    const std::int64_t least = i == 0 ? 0 : rules.reserved_colours[i - 1] + 1;
    const std::int64_t colours = rules.colours.value_or(0);
    if (colour >= least && colour < colours) continue;
    return Problem{ErrorCode::kBadTarget, cat(path, "/", i),
                   cat("expected a colour below ", colours,
                       " that is larger than the one before, found ", colour),
                   "colours count from 0, and reserved ones are listed in increasing order"};
  }
  return std::nullopt;
}

Found check_fabric(const Fabric& fabric, const Machine& machine) {
  const std::string path = "/rules/fabric";
  const Shape mesh = machine.shape();
  if (mesh.rank() != 2) {
    return Problem{
        ErrorCode::kContradiction, path,
        cat("a fabric is around a mesh of rows and columns, but the mesh has rank ", mesh.rank())};
  }
  const auto covers = [&](std::int64_t offset, std::int64_t places, std::int64_t all,
                          std::string_view field, std::string_view what) -> Found {
    const Checked least = Checked(offset) + places;
    if (!least.overflowed() && all >= least.raw()) return std::nullopt;
    return Problem{ErrorCode::kContradiction, cat(path, "/", field),
                   cat("expected at least ", offset, " + ", places, " ", what, ", found ", all)};
  };
  return first_of(
      [&] { return at_least(0, fabric.offset_x, cat(path, "/offset_x")); },
      [&] { return at_least(0, fabric.offset_y, cat(path, "/offset_y")); },
      [&] { return covers(fabric.offset_x, mesh[1], fabric.width, "width", "columns"); },
      [&] { return covers(fabric.offset_y, mesh[0], fabric.height, "height", "rows"); });
}

Found check_rules(const Machine& machine) {
  const Rules& rules = machine.rules;
  return first_of(
      [&] { return at_least(1, rules.wavelet_bits, "/rules/wavelet_bits"); },
      [&] { return check_colours(rules); },
      [&]() -> Found { return rules.fabric ? check_fabric(*rules.fabric, machine) : std::nullopt; },
      [&]() -> Found {
        if (!rules.tile) return std::nullopt;
        return first_of([&] { return at_least(1, rules.tile->rows, "/rules/tile/0"); },
                        [&] { return at_least(1, rules.tile->cols, "/rules/tile/1"); });
      },
      [&] { return at_least(1, rules.stick_bytes, "/rules/stick_bytes"); },
      [&] { return at_least(1, rules.span_limit_bytes, "/rules/span_limit_bytes"); });
}

Found check_dtype(const std::string& name, const std::string& path) {
  if (name.empty() || parse_dtype(name)) return std::nullopt;
  std::vector<std::string_view> names;
  for (const DType dtype : all_dtypes()) names.push_back(dtype_name(dtype));
  return Problem{ErrorCode::kUnknownName, path,
                 cat("expected an element type, found ", quote_name(name)),
                 did_you_mean(name, names)};
}

Found check_dead(const Machine& machine) {
  if (Found found = at_most(kMaxDeadRanges, machine.dead.size(), "ranges", "/dead")) return found;
  const Shape mesh = machine.shape();
  Checked places = 0;
  for (std::size_t i = 0; i < machine.dead.size(); ++i) {
    const PlaceRange& range = machine.dead[i];
    const std::string path = cat("/dead/", i);
    for (const Place* corner : {&range.from, &range.to}) {
      if (mesh.contains(*corner)) continue;
      return Problem{
          ErrorCode::kOutOfRange, path,
          cat("there is no place ", bracketed(*corner), " on the mesh ", mesh.to_string()),
          "one coordinate per axis, counted from 0"};
    }
    Checked count = 1;
    for (std::size_t axis = 0; axis < mesh.rank(); ++axis) {
      if (range.to[axis] < range.from[axis]) {
        return Problem{
            ErrorCode::kBadTarget, path,
            cat("expected a range, found ", bracketed(range.from), " to ", bracketed(range.to)),
            "from is the smaller corner; both are included"};
      }
      count *= range.to[axis] - range.from[axis] + 1;
    }
    places += count;
    if (places.saturated() > kMaxDeadPlaces) {
      return Problem{ErrorCode::kTooLarge, path, cat("more than ", kMaxDeadPlaces, " dead places"),
                     "describe a smaller mesh instead"};
    }
  }
  // Ranges may overlap, so the places are counted.
  if (!machine.dead.empty() && places.saturated() >= mesh.elements() &&
      std::ssize(machine.dead_places()) == mesh.elements()) {
    return Problem{ErrorCode::kBadTarget, "/dead", cat("all ", mesh.elements(), " places are dead"),
                   "a machine has at least one place that works"};
  }
  return std::nullopt;
}

Found check_compute(const Machine& machine) {
  const std::string path = "/compute";
  if (Found found = at_most(kMaxComputeRates, machine.compute.size(), "rates", path)) return found;
  std::vector<std::string> names;
  for (const ComputeRate& rate : machine.compute) {
    names.push_back(cat(rate.unit, " ", rate.dtype, " ", rate.mode));
  }
  return first_of(
      [&] {
        return each(machine.compute, path, [](const ComputeRate& rate, const std::string& at) {
          return first_of([&] { return plain_name(rate.unit, cat(at, "/unit")); },
                          [&] { return check_dtype(rate.dtype, cat(at, "/dtype")); },
                          [&]() -> Found {
                            return rate.mode.empty() ? std::nullopt
                                                     : plain_name(rate.mode, cat(at, "/mode"));
                          },
                          [&] { return in_range(rate.per_cycle, cat(at, "/per_cycle")); });
        });
      },
      [&] { return distinct(names, [&](std::size_t i) { return cat(path, "/", i); }); });
}

Found check_note(const Note& note, const std::string& path) {
  return first_of([&] { return plain_text(note.about, cat(path, "/about")); },
                  [&] { return plain_text(note.text, cat(path, "/text")); },
                  [&]() -> Found {
                    if (note.about.starts_with('/')) return std::nullopt;
                    return Problem{ErrorCode::kBadTarget, cat(path, "/about"),
                                   cat("expected a path, found ", quote_name(note.about)),
                                   "such as \"/memory/0/bytes\""};
                  });
}

Found check_notes(const Machine& machine) {
  const std::vector<Note>& notes = machine.notes;
  if (Found found = at_most(kMaxNotes, notes.size(), "notes", "/notes")) return found;
  if (Found found = each(notes, "/notes", check_note)) return found;
  std::vector<std::vector<std::string_view>> fields;
  for (std::size_t i = 0; i < notes.size(); ++i) {
    fields.push_back(path_steps(notes[i].about));
    for (std::size_t k = 0; k < i; ++k) {
      const bool agree = !notes[i].evidence || !notes[k].evidence ||
                         notes[i].evidence == notes[k].evidence || fields[i] != fields[k];
      if (agree) continue;
      return Problem{ErrorCode::kContradiction, cat("/notes/", i, "/is"),
                     cat("expected ", evidence_name(*notes[k].evidence), " as in note ", k,
                         " about the same field, found ", evidence_name(*notes[i].evidence)),
                     "a field is known in one way; notes about its parts may differ"};
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Problem> first_problem(const Machine& machine) {
  return first_of(
      [&] { return plain_name(machine.name, "/name"); },
      [&] { return plain_text(machine.title, "/title"); }, [&] { return check_mesh(machine); },
      [&] { return at_least(1, machine.clock_hz, "/clock_hz"); },
      [&] { return check_memory(machine); }, [&] { return check_compute(machine); },
      [&] { return in_range(machine.op_gap_seconds, "/op_gap_seconds", Zero::kAllowed); },
      [&] { return check_rules(machine); }, [&] { return check_dead(machine); },
      [&] { return check_notes(machine); });
}

Status Machine::check() const {
  const std::optional<Problem> problem = first_problem(*this);
  if (!problem) return ok_status();
  return Error{problem->code, cat(problem->path, ": ", problem->message), std::nullopt,
               problem->help};
}

}  // namespace tessera::target
