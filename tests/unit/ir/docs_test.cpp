// The samples of docs/ir.md are sound programs, printed as they stand there.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "depute/program/text.h"
#include "ir/verify.h"

namespace depute {
namespace {

std::vector<std::string> samples(const std::string& text) {
  std::vector<std::string> result;
  const std::string open = "```ir\n";
  for (std::size_t at = text.find(open); at != std::string::npos; at = text.find(open, at)) {
    at += open.size();
    result.push_back(text.substr(at, text.find("```", at) - at));
  }
  return result;
}

TEST(Docs, SamplesOfTheTextForm) {
  std::ifstream file("docs/ir.md");
  ASSERT_TRUE(file) << "run from the root of the repository";
  std::string text{std::istreambuf_iterator<char>(file), {}};
  auto found = samples(text);
  EXPECT_GE(found.size(), 5u);
  for (const std::string& sample : found) {
    auto program = parse_program(sample, "docs/ir.md");
    ASSERT_TRUE(program) << program.error().str() << "\n" << sample;
    for (const Diagnostic& diagnostic : verify(*program)) ADD_FAILURE() << diagnostic.str() << "\n" << sample;
    if (sample.find("random(") != std::string::npos) continue;  // printed as what it is made of
    EXPECT_EQ(print(*program), sample);
  }
}

}  // namespace
}  // namespace depute
