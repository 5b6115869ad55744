// A unique_ptr that propagates const: through a const Owned<T> only a const T is reachable.
//
//   Owned<Graph> graph = std::make_unique<Graph>();
//   graph->add_input(Name("x"), type);  // through a Graph&
//   std::as_const(graph)->inputs();       // through a const Graph&
//
// Owned has the interface of unique_ptr and is constructed from one.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#pragma GCC visibility push(default)

namespace depute {

template <typename T>
class Owned {
 public:
  Owned() = default;
  Owned(std::nullptr_t) {}                                             // NOLINT: like a unique_ptr
  Owned(std::unique_ptr<T> pointer) : pointer_(std::move(pointer)) {}  // NOLINT: conversion is the point

  T* get() { return pointer_.get(); }
  const T* get() const { return pointer_.get(); }
  T& operator*() { return *pointer_; }
  const T& operator*() const { return *pointer_; }
  T* operator->() { return pointer_.get(); }
  const T* operator->() const { return pointer_.get(); }
  explicit operator bool() const { return pointer_ != nullptr; }
  void reset() { pointer_.reset(); }

  friend bool operator==(const Owned& owned, std::nullptr_t) { return owned.pointer_ == nullptr; }
  friend bool operator==(const Owned&, const Owned&) = default;

 private:
  std::unique_ptr<T> pointer_;
};

}  // namespace depute

#pragma GCC visibility pop
