// SPDX-License-Identifier: Apache-2.0
#include "tessera/reshard/reshard.h"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <sstream>

#include "native.h"
#include "tessera/base/text.h"
#include "tessera/base/work.h"
#include "tessera/reshard/transfers.h"
#include "tools/reshard/reshard_answer.h"
#include "tools/reshard/reshard_print.h"

namespace tessera::python {
namespace {

using tools::ReshardAnswer;
using tools::ReshardQuestion;

struct PyReshard {
  TensorPtr source;
  TensorPtr destination;
  ReshardAnswer answer;

  const reshard::Reshard& reshard() const {
    if (answer.reshard) return *answer.reshard;
    raise(ErrorCode::kTooLarge, "the pages of this move are too many to be listed",
          "its figures are known all the same");
  }
};

tools::SimulateWhen when(const std::string& name) {
  if (name == "auto") return tools::SimulateWhen::kAuto;
  if (name == "always") return tools::SimulateWhen::kAlways;
  if (name == "never") return tools::SimulateWhen::kNever;
  raise(ErrorCode::kUnknownName, cat("simulate '", name, "' does not exist"),
        "use one of 'auto', 'always', 'never'");
}

PyReshard make_reshard(py::handle a, py::handle b, const std::string& target,
                       const std::string& space_a, const std::string& space_b, bool relabel,
                       std::optional<std::int64_t> staging, const std::string& simulate) {
  PyReshard made{tensor_from(a), tensor_from(b), {}};
  ReshardQuestion question;
  question.target = target;
  question.space_a = space_a;
  question.space_b = space_b;
  question.relabel = relabel;
  question.staging_bytes = staging;
  question.simulate = when(simulate);
  if (staging && *staging < 1) {
    raise(ErrorCode::kOutOfRange, cat("staging is ", *staging), "give at least 1 byte");
  }
  if (target.empty() && !(space_a.empty() && space_b.empty())) {
    raise(ErrorCode::kUsage, "a memory of a target is named, but there is no target",
          "add target=..");
  }
  const Unlocked unlocked;
  const Work work(kQuestionSteps);
  const Tensor& from = made.source->tensor;
  const Tensor& to = made.destination->tensor;
  if (target.empty()) {
    const std::string unknown = tools::unknown_places(from, to, question);
    if (!unknown.empty()) {
      raise(ErrorCode::kNotSupported, cat("not known without a target: ", unknown),
            "name the machine with target=..");
    }
  }
  made.answer = unwrap(tools::answer_reshard(from, to, question));
  return made;
}

std::string json_of(const PyReshard& made) {
  const Unlocked unlocked;
  std::ostringstream out;
  tools::print_reshard_json(made.answer, out);
  return out.str();
}

std::string text_of(const PyReshard& made) {
  const Unlocked unlocked;
  std::ostringstream out;
  tools::print_reshard_text(made.answer, out, tools::Terminal{});
  return out.str();
}

/// Sources, destinations, elements and bytes as four arrays.
py::tuple pairs(const PyReshard& made, bool messages, bool local) {
  std::vector<reshard::PairBytes> found;
  {
    const Unlocked unlocked;
    const Work work(kQuestionSteps);
    found = unwrap(reshard::pairs_of(made.reshard(), tools::kMostPairs,
                                     {.messages = messages, .local = local}));
  }
  py::array_t<std::int64_t> columns[4];
  for (auto& column : columns) column = py::array_t<std::int64_t>(std::ssize(found));
  for (std::size_t i = 0; i < found.size(); ++i) {
    columns[0].mutable_data()[i] = found[i].source;
    columns[1].mutable_data()[i] = found[i].destination;
    columns[2].mutable_data()[i] = found[i].elements;
    columns[3].mutable_data()[i] = found[i].bytes;
  }
  return py::make_tuple(columns[0], columns[1], columns[2], columns[3]);
}

struct OneTransfer {
  reshard::Transfer transfer;
  std::vector<reshard::BoxLoop> loops;
};

/// Transfers with their loops, at most `limit`.
py::list transfers(const PyReshard& made, bool messages, bool local,
                   std::optional<std::int64_t> source, std::optional<std::int64_t> destination,
                   std::int64_t limit) {
  const py::object make = py::module_::import("tessera.results").attr("Transfer");
  std::vector<OneTransfer> found;
  bool is_full = false;
  {
    const Unlocked unlocked;
    const reshard::TransferChoice choice{messages, local, source, destination};
    const Status status = reshard::for_each_transfer(
        made.reshard(), choice, [&](const reshard::Transfer& transfer) -> Status {
          is_full = std::ssize(found) >= limit;
          if (is_full) return Error{ErrorCode::kTooLarge, "enough"};
          found.push_back({transfer, {transfer.loops.begin(), transfer.loops.end()}});
          return ok_status();
        });
    if (!status && !is_full) raise(status.error());
  }
  py::list list;
  for (const OneTransfer& one : found) {
    const reshard::Transfer& t = one.transfer;
    py::list loops;
    for (const reshard::BoxLoop& loop : one.loops) {
      loops.append(py::make_tuple(loop.extent, loop.source_stride, loop.destination_stride));
    }
    list.append(make(t.source, t.destination, t.source_slot, t.destination_slot, t.elements, loops,
                     t.combines));
  }
  return list;
}

py::dict loads(const PyReshard& made) {
  reshard::LinkLoads found;
  {
    const Unlocked unlocked;
    found = unwrap(reshard::link_loads(made.reshard()));
  }
  py::dict dict;
  const auto add = [&](const char* name, const std::vector<std::int64_t>& load) {
    dict[name] = py::array_t<std::int64_t>({found.rows, found.cols}, load.data());
  };
  add("east", found.east);
  add("west", found.west);
  add("south", found.south);
  add("north", found.north);
  return dict;
}

}  // namespace

void bind_reshard(py::module_& module) {
  py::class_<PyReshard>(module, "Reshard")
      .def(py::init(&make_reshard), py::arg("a"), py::arg("b"), py::arg("target"),
           py::arg("space_a"), py::arg("space_b"), py::arg("relabel"), py::arg("staging"),
           py::arg("simulate"))
      .def_readonly("source", &PyReshard::source)
      .def_readonly("destination", &PyReshard::destination)
      .def("json", &json_of)
      .def("text", &text_of)
      .def("pairs", &pairs, py::arg("messages"), py::arg("local"))
      .def("transfers", &transfers, py::arg("messages"), py::arg("local"), py::arg("source"),
           py::arg("destination"), py::arg("limit"))
      .def("link_loads", &loads);
}

}  // namespace tessera::python
