// SPDX-License-Identifier: Apache-2.0
#include <ostream>
#include <string_view>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/layout/placement.h"
#include "tessera/notation/same_places.h"
#include "tools/command/command.h"
#include "tools/command/usage.h"
#include "tools/diff/diff_svg.h"
#include "tools/diff/diff_window.h"
#include "tools/draw/picture_file.h"
#include "tools/json/json.h"
#include "tools/plan/diff_plans.h"
#include "tools/terminal/replicas.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

constexpr std::string_view kPlanEnding = ".json";

/// "place [2, 1], slot 129"; with the physical place where that is another.
std::string location_text(const Tensor& tensor, const Placement& placement, const Index& index) {
  const bool is_mapped = placement.layout() != nullptr &&
                         placement.layout()->spec().device_map.kind() != DeviceMap::Kind::kIdentity;
  PlaceNames names = PlaceNames::of(tensor);
  const bool is_shown = is_mapped && names.are_places();
  const Result<PlaceWriter> writer = PlaceWriter::make(placement, std::move(names), is_shown);
  const auto [form, local] = placement.form_at(index);
  Place first;
  std::int64_t slot = 0;
  form->evaluate(local, first, slot);
  const std::string places =
      writer ? writer->places_text(*form, first) : cat(bracketed(first), " and its replicas");
  return cat("place ", places, ", slot ", slot);
}

/// The title of the picture.
std::string result_words(bool is_equal, const Result<std::int64_t>& moved, const Placement& a) {
  if (is_equal) return "equal: every element is in the same slot of the same places";
  if (!moved) return "different: too many kinds of elements to count";
  return cat("different: ", *moved, " of ", count_of(a.shape().elements(), "element"),
             " change their slot or place");
}

Result<Verdict> run(const Request& request, Console& console) {
  if (request.has("from") != request.has("counts") ||
      (request.has("steps") && !request.has("from"))) {
    return Error{ErrorCode::kUsage, "a window has --from and --counts, and may have --steps",
                 std::nullopt, "as in --from 0,0 --counts 4,4"};
  }
  if (request.has("from") && request.has("svg")) {
    return Error{ErrorCode::kUsage, "--svg draws the whole tensor, and no window", std::nullopt,
                 "leave --from and --counts, or --svg"};
  }
  const bool is_plan_a = request.text("a").ends_with(kPlanEnding);
  if (is_plan_a != request.text("b").ends_with(kPlanEnding)) {
    return usage("a plan is compared with a plan", "name two files that tessera plan --out wrote");
  }
  for (const char* flag : {"from", "svg"}) {
    if (is_plan_a && request.has(flag)) {
      return usage(cat("--", flag, " has no meaning for plans"), "leave it");
    }
  }
  if (is_plan_a) return diff_plans(request, console);
  if (request.has("from")) return diff_window(request, console);
  TESSERA_CHECK_OK(check_picture_file(request));
  TESSERA_TRY(const SamePlaces places, same_places(request.tensor("a"), request.tensor("b")));
  const Placement& a = places.a;
  const Placement& b = places.b;
  TESSERA_TRY(const Comparison comparison, same_on_device(a, b));
  const Result<std::int64_t> moved =
      comparison.equal ? Result<std::int64_t>(0) : moved_on_device(a, b);
  if (!moved && moved.error().code != ErrorCode::kTooLarge) return moved.error();
  const std::int64_t bytes = moved ? dtype_bytes(b.atom().storage, *moved).value_or(INT64_MAX) : 0;
  const Verdict verdict = comparison.equal ? Verdict::kYes : Verdict::kNo;
  std::string drawn;
  if (request.has("svg")) {
    TESSERA_TRY(drawn, diff_svg(places, result_words(comparison.equal, moved, a)));
    TESSERA_CHECK_OK(write_picture(request, drawn));
    if (is_only_answer(request, console)) {
      console.out << drawn;
      return verdict;
    }
  }
  if (console.json) {
    Json json;
    json["equal"] = comparison.equal;
    json["first_difference"] = comparison.first_difference;
    json["moved_elements"] = moved ? Json(*moved) : Json();
    json["moved_bytes"] = moved ? Json(bytes) : Json();
    if (request.text("svg") == kPictureInAnswer) json["svg"] = drawn;
    console.out << dump(json) << '\n';
    return verdict;
  }
  if (comparison.equal) {
    console.out << "equal: every element is in the same slot of the same places\n";
    return verdict;
  }
  if (comparison.first_difference) {
    const Index& index = *comparison.first_difference;
    console.out << "different: first at " << bracketed(index)                 //
                << "\n  A: " << location_text(request.tensor("a"), a, index)  //
                << "\n  B: " << location_text(request.tensor("b"), b, index) << '\n';
  }
  if (moved) {
    console.out << "moved: " << *moved << " of " << count_of(a.shape().elements(), "element")
                << ", " << count_of(bytes, "byte") << '\n';
  } else {
    console.out << "moved: too many kinds of elements to count\n";
  }
  const Result<bool> local = compatible_on_device(a, b);
  if (local) {
    console.out << (*local
                        ? "no data move between places: every place already holds what it needs\n"
                        : "data move between places\n");
  }
  return verdict;
}

}  // namespace

Verb diff_verb() {
  Verb verb;
  verb.name = "diff";
  verb.summary =
      "whether two layouts put every element in the same place, or what two plans do "
      "differently";
  verb.description =
      "Compares two layouts of one shape as functions, independent of their notations: the same "
      "slot of the same places for every element. Padding value, memory space and allocation are "
      "ignored; replicas are compared as sets. Places with coordinates (PyFlame, tt grids, Spyre, "
      "native) are the same if their physical coordinates are equal; places of GSPMD and DTensor "
      "are device numbers, and against them coordinates are numbered row by row. Prints the first "
      "element that differs, in row-major order, and how many elements move from A to B, in bytes "
      "of B's storage type. With --from and --counts it says for each element of a window whether "
      "it "
      "stays, changes its slot or changes its place, and the numbers of its places. Two files that "
      "end in .json are plans: it prints the values that have other layouts, and the ops with "
      "other "
      "work or other moves, with what both take. Exit status: 0 "
      "when equal, 1 otherwise.";
  verb.positionals = {
      {"a", Positional::Kind::kTensor, "the first tensor, or a plan", {kPlanEnding}, false},
      {"b", Positional::Kind::kTensor, "the second tensor, or a plan", {kPlanEnding}, false}};
  verb.flags = {
      {"from", ValueKind::kNumbers, "I,J", "the first element of a window; needs --counts"},
      {"counts", ValueKind::kNumbers, "N,M", "how many elements the window has along each dim"},
      {"steps", ValueKind::kNumbers, "S,T", "how far apart they are; default 1"},
      {"svg", ValueKind::kText, "FILE",
       "draw what becomes of the elements; - prints the picture instead"}};
  verb.examples = {
      "tessera diff 'tensor<4x6xf32, strided<[6, 1]>>' 'tensor<4x6xf32, strided<[1, 4]>>'"};
  verb.answers_json = true;
  verb.answers_batch = true;
  verb.run = run;
  return verb;
}

}  // namespace tessera::tools
