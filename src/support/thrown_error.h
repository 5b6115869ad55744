// An error on its way through a function that returns no Result, as those are that a BackendEntry is made of:
// guarded() gives it back as it was.
//
//   if (!rows) throw ThrownError(rows.error());
#pragma once

#include <stdexcept>
#include <utility>

#include "depute/result.h"

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
