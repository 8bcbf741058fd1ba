// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/convert.h"

#include <ostream>

#include "tessera/base/text.h"
#include "tools/command/command.h"
#include "tools/json/json.h"

namespace tessera::tools {
namespace {

Result<Verdict> run(const Request& request, Console& console) {
  if (!request.has("to")) {
    return Error{ErrorCode::kUsage, "convert needs a notation", std::nullopt,
                 "name it: --to strided, --to ttnn, .."};
  }
  TESSERA_TRY(const Notation* const to, find_notation(request.text("to")));
  TESSERA_TRY(const Conversion conversion, convert(request.tensor("tensor"), *to));
  if (!console.json) {
    console.out << conversion.text << '\n';
    for (const std::string& what : conversion.lost) {
      console.out << "without " << what << ", for which " << to->name << " has no word\n";
    }
    return Verdict::kYes;
  }
  Json json;
  json["text"] = conversion.text;
  if (!conversion.lost.empty()) json["lost"] = conversion.lost;
  console.out << dump(json) << '\n';
  return Verdict::kYes;
}

}  // namespace

Verb convert_verb() {
  Verb verb;
  verb.name = "convert";
  verb.summary = "say a layout in another notation";
  verb.description =
      "Prints the same tensor in another notation: every element in the same slot of the same "
      "places, in an allocation of the same size, which is compared each time. What the notation "
      "has no word for but moves no element (the memory space, the padding value, the device map, "
      "tiles of plain elements) is left out and told. When the notation cannot say where the "
      "elements are, tells why and "
      "exits with 1. Notations: native, strided, pyflame, spyre, metal, metal-today, ttnn, "
      "morello, xla, onednn, cute, gspmd, dtensor. With --json: text, and lost when something is.";
  verb.positionals = {{"tensor", Positional::Kind::kTensor, "the tensor to convert", {}, false}};
  verb.flags = {{"to", ValueKind::kText, "NOTATION", "the notation to say it in"}};
  verb.examples = {"tessera convert 'tensor<4x6xf32, pyflame.SinglePE()>' --to strided"};
  verb.answers_json = true;
  verb.answers_batch = true;
  verb.refusal_is_no = true;
  verb.run = run;
  return verb;
}

}  // namespace tessera::tools
