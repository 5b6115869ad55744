// Bundled programs (.bpte): a .pte with test cases for its methods in one file, which ExecuTorch's runtime verifies itself.
//
//   std::vector<TestCase> cases = {{.method = "forward", .inputs = inputs}};
//   DEPUTE_TRY(cases, with_expected_outputs(executable, std::move(cases)));
//   DEPUTE_TRY(PteFile file, write_bundle(executable, cases));
//   DEPUTE_TRY(Bundle bundle, read_bundle(file.pte, "model.bpte"));
//
// Each test case is the first call of a loaded method: the expected outputs of a method with state are those of its initial state.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "depute/api.h"
#include "depute/compiler/compiler.h"
#include "depute/program/interpret.h"
#include "depute/program/result.h"

namespace depute {

struct TestCase {
  std::string method = {};
  std::vector<RuntimeValue> inputs = {};  // of the method, in order, as in interpret(): tensors and numbers
  std::vector<RuntimeValue> expected =
      {};  // outputs of the user, tensors; empty: the case is for measuring alone
};

struct Bundle {
  std::span<const std::byte> program;  // the .pte, a part of the bytes that were read
  std::vector<TestCase> cases;         // by method, in the order of the file
  std::vector<std::string> methods;    // of each list of test cases in the file, some of which may be empty
};

// True if the first bytes are those of a bundled program.
DEPUTE_API bool is_bundle(std::span<const std::byte> file);

// Reads untrusted bytes. Fails with a position if they are damaged. Does not read the program. `name` names the file in errors.
DEPUTE_API Result<Bundle> read_bundle(std::span<const std::byte> file, const std::string& name);

// Fills in the outputs of cases without any, as the reference kernels compute them on `model`: by default the program before
// partitioning. Fails like bundle_program().
DEPUTE_API Result<std::vector<TestCase>> with_expected_outputs(const Executable& executable,
                                                               std::vector<TestCase> cases,
                                                               const Program* model = nullptr);

// Joins the bytes of a .pte with test cases. Fails with the method's signature if a case does not fit it, and for what a
// bundle cannot hold: inputs or outputs that are None, text or lists, and expected outputs that are numbers.
DEPUTE_API Result<std::vector<std::byte>> bundle_program(std::span<const std::byte> pte,
                                                         std::span<const TestCase> cases,
                                                         const std::string& name = "program.pte");

// Writes the program with its test cases, in memory or to a file, like write() and write_file() in compiler.h. The summary
// counts the bytes of the whole file. Fails like bundle_program().
DEPUTE_API Result<PteFile> write_bundle(const Executable& executable, std::span<const TestCase> cases,
                                        const std::string& name = "program.bpte");
DEPUTE_API Result<PteFile> write_bundle_file(const Executable& executable, std::span<const TestCase> cases,
                                             const std::string& path);

}  // namespace depute
