#include "tools/check/check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <span>
#include <string_view>

#include "platform/parse_number.h"
#include "support/fields.h"
#include "support/number_text.h"
#include "support/trim.h"
#include "support/try.h"
#include "tools/check/runtime_text.h"
#include "tools/document/document.h"

namespace depute {
namespace {

Failure bad_line(const std::string& name, std::size_t number, std::string_view message) {
  return failure("check", fmt::format("{}:{}", name, number), message,
                 "a line is `kernel NAME`, `backend NAME` or `payload BACKEND KIND COUNT`");
}

// Names in the text; those of members that an application cannot see say what they are for.
using Member = ClassSize RuntimeClasses::*;
constexpr std::array<std::pair<std::string_view, Member>, 21> class_members = {{
    {"EValue", &RuntimeClasses::evalue},
    {"Pointer", &RuntimeClasses::pointer},
    {"Integer", &RuntimeClasses::integer},
    {"BoxedList", &RuntimeClasses::boxed_list},
    {"Array", &RuntimeClasses::array},
    {"TensorReference", &RuntimeClasses::tensor_reference},
    {"OptionalTensor", &RuntimeClasses::optional_tensor},
    {"TensorImpl", &RuntimeClasses::tensor_impl},
    {"Size", &RuntimeClasses::tensor_size},
    {"Stride", &RuntimeClasses::stride},
    {"DimOrder", &RuntimeClasses::dim_order},
    {"NamedData", &RuntimeClasses::named_data},
    {"Delegate", &RuntimeClasses::delegate},
    {"CompileSpec", &RuntimeClasses::compile_spec},
    {"Chain", &RuntimeClasses::chain},
    {"Kernel", &RuntimeClasses::kernel},
    {"Arguments", &RuntimeClasses::arguments},
    {"MergedDataMap", &RuntimeClasses::merged_data_map},
    {"PlatformAllocator", &RuntimeClasses::platform_allocator},
    {"TensorMeta", &RuntimeClasses::tensor_meta},
    {"LookupArgument", &RuntimeClasses::lookup_argument},
}};

RuntimeClasses& classes_with(RuntimeTable& table, std::uint64_t bits) {
  auto found =
      std::ranges::find_if(table.classes, [&](const RuntimeClasses& each) { return each.bits <= bits; });
  if (found == table.classes.end() || found->bits != bits)
    found = table.classes.insert(found, RuntimeClasses{.bits = bits});
  return *found;
}

// The words of a line before its versions.
struct TableLine {
  std::string_view kind;
  std::string name;
  std::uint64_t bits = 0;
  ClassSize size;
  std::string element;  // of a payload
  std::size_t words = 2;
  Member member = nullptr;
};

Result<TableLine> parse_line(const std::vector<std::string_view>& words, const std::string& name,
                             std::size_t number) {
  const auto unknown = [&] {
    return bad_line(name, number, fmt::format("'{}' is unknown", fmt::join(words, " ")));
  };
  TableLine line{.kind = words[0]};
  if (words.size() < line.words) return unknown();
  if (line.kind == "kernel" || line.kind == "backend") {
    line.name = std::string(words[1]);
    return line;
  }
  if (line.kind == "payload" && words.size() >= 4) {
    const auto count = parse_number<std::uint64_t>(words[3]);
    if (!count) return unknown();
    line.words = 4;
    line.name = std::string(words[1]);
    line.element = std::string(words[2]);
    line.size.size = *count;
    return line;
  }
  line.words = 5;
  if ((line.kind != "class" && line.kind != "delegate") || words.size() < line.words) return unknown();
  line.name = std::string(words[2]);
  const auto bits = parse_number<std::uint64_t>(words[1]);
  const auto size = parse_number<std::uint64_t>(words[3]);
  const auto alignment = parse_number<std::uint64_t>(words[4]);
  if (!bits || !size || !alignment || !std::has_single_bit(*alignment)) return unknown();
  line.bits = *bits;
  line.size = {.size = *size, .alignment = *alignment};
  if (line.kind == "delegate") return line;
  const auto* found =
      std::ranges::find(class_members, line.name, &std::pair<std::string_view, Member>::first);
  if (found == class_members.end()) return unknown();
  line.member = found->second;
  return line;
}

void add_line(RuntimeTable& table, const TableLine& line) {
  if (line.kind == "kernel") table.kernels.insert(line.name);
  if (line.kind == "backend") table.backends.insert(line.name);
  if (line.kind == "payload") table.payloads[{line.name, line.element}] = line.size.size;
  if (line.kind == "delegate") classes_with(table, line.bits).delegates[line.name] = line.size;
  if (line.member != nullptr) classes_with(table, line.bits).*line.member = line.size;
}

// Sizes are known for all classes or for none, but for LookupArgument.
Status check_classes(const std::vector<RuntimeTable>& tables, const std::string& name) {
  for (const RuntimeTable& table : tables) {
    for (const RuntimeClasses& classes : table.classes) {
      for (const auto& [member_name, member] : class_members) {
        if ((classes.*member).size == 0 && member != &RuntimeClasses::lookup_argument)
          return failure(
              "check", name,
              fmt::format("{} lacks `class {} {} SIZE ALIGNMENT`", table.name, classes.bits, member_name));
      }
    }
  }
  return {};
}

}  // namespace

Result<std::vector<RuntimeTable>> parse_runtimes(std::string_view text, const std::string& name) {
  std::vector<RuntimeTable> tables = {{.name = name}};
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::vector<std::string_view> words = split_words(text.substr(0, std::min(end, text.find('#'))));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (words.empty()) continue;
    if (words[0] == "versions") {
      tables.clear();
      for (std::size_t i = 1; i < words.size(); ++i) tables.push_back({.name = std::string(words[i])});
      continue;
    }
    TRY(const TableLine line, parse_line(words, name, number));
    const std::span<const std::string_view> versions = std::span(words).subspan(line.words);
    for (const std::string_view version : versions) {
      if (std::ranges::find(tables, version, &RuntimeTable::name) == tables.end())
        return bad_line(name, number, fmt::format("there is no version '{}'", version));
    }
    for (RuntimeTable& table : tables) {
      if (versions.empty() || std::ranges::find(versions, table.name) != versions.end())
        add_line(table, line);
    }
  }
  TRY_STATUS(check_classes(tables, name));
  return tables;
}

const std::vector<RuntimeTable>& known_runtimes() {
  static const std::vector<RuntimeTable> tables = parse_runtimes(runtime_text(), "runtimes.txt").value();
  return tables;
}

const std::vector<RuntimeTable>& known_classes() {
  static const std::vector<RuntimeTable> tables = [] {
    std::string classes;
    for (std::string_view text = runtime_text(); !text.empty();) {
      const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
      if (!text.starts_with("kernel ")) classes += text.substr(0, end);
      text.remove_prefix(end);
    }
    return parse_runtimes(classes, "runtimes.txt").value();
  }();
  return tables;
}

Result<ProgramNeeds> payload_needs(const PteContents& program, std::span<const std::byte> bytes,
                                   const Registry& registry) {
  ProgramNeeds needs;
  for (const ExecutionPlan& method : program.methods) {
    auto& of_method = needs.emplace_back(method.delegates.size());
    for (std::size_t i = 0; i < of_method.size(); ++i) {
      const Backend* backend = registry.find_backend(method.delegates[i].backend_id);
      if (backend == nullptr) continue;
      Result<PayloadLayout> layout = backend->layout(delegate_bytes(program, method.delegates[i], bytes));
      if (!layout) {
        layout.error().where = fmt::format("delegate {} of {}: {}", i, method.name, layout.error().where);
        return Failure(layout.error());
      }
      of_method[i] = std::move(layout->needs);
    }
  }
  return needs;
}

namespace {

// Kind and name of what is missing -> instructions that need it.
using Missing = std::map<std::pair<std::string, std::string>, std::uint64_t>;

// Returns what the runtime lacks for a delegate: its backend, or kinds of elements in its payload.
std::vector<Missing::key_type> missing_for(const PlanDelegate& delegate,
                                           const std::vector<PayloadNeed>& needs,
                                           const RuntimeTable& runtime) {
  if (!runtime.backends.contains(delegate.backend_id)) return {{"backend", delegate.backend_id}};
  std::vector<Missing::key_type> missing;
  for (const PayloadNeed& need : needs) {
    const auto known = runtime.payloads.find({delegate.backend_id, need.kind});
    if (known != runtime.payloads.end() && need.number > known->second)
      missing.emplace_back(fmt::format("{} {} of {}", need.kind, need.number, delegate.backend_id),
                           need.name);
  }
  return missing;
}

}  // namespace

CheckResult check_program(const PteContents& program, const ProgramNeeds& needs,
                          const RuntimeTable& runtime) {
  CheckResult result{.runtime = runtime.name, .problems = {}};
  for (std::size_t number = 0; number < program.methods.size(); ++number) {
    const ExecutionPlan& method = program.methods[number];
    Missing missing;
    // A runtime looks up all operators and delegates that are listed, called or not.
    for (const PlanOperator& op : method.operators) {
      if (!runtime.kernels.contains(op.str())) missing[{"kernel", op.str()}];
    }
    std::vector<std::vector<Missing::key_type>> of_delegate;
    for (std::size_t i = 0; i < method.delegates.size(); ++i) {
      of_delegate.push_back(missing_for(method.delegates[i], needs[number][i], runtime));
      for (const Missing::key_type& each : of_delegate.back()) missing[each];
    }
    for (const Instruction& instruction : method.instructions) {
      const auto index = static_cast<std::size_t>(instruction.index);
      if (instruction.kind == Instruction::Kind::KernelCall) {
        const auto found = missing.find({"kernel", method.operators[index].str()});
        if (found != missing.end()) ++found->second;
      }
      if (instruction.kind == Instruction::Kind::DelegateCall) {
        for (const Missing::key_type& each : of_delegate[index]) ++missing[each];
      }
    }
    for (const auto& [what, count] : missing)
      result.problems.push_back({method.name, what.first, what.second, count});
  }
  return result;
}

std::string check_text(const std::string& program, const std::vector<CheckResult>& results, bool has_color) {
  doc::Document document;
  for (const CheckResult& result : results) {
    const bool loads = result.problems.empty();
    document.line(
        {doc::Span{fmt::format("{}: ExecuTorch {}: ", program, result.runtime)},
         loads ? doc::Span{"loads", doc::Style::Good} : doc::Span{"does not load", doc::Style::Bad}});
    for (const LoadProblem& problem : result.problems)
      document.print("  {}: there is no {} {} ({})", problem.method, problem.kind, problem.name,
                     plural(problem.count, "call"));
  }
  return render_text(document, {.has_color = has_color});
}

static void fields(FieldWriter& visit, const LoadProblem& problem) {
  visit("method", problem.method, "kind", problem.kind, "name", problem.name, "calls", problem.count);
}

static void fields(FieldWriter& visit, const CheckResult& result) {
  visit("runtime", result.runtime, "loads", result.problems.empty(), "problems", result.problems);
}

namespace {

struct CheckReport {
  const std::string& program;
  const std::vector<CheckResult>& results;
};

void fields(FieldWriter& visit, const CheckReport& report) {
  visit("version", 1, "program", report.program, "runtimes", report.results);
}

}  // namespace

std::string check_json(const std::string& program, const std::vector<CheckResult>& results) {
  return json_document(CheckReport{program, results});
}

}  // namespace depute
