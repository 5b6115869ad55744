// The scope of names for work on a program:
//
//   const NameScope::Use use(names_to_edit(program));
#pragma once

#include "depute/program/name_scope.h"
#include "depute/program/program.h"

namespace depute {

// Scope for the changes of a program. A program without a scope gets the current or a new one.
inline const NameScope& names_to_edit(Program& program) {
  if (!program.names) program.names = NameScope::current_or_new();
  return program.names;
}

// Scope for names that are made while a program is read.
inline NameScope names_of(const Program& program) {
  return program.names ? program.names : NameScope::current_or_new();
}

}  // namespace depute
