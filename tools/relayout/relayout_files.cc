// SPDX-License-Identifier: Apache-2.0
#include "tools/relayout/relayout_files.h"

#include <algorithm>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/relayout/verify.h"
#include "tools/command/bug.h"
#include "tools/command/thread_count.h"
#include "tools/files/array_file.h"
#include "tools/files/array_layout.h"
#include "tools/files/mapped_file.h"
#include "tools/files/npy.h"
#include "tools/files/sidecar.h"
#include "tools/relayout/relayout_print.h"
#include "tools/relayout/relayout_slices.h"
#include "tools/terminal/progress.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

/// The value of undefined padding in files, so that equal tensors are equal files.
constexpr relayout::PaddingRule kFilePadding = relayout::PaddingRule::kZero;

/// A readable file and the placement of its elements.
struct Source {
  MappedInput file;
  std::span<const std::byte> elements;
  Placement placement;
};

Result<Source> open_source(const Tensor& tensor, const std::string& name, bool is_raw) {
  Placement placement = tensor.placement;
  TESSERA_TRY(
      ArrayFile array,
      open_array(name, is_raw, placement.allocated_bytes(), [&](const NpyHeader& header) -> Status {
        TESSERA_TRY(placement, placement_in_file(tensor.placement, header, name));
        return ok_status();
      }));
  TESSERA_CHECK_OK(check_sidecar(name, tensor));
  return Source{std::move(array.file), array.elements, std::move(placement)};
}

/// Runs the plan; on a terminal, and when there is much to move, slice by slice with a progress
/// bar.
Status move_elements(const relayout::Plan& plan, const relayout::PlanOptions& options,
                     std::span<const std::byte> from, std::span<std::byte> to, int threads,
                     Console& console) {
  constexpr std::int64_t kMuch = std::int64_t{1} << 28;
  constexpr std::int64_t kSlices = 64;
  ThreadPool pool(threads);
  const relayout::Program& program = plan.program();
  // 16 block floats share an exponent and are written together, even if they belong to several
  // slices.
  const bool is_whole = is_block_float(program.to.storage());
  if (!console.terminal.shows_progress || is_whole || program.to.bytes < kMuch)
    return plan.run(from, to, pool);
  ProgressBar bar(console.err, /*show=*/true, moved_bytes(program), console.terminal.width);
  for (const relayout::Program& slice : slices_of(program, kSlices)) {
    TESSERA_TRY(const relayout::Plan part, relayout::Plan::make(slice, options));
    // The error names an element by its position in the whole source, not in the slice.
    if (!part.run(from, to, pool).ok()) return plan.run(from, to, pool);
    bar.done() += moved_bytes(slice);
  }
  return ok_status();
}

/// The same error with the index of an element that does not fit, which only its layout knows.
Error with_index(Error error, const Placement& placement, relayout::Rounding rounding) {
  for (Reason& reason : error.reasons) {
    const auto place = reason.numbers("place");
    const auto slot = reason.number("slot");
    if (reason.name != "number_does_not_fit" || !place || !slot) continue;
    const auto held = placement.contents_at(*place, *slot);
    if (!held || !std::holds_alternative<std::vector<Index>>(*held)) continue;
    const Index& index = std::get<std::vector<Index>>(*held).front();
    error.message = cat("element ", bracketed(index), " is ", reason.text("value").value_or(""),
                        ", which does not fit ", reason.text("dtype").value_or(""));
    error.help = rounding == relayout::Rounding::kChecked
                     ? "use --round for fractions, --saturate to clip, or another type"
                     : "use --saturate, or a wider type";
    reason.facts.insert(reason.facts.begin(), Fact{"index", index});
  }
  return error;
}

/// Compares the output with the result of the reference mover for the same input.
Status check_moved(const Source& source, const Placement& to, std::span<const std::byte> moved) {
  std::vector<std::byte> expected(moved.size());
  TESSERA_CHECK_OK(
      relayout::move_naively(source.placement, source.elements, to, expected, kFilePadding));
  const auto [here, there] = std::mismatch(moved.begin(), moved.end(), expected.begin());
  if (here == moved.end()) return ok_status();
  return Error{ErrorCode::kContradiction,
               cat("byte ", here - moved.begin(), " of the result is ", std::to_integer<int>(*here),
                   ", but the reference has ", std::to_integer<int>(*there)),
               std::nullopt, cat(kBugHelp, " with the two tensors")};
}

/// The input of a move, and the program that moves it.
struct PreparedMove {
  Source source;
  relayout::Program program;
};

Result<PreparedMove> prepare(const Tensor& a, const Tensor& b, const FileMove& move) {
  TESSERA_TRY(Source source, open_source(a, move.in, is_raw_file(move.in, move.raw)));
  if (source.file.is_same_file(move.out)) {
    return Error{ErrorCode::kIo, cat("--in and --out are the same file, ", quote(move.out)),
                 std::nullopt, "name another file for --out"};
  }
  TESSERA_TRY(relayout::Program program,
              relayout::make_program(source.placement, b.placement, kFilePadding));
  if (move.verify) {
    TESSERA_CHECK_OK(check_program(program, source.placement, b.placement, kFilePadding));
  }
  return PreparedMove{std::move(source), std::move(program)};
}

/// What a file of a placement holds besides its elements.
struct OutputFormat {
  std::string header;        ///< empty for raw binary
  std::string array;         ///< as in FileMoved
  std::int64_t bytes = 0;    ///< of the whole file
  bool has_sidecar = false;  ///< the header does not determine the element type
};

Result<OutputFormat> output_format(const Placement& placement, bool is_raw) {
  OutputFormat format;
  format.array = "raw bytes";
  if (!is_raw) {
    const FileArray array = file_array(placement);
    const bool is_fortran = array.order == FileArray::Order::kColumnMajor;
    format.header = write_npy_header(array.type, is_fortran, array.shape);
    format.array = cat("array ", python_tuple(array.shape), " of '", array.type.text(), "'",
                       is_fortran ? " in Fortran order" : "");
    format.has_sidecar = array.is_raw_type;
  }
  TESSERA_TRY(format.bytes, (Checked(placement.allocated_bytes()) +
                             static_cast<std::int64_t>(format.header.size()))
                                .value("the size of the file"));
  return format;
}

}  // namespace

Result<relayout::Program> program_of_files(const Tensor& a, const Tensor& b, const FileMove& move) {
  TESSERA_TRY(PreparedMove prepared, prepare(a, b, move));
  return std::move(prepared.program);
}

Result<FileMoved> move_files(const Tensor& a, const Tensor& b, const FileMove& move,
                             Console& console) {
  TESSERA_TRY(const int threads, thread_count(move.threads));
  TESSERA_TRY(PreparedMove prepared, prepare(a, b, move));
  const Source& source = prepared.source;
  relayout::PlanOptions options;
  options.rounding = move.rounding;
  TESSERA_TRY(const relayout::Plan plan,
              relayout::Plan::make(std::move(prepared.program), options));
  TESSERA_TRY(OutputFormat format, output_format(b.placement, is_raw_file(move.out, move.raw)));

  TESSERA_TRY(MappedOutput out, MappedOutput::create(move.out, format.bytes));
  std::ranges::copy(std::as_bytes(std::span(format.header)), out.bytes().begin());
  const std::span<std::byte> elements = out.bytes().subspan(format.header.size());
  if (const Status ran = move_elements(plan, options, source.elements, elements, threads, console);
      !ran) {
    return with_index(ran.error(), source.placement, move.rounding);
  }
  const bool clips = move.rounding == relayout::Rounding::kSaturate;
  const std::int64_t clipped = clips ? plan.clipped(source.elements) : 0;
  TESSERA_CHECK_OK(source.file.check());
  // The reference supports only elements that have an address and keep their type.
  const DType storage = b.placement.atom().storage;
  const bool is_compared =
      move.verify && source.placement.atom().storage == storage && !is_block_float(storage);
  if (is_compared) TESSERA_CHECK_OK(check_moved(source, b.placement, elements));
  TESSERA_CHECK_OK(update_sidecar(move.out, b, format.has_sidecar));
  TESSERA_CHECK_OK(out.commit());
  return FileMoved{std::move(format.array),
                   format.bytes,
                   plan.program().elements(),
                   format.has_sidecar ? sidecar_name(move.out) : "",
                   is_compared,
                   clipped};
}

}  // namespace tessera::tools
