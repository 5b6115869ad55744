// Whether a .pte will load in a runtime: its kernels and backends against those that the runtime has.
//
//   const CheckResult result = check_program(pte, known_runtimes()[0]);
//   result.problems[0]   {method "forward", kind "kernel", name "shop::cut.out", count 3}
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "depute/backend/registry.h"
#include "depute/program/result.h"
#include "read/pte.h"

namespace depute {

// Bytes, and the multiple at which they start.
struct ClassSize {
  std::uint64_t size = 0;
  std::uint64_t alignment = 1;
};

// Sizes of what the runtime allocates when it loads a method, for processors whose addresses have `bits`.
struct RuntimeClasses {
  std::uint64_t bits = 0;
  ClassSize evalue, pointer, integer, boxed_list, array, tensor_reference, optional_tensor, tensor_impl;
  ClassSize tensor_size, stride, dim_order, named_data, delegate, compile_spec, chain, kernel, arguments;
  ClassSize merged_data_map, platform_allocator, tensor_meta;
  ClassSize
      lookup_argument;  // room that the temporary allocator needs for each argument of a kernel; 0: as much as is used
  std::map<std::string, ClassSize, std::less<>> delegates;  // what each delegate keeps, by its backend
};

struct RuntimeTable {
  std::string name;  // version, or file
  std::set<std::string, std::less<>> kernels;
  std::set<std::string, std::less<>> backends;
  // Kinds of elements that payloads may have, by backend and PayloadNeed::kind: those up to a number.
  std::map<std::pair<std::string, std::string>, std::uint64_t> payloads;
  std::vector<RuntimeClasses> classes;  // most bits first
};

struct LoadProblem {
  std::string method;
  std::string kind;  // "kernel", "backend", or "node 48 of XnnpackBackend"
  std::string name;
  std::uint64_t count = 0;  // instructions that need it
};

struct CheckResult {
  std::string runtime;
  std::vector<LoadProblem> problems;  // none: it loads
};

// Parses lines
//
//   kernel aten::add.out
//   backend XnnpackBackend
//   payload XnnpackBackend node 47     numbers of kinds of elements that its payloads may have
//   class 64 EValue 16 8               bits of addresses, name, bytes, alignment
//   delegate 64 XnnpackBackend 248 8
//
// "#" starts a comment. With a line "versions 1.4 1.5" the text describes several runtimes, and a line that ends in versions
// holds for these alone. `name` names the text, and its runtime if it is one.
Result<std::vector<RuntimeTable>> parse_runtimes(std::string_view text, const std::string& name);

// The runtimes in ExecuTorch's wheels, oldest first.
const std::vector<RuntimeTable>& known_runtimes();
// Sizes of classes of these runtimes, without their kernels: a tenth of the text to parse.
const std::vector<RuntimeTable>& known_classes();

// Needs of each delegate's payload, by method and delegate in the order of the file; empty if the registry lacks the
// backend. Fails if a payload is damaged.
using ProgramNeeds = std::vector<std::vector<std::vector<PayloadNeed>>>;
Result<ProgramNeeds> payload_needs(const PteContents& program, std::span<const std::byte> bytes,
                                   const Registry& registry);

CheckResult check_program(const PteContents& program, const ProgramNeeds& needs, const RuntimeTable& runtime);

std::string check_text(const std::string& program, const std::vector<CheckResult>& results, bool has_color);
std::string check_json(const std::string& program, const std::vector<CheckResult>& results);

}  // namespace depute
