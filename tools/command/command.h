// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/notation/notation.h"
#include "tools/terminal/terminal.h"

namespace tessera::exchange {
class Agreement;
}

/// tools/: the `tessera` command. Arguments and JSON requests come in, answers go out. It decides
/// nothing about layouts: the library does. JSON, streams and terminals are used only in tools/.
/// tools/command/: parsing, help, completion, batches and exit status, the same for every verb. A
/// verb lives in its own folder; nothing here computes an answer.
namespace tessera::tools {

/// The kind of a flag's value.
enum class ValueKind : std::uint8_t {
  kSwitch,   ///< no value: given or not; true or false in a batch request
  kText,     ///< any text
  kNumber,   ///< one integer
  kNumbers,  ///< 1,2,3; in a batch request also [1, 2, 3]
  kTexts,    ///< any text, and the flag may be given several times; in a batch request a list
};

/// The placeholder of a number of bytes, which may be written with a unit: 64K, 2G.
inline constexpr std::string_view kBytesPlaceholder = "BYTES";

struct Flag {
  std::string_view name;  ///< without the leading "--"; also the key of a batch request
  ValueKind kind = ValueKind::kSwitch;
  std::string_view placeholder;  ///< the name of the value in usage lines; BYTES may have a unit
  std::string_view help;
  std::string_view alias = {};  ///< a former name: accepted everywhere, listed nowhere
};

struct Positional {
  enum class Kind : std::uint8_t { kTensor, kWord, kFile };
  std::string_view name;  ///< lower case: the key of a batch request; printed in upper case
  Kind kind = Kind::kTensor;
  std::string_view help;
  std::vector<std::string_view> choices;  ///< the allowed words; empty allows all
  bool optional = false;
  bool repeats = false;  ///< one or more of them, printed as "FILE.."; only the last can
};

/// The parsed request: values by the name of the flag or positional, with tensors already parsed.
class Request {
 public:
  using Value = std::variant<bool, std::string, std::int64_t, std::vector<std::int64_t>,
                             std::vector<std::string>>;

  /// Sets the value of a name, instead of one that it has already.
  void set(std::string_view name, Value value);
  void set_tensor(std::string_view name, Tensor tensor) {
    tensors_.emplace_back(name, std::move(tensor));
  }
  /// Whether `name` was given; a switch that is false counts as not given.
  bool has(std::string_view name) const;
  /// The value of a flag or word that was given, of the kind that its declaration states; an empty
  /// one otherwise.
  const std::string& text(std::string_view name) const;
  std::int64_t number(std::string_view name) const;
  const std::vector<std::int64_t>& numbers(std::string_view name) const;
  /// A positional or flag that repeats.
  const std::vector<std::string>& texts(std::string_view name) const;
  /// A tensor positional; `run` is only called when all of them were parsed.
  const Tensor& tensor(std::string_view name) const;

 private:
  const Value* find(std::string_view name) const;
  std::vector<std::pair<std::string, Value>> values_;
  std::vector<std::pair<std::string, Tensor>> tensors_;
};

/// Where an answer goes, and in which format.
struct Console {
  std::istream& in;  ///< for verbs that read files; `-` is this stream
  std::ostream& out;
  std::ostream& err;  ///< for errors in a part of the request; see Verdict::kBadInput
  bool json = false;  ///< one JSON object on one line instead of text
  Terminal terminal;
  exchange::Agreement* agreement =
      nullptr;  ///< the ranks that answer together; null for a single process
};

inline constexpr int kExitBadInput = 2;
/// The exit status of a request that was answered.
enum class Verdict : std::uint8_t {
  kYes = 0,
  kNo = 1,
  kBadInput =
      kExitBadInput,  ///< a part of the input could not be read, which was reported; the rest was
};

/// One verb of the command. Parsing, help, batch keys, shell completion and the manual page all
/// come from these fields, so they cannot disagree.
struct Verb {
  std::string_view name;
  std::string_view summary;      ///< half a sentence for lists
  std::string_view description;  ///< for `help VERB` and the manual; paragraphs by empty lines
  std::vector<Positional> positionals;
  std::vector<Flag> flags;
  /// Whole command lines, to be run in order in the root of the repository.
  std::vector<std::string_view> examples;
  bool answers_json = false;   ///< supports --json: one JSON object
  bool answers_batch = false;  ///< supports --batch
  /// An answer that cannot be expressed in the notation, or cannot be found in reasonable time, is
  /// the answer "no" (status 1), not bad input (status 2).
  bool refusal_is_no = false;
  /// Its answer has the budget of one question (base/work.h), unless it moves the data of files. A
  /// verb that is not a question bounds its own work.
  bool is_question = true;
  Result<Verdict> (*run)(const Request& request, Console& console) = nullptr;
  /// For verbs with the flag --mpi: parses and answers a request together with the other processes
  /// that mpirun started, and returns the exit status. Null for all others.
  int (*run_with_mpi)(const Verb& verb, const std::vector<std::string>& args, std::ostream& out,
                      std::ostream& err, const Terminal& terminal) = nullptr;
};

/// The verb's own flags, then the common ones: --json, --batch, --help.
std::vector<Flag> flags_of(const Verb& verb);
/// The flag of this name or alias; null without one.
const Flag* flag_named(const std::vector<Flag>& flags, std::string_view name);
/// "tessera diff A B [--json] [--batch]".
std::string usage_line(const Verb& verb);

/// Every verb, in the order of the help text.
const std::vector<Verb>& command_tree();
/// The verb of this name, or kUnknownName with the nearest name as help.
Result<const Verb*> find_verb(std::string_view name);

/// The help text of the whole command, or of one verb, wrapped to the terminal.
std::string general_help(const Terminal& terminal);
std::string verb_help(const Verb& verb, const Terminal& terminal);

// One function per verb file; command.cc lists them.
Verb show_verb();
Verb locate_verb();
Verb diff_verb();
Verb convert_verb();
Verb relayout_verb();
Verb reshard_verb();
Verb alloc_verb();
Verb choose_verb();
Verb check_verb();
Verb targets_verb();
Verb graph_verb();
Verb propagate_verb();
Verb view_verb();
Verb plan_verb();
Verb price_verb();
Verb run_verb();
Verb bench_verb();
Verb completion_verb();
Verb man_verb();
Verb help_verb();

}  // namespace tessera::tools
