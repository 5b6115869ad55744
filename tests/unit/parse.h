// Returns values and fails the test at an error: must(result) returns the result's value, parse("program\n...") a
// program from its text form.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string_view>
#include <utility>

#include "depute/program/op.h"
#include "depute/program/program.h"
#include "depute/program/text.h"

namespace depute {

template <typename T>
T must(Result<T> result) {
  EXPECT_TRUE(result.has_value()) << result.error().str();
  return std::move(result).value();
}

// `ops`: the ops that it may call; BackendOps have those of backends, too.
inline Program parse(std::string_view text, const std::shared_ptr<const OpTable>& ops = torch_ops()) {
  auto program = parse_program(text, "<text>", ops);
  EXPECT_TRUE(program.has_value()) << program.error().str() << "\n" << text;
  return program ? std::move(*program) : Program();
}

}  // namespace depute
