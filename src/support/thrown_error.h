// Carries a Diagnostic through a function that returns no Result, such as the functions of a BackendEntry.
// guarded() returns the Diagnostic unchanged.
//
//   if (!rows) throw ThrownError(rows.error());
#pragma once

#include <stdexcept>
#include <utility>

#include "depute/program/result.h"

namespace depute {

class ThrownError : public std::runtime_error {
 public:
  explicit ThrownError(Diagnostic diagnostic)
      : std::runtime_error(diagnostic.str()), diagnostic_(std::move(diagnostic)) {}
  const Diagnostic& diagnostic() const { return diagnostic_; }

 private:
  Diagnostic diagnostic_;
};

}  // namespace depute
