// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "native.h"

namespace tessera::python {

/// Lets Ctrl-C end a search that runs without the interpreter's lock. `go_on` is called from the
/// search: it takes the lock, and lets Python handle its signals. A handler that raises ends the
/// search; `rethrow` then raises the same exception, with the lock.
class Interrupts {
 public:
  bool go_on() {
    const py::gil_scoped_acquire locked;
    if (raised_ || PyErr_CheckSignals() == 0) return !raised_;
    raised_ = true;
    PyErr_Fetch(&type_, &value_, &trace_);
    return false;
  }
  void rethrow() {
    if (!raised_) return;
    PyErr_Restore(type_, value_, trace_);
    throw py::error_already_set();
  }

 private:
  bool raised_ = false;
  PyObject* type_ = nullptr;
  PyObject* value_ = nullptr;
  PyObject* trace_ = nullptr;
};

}  // namespace tessera::python
