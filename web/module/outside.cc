// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string>
#include <string_view>

#include "tessera/base/text.h"
#include "tessera/plan/choose/solve.h"
#include "tessera/relayout/program.h"
#include "tessera/run/kernels/kernel.h"
#include "tools/files/mapped_file.h"
#include "tools/files/text_file.h"
#include "tools/plan/diff_plans.h"
#include "tools/relayout/relayout_files.h"
#include "tools/reshard/reshard_files.h"
#include "tools/targets/fit_target.h"
#include "tools/terminal/interrupts.h"

/// What the verbs reach outside of a page: files, other processes, signals. The command has other
/// definitions of these functions; here each says that it is not there.
namespace tessera::tools {
namespace {

Error not_in_a_page(std::string_view what) {
  return Error{ErrorCode::kNotSupported, cat("a page has no ", what), std::nullopt,
               "use the command `tessera`"};
}

}  // namespace

Result<std::string> read_text_file(const std::string& /*name*/, std::size_t /*most_bytes*/,
                                   std::string_view /*help*/) {
  return not_in_a_page("files");
}

Status write_whole(const std::string& /*name*/, std::string_view /*text*/) {
  return not_in_a_page("files");
}

Status check_folder_of(const std::string& /*name*/) { return not_in_a_page("files"); }

bool is_one_file(const std::string& a, const std::string& b) { return a == b; }

Result<FileMoved> move_files(const Tensor& /*a*/, const Tensor& /*b*/, const FileMove& /*files*/,
                             Console& /*console*/) {
  return not_in_a_page("files");
}

Result<relayout::Program> program_of_files(const Tensor& /*a*/, const Tensor& /*b*/,
                                           const FileMove& /*files*/) {
  return not_in_a_page("files");
}

Result<Verdict> move_files_of_places(const Request& /*request*/, Console& /*console*/) {
  return not_in_a_page("files");
}

Result<Verdict> diff_plans(const Request& /*request*/, Console& /*console*/) {
  return not_in_a_page("files");
}

Result<Verdict> fit_target(const Request& /*request*/, Console& /*console*/) {
  return not_in_a_page("files");
}

int run_with_mpi(const Verb& /*verb*/, const std::vector<std::string>& /*args*/,
                 std::ostream& /*out*/, std::ostream& /*err*/, const Terminal& /*terminal*/) {
  return kExitBadInput;
}

Interrupts::Interrupts() = default;
Interrupts::~Interrupts() { static_cast<void>(is_set_); }
bool Interrupts::seen() { return false; }

}  // namespace tessera::tools

namespace tessera::relayout {

// Its casts are those of the kernels, which a page does not have.
Result<std::string> emit_c(const Program& /*program*/, std::string_view /*name*/,
                           std::string_view /*title*/) {
  return Error{ErrorCode::kNotSupported, "a page writes no C code", std::nullopt,
               "use `tessera relayout --emit c`"};
}

}  // namespace tessera::relayout

namespace tessera::run {

// A page prices plans and runs none, so it needs no kernels; an op of a plan has one.
bool has_kernel(std::string_view /*op*/) { return true; }

}  // namespace tessera::run

namespace tessera::choose {

// The search has threads. A page prices plans, and makes none.
Result<Solution> solve(const Problem& /*problem*/, const SolveOptions& /*options*/) {
  return Error{ErrorCode::kNotSupported, "a page makes no plans", std::nullopt,
               "use `tessera plan`"};
}

}  // namespace tessera::choose

// The compiler's own arithmetic was compiled with a guard of the stack, which the C library lacks.
extern "C" {
std::uintptr_t __stack_chk_guard = 0x7e55e7a;  // NOLINT
[[noreturn]] void __stack_chk_fail() { __builtin_trap(); }
}
