// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/convert.h"

#include <ostream>

#include "tessera/base/text.h"
#include "tools/command/command.h"
#include "tools/json/json.h"
#include "tools/terminal/sharing.h"

namespace tessera::tools {
namespace {

Result<Verdict> run(const Request& request, Console& console) {
  if (!request.has("to")) {
    return Error{ErrorCode::kUsage, "convert needs a notation", std::nullopt,
                 "name it: --to strided, --to ttnn, .."};
  }
  TESSERA_TRY(const Notation* const to, find_notation(request.text("to")));
  TESSERA_TRY(const Conversion conversion, convert(request.tensor("tensor"), *to));
  const Placement& placement = request.tensor("tensor").placement;
  if (!console.json) {
    console.err << sharing_warning(placement, console.terminal);
    console.out << conversion.text << '\n';
    for (const std::string& what : conversion.lost) {
      console.out << "without " << what << ", which " << to->name << " cannot express\n";
    }
    return Verdict::kYes;
  }
  Json json;
  json["text"] = conversion.text;
  if (!conversion.lost.empty()) json["lost"] = conversion.lost;
  const Result<std::optional<SharedSlot>> shared = shared_slot(placement);
  if (shared && *shared) json["shared_slot"] = sharing_json(**shared);
  console.out << dump(json) << '\n';
  return Verdict::kYes;
}

}  // namespace

Verb convert_verb() {
  Verb verb;
  verb.name = "convert";
  verb.summary = "print a layout in another notation";
  verb.description =
      "Prints the same tensor in another notation: every element in the same slot of the same "
      "places, in an allocation of the same size; the result is verified each time. Properties "
      "that move no element and that the notation cannot express (the memory space, the padding "
      "value, a device map that moves no place, tiles of plain elements) are omitted and listed. "
      "When the notation cannot express where the elements are, prints the reason and exits with "
      "1. Notations: native, strided, pyflame, spyre, metal, metal-today, ttnn, morello, xla, "
      "onednn, cute, gspmd, dtensor. With --json: text, lost when something was omitted, and "
      "shared_slot when elements overlap, which is often a typo; without --json that is a warning "
      "on standard error.";
  verb.positionals = {{"tensor", Positional::Kind::kTensor, "the tensor to convert", {}, false}};
  verb.flags = {{"to", ValueKind::kText, "NOTATION", "required: the notation to convert to"}};
  verb.examples = {"tessera convert 'tensor<4x6xf32, pyflame.SinglePE()>' --to strided"};
  verb.answers_json = true;
  verb.answers_batch = true;
  verb.refusal_is_no = true;
  verb.run = run;
  return verb;
}

}  // namespace tessera::tools
