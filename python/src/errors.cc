// SPDX-License-Identifier: Apache-2.0
#include <exception>

#include "native.h"

namespace tessera::python {
namespace {

py::object value_of(const Fact& fact) {
  if (const auto* number = std::get_if<std::int64_t>(&fact.value)) return py::int_(*number);
  if (const auto* text = std::get_if<std::string>(&fact.value)) return py::str(*text);
  py::list list;
  for (const std::int64_t number : std::get<std::vector<std::int64_t>>(fact.value)) {
    list.append(number);
  }
  return list;
}

py::list reasons_of(const Error& error) {
  py::list reasons;
  for (const Reason& reason : error.reasons) {
    py::dict facts;
    facts["name"] = std::string(reason.name);
    for (const Fact& fact : reason.facts) facts[py::str(std::string(fact.name))] = value_of(fact);
    reasons.append(facts);
  }
  return reasons;
}

/// Texts of users may be any bytes.
py::str text_of(const std::string& text) {
  return py::reinterpret_steal<py::str>(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

void set_python_error(const Raised& raised) {
  const Error& error = raised.error;
  const py::object make = py::module_::import("tessera.errors").attr("_make");
  py::object span = py::none();
  if (error.span) span = py::make_tuple(error.span->from, error.span->to);
  const py::object made = make(std::string(code_name(error.code)), text_of(error.message), span,
                               text_of(error.help), text_of(error.correction), reasons_of(error),
                               text_of(raised.source), text_of(render(error, raised.source)));
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.ptr())), made.ptr());
}

}  // namespace

void raise(Error error, std::string_view source) {
  throw Raised{std::move(error), std::string(source)};
}

void raise(ErrorCode code, std::string message, std::string help) {
  raise(Error{code, std::move(message), std::nullopt, std::move(help)});
}

void bind_errors(py::module_& module) {
  // NOLINTNEXTLINE(performance-unnecessary-value-param): the type is that of pybind11
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const Raised& raised) {
      set_python_error(raised);
    }
  });
  py::list codes;
  for (const ErrorCode code : all_error_codes()) codes.append(std::string(code_name(code)));
  module.attr("error_codes") = py::tuple(codes);
}

}  // namespace tessera::python
