// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include <sstream>

#include "native.h"
#include "tools/command/run.h"

/// Answers that Python shares with the command, word for word and field for field: the texts of
/// `show`, and the JSON of verbs that have no types of their own here.
namespace tessera::python {
namespace {

/// The exit status, what was printed, and what was reported.
py::tuple command(const std::vector<std::string>& arguments, const std::string& input) {
  std::istringstream in(input);
  std::ostringstream out;
  std::ostringstream err;
  int status = 0;
  {
    const Unlocked unlocked;
    tools::Terminal terminal;
    terminal.unicode = true;
    status = tools::run_command(arguments, in, out, err, terminal);
  }
  return py::make_tuple(status, out.str(), err.str());
}

}  // namespace

void bind_command(py::module_& module) {
  module.def("command", &command, py::arg("arguments"), py::arg("input") = "");
}

}  // namespace tessera::python
