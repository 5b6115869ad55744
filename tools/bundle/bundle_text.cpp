// The test cases of a bundled program as text:
//
//   bundle 4000 bytes, 2 test cases
//   test case 0 of forward
//     input 0: f32[2, 3], mean 0.1, deviation 1, -1.5 to 1.2
//     expected output 0: f32[3], mean 0.2, deviation 0.5, 0 to 1
#include "tools/bundle/bundle_text.h"

#include <fmt/format.h>

#include "support/number_text.h"
#include "tools/run/run.h"

namespace depute {
namespace {

void add_values(std::string& text, std::string_view word, std::span<const RuntimeValue> values) {
  for (std::size_t i = 0; i < values.size(); ++i)
    text += fmt::format("  {} {}: {}\n", word, i, statistics_text(as_tensor(values[i])));
}

}  // namespace

std::string bundle_text(const Bundle& bundle, std::uint64_t file_bytes) {
  std::string text =
      fmt::format("bundle {} bytes, {}\n", file_bytes, plural(bundle.cases.size(), "test case"));
  std::size_t number = 0;
  for (std::size_t i = 0; i < bundle.cases.size(); ++i) {
    const TestCase& test = bundle.cases[i];
    number = i > 0 && bundle.cases[i - 1].method == test.method ? number + 1 : 0;
    text += fmt::format("test case {} of {}\n", number, printable(test.method));
    add_values(text, "input", test.inputs);
    add_values(text, "expected output", test.expected);
  }
  return text + "\n";
}

}  // namespace depute
