// NameScope: how long the names of a model (Name::scoped, name.h) and symbolic expressions (sym.h) live.
//
//   NameScope names = NameScope::make();
//   const NameScope::Use use(names);         // for this thread, until the end of the block
//   Name relu = Name::scoped("relu_1");      // valid as long as `names` or a copy of it exists
//
// There is one table of names for the process, so equal texts are the same name everywhere. A scope uses what is
// made while it is in use, and a name goes with the last scope that uses it. What is made while no scope is in use
// stays until the process ends.
//
// Every program has a scope (Program::names), which functions that take the program or a stage use, also while they
// call backends and other callbacks. So the names of a program, also those in reports about it, are valid as long as
// it, a copy of it, or a later stage. Code that makes names for a program can use its scope in the same way. A
// program for nodes of another one starts as empty_like(other), which keeps their names. Thread-safe.
#pragma once

#include <memory>
#include <utility>

#include "depute/api.h"

namespace depute {

class DEPUTE_API NameScope {
 public:
  NameScope() = default;       // no scope: names stay until the process ends
  static NameScope make();     // a new scope
  static NameScope current();  // in use on this thread; may be none
  static NameScope current_or_new();

  NameScope copy() const;             // a new scope with the same names; copies of a NameScope are one scope
  void keep(const NameScope& other);  // uses the names of `other`, too; no scope becomes `other`

  explicit operator bool() const { return data_ != nullptr; }
  friend bool operator==(const NameScope&, const NameScope&) = default;

  class Use;
  struct Data;  // internal

 private:
  explicit NameScope(std::shared_ptr<Data> data) : data_(std::move(data)) {}

  std::shared_ptr<Data> data_;
};

// Puts a scope in use on this thread during its lifetime. The thread's last one counts.
class DEPUTE_API NameScope::Use {
 public:
  explicit Use(NameScope scope);
  ~Use();
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;

 private:
  NameScope scope_;
  Data* before_;
};

}  // namespace depute
