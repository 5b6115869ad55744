// Converts errors between C++ and Python.
//
//   Diagnostic                   ->  depute.Error, with the same message and fields
//   exception of a callback      ->  Diagnostic inside the compiler, then the same exception with a note:
//
//     ValueError: no such layer
//     while lowering: method forward, tag t0, backend MyBackend (model.py:12)
#include "bind.h"

#include <nanobind/stl/string.h>

namespace depute::python {

namespace {

// "ValueError: no such layer". nanobind's what() would end the process if str() raises or is invalid UTF-8.
std::string text_of(const nb::python_error& error) {
  std::string text = nb::cast<std::string>(nb::type_name(error.type()));
  PyObject* shown = PyObject_Str(error.value().ptr());
  Py_ssize_t size = 0;
  const char* utf8 = shown == nullptr ? nullptr : PyUnicode_AsUTF8AndSize(shown, &size);
  if (utf8 != nullptr) text += ": " + std::string(utf8, static_cast<std::size_t>(size));
  PyErr_Clear();
  Py_XDECREF(shown);
  return text;
}

}  // namespace

void raise(const Diagnostic& diagnostic) {
  nb::list details;
  for (const std::string& detail : diagnostic.details) details.append(nb::str(detail.c_str(), detail.size()));
  const auto text = [](const std::string& part) { return nb::str(part.c_str(), part.size()); };
  nb::object make = nb::module_::import_("depute._errors").attr("of_compiler");
  nb::object error = make(text(diagnostic.code), text(diagnostic.where), text(diagnostic.message),
                          text(diagnostic.hint), text(diagnostic.source), details, text(diagnostic.str()));
  PyErr_SetObject(error.type().ptr(), error.ptr());
  throw nb::python_error();
}

std::string Raised::keep(nb::python_error& error) {
  const std::lock_guard lock(mutex_);
  if (!first_) first_.emplace(error);
  return text_of(error);
}

void Raised::rethrow_or_raise(const Diagnostic& diagnostic) {
  if (!first_) raise(diagnostic);
  nb::python_error error = std::move(*first_);
  first_.reset();
  std::string place = diagnostic.where;
  if (!diagnostic.source.empty()) place += " (" + diagnostic.source + ")";
  if (!place.empty() && nb::hasattr(error.value(), "add_note")) {
    const std::string note = "while lowering: " + place;
    error.value().attr("add_note")(nb::str(note.c_str(), note.size()));
  }
  throw error;
}

SharedObject share(nb::object object) {
  return {new nb::object(std::move(object)), [](nb::object* owned) {
            if (!Py_IsInitialized()) return;  // the interpreter has released everything
            nb::gil_scoped_acquire acquire;
            delete owned;
          }};
}

nb::bytes bytes_of(std::span<const std::byte> bytes) {
  return nb::bytes(bytes.data(), bytes.size());
}

std::vector<std::byte> bytes_of(const nb::bytes& bytes) {
  const auto* data = static_cast<const std::byte*>(bytes.data());
  return {data, data + bytes.size()};
}

std::vector<NamedBytes> compile_specs_of(const std::vector<CompileSpec>& specs) {
  std::vector<NamedBytes> all;
  for (const CompileSpec& spec : specs) all.emplace_back(spec.key, bytes_of(std::span(spec.value)));
  return all;
}

std::vector<CompileSpec> compile_specs_of(const std::vector<NamedBytes>& specs) {
  std::vector<CompileSpec> all;
  for (const auto& [key, value] : specs) all.push_back({.key = key, .value = bytes_of(value)});
  return all;
}

}  // namespace depute::python
