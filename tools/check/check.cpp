#include "tools/check/check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "support/fields.h"
#include "support/number_text.h"
#include "tools/check/runtime_text.h"
#include "tools/document/document.h"

namespace depute {
namespace {

Failure bad_line(const std::string& name, std::size_t number, std::string_view message) {
  return failure("check", fmt::format("{}:{}", name, number), message,
                 "a line is `kernel NAME` or `backend NAME`, such as `kernel aten::add.out`");
}

std::vector<std::string> words_of(std::string_view line) {
  std::istringstream stream{std::string(line.substr(0, line.find('#')))};
  return {std::istream_iterator<std::string>(stream), {}};
}

}  // namespace

Result<std::vector<RuntimeTable>> parse_runtimes(std::string_view text, const std::string& name) {
  std::vector<RuntimeTable> tables = {{.name = name, .kernels = {}, .backends = {}}};
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::vector<std::string> words = words_of(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (words.empty()) continue;
    if (words[0] == "versions") {
      tables.clear();
      for (std::size_t i = 1; i < words.size(); ++i)
        tables.push_back({.name = words[i], .kernels = {}, .backends = {}});
      continue;
    }
    if (words.size() < 2 || (words[0] != "kernel" && words[0] != "backend"))
      return bad_line(name, number, fmt::format("'{}' is unknown", fmt::join(words, " ")));
    for (std::size_t i = 2; i < words.size(); ++i) {
      if (std::ranges::find(tables, words[i], &RuntimeTable::name) == tables.end())
        return bad_line(name, number, fmt::format("there is no version '{}'", words[i]));
    }
    for (RuntimeTable& table : tables) {
      const bool has =
          words.size() == 2 || std::find(words.begin() + 2, words.end(), table.name) != words.end();
      if (has) (words[0] == "kernel" ? table.kernels : table.backends).insert(words[1]);
    }
  }
  return tables;
}

Result<std::vector<RuntimeTable>> known_runtimes() {
  return parse_runtimes(runtime_text(), "runtimes.txt");
}

CheckResult check_program(const PteContents& program, const RuntimeTable& runtime) {
  CheckResult result{.runtime = runtime.name, .problems = {}};
  for (const ExecutionPlan& method : program.methods) {
    std::map<std::pair<std::string_view, std::string>, std::uint64_t> missing;
    // A runtime looks up all operators and delegates that are listed, called or not.
    for (const PlanOperator& op : method.operators) {
      if (!runtime.kernels.contains(op.str())) missing[{"kernel", op.str()}];
    }
    for (const PlanDelegate& delegate : method.delegates) {
      if (!runtime.backends.contains(delegate.backend_id)) missing[{"backend", delegate.backend_id}];
    }
    for (const Instruction& instruction : method.instructions) {
      const auto index = static_cast<std::size_t>(instruction.index);
      auto found = missing.end();
      if (instruction.kind == Instruction::Kind::KernelCall)
        found = missing.find({"kernel", method.operators[index].str()});
      if (instruction.kind == Instruction::Kind::DelegateCall)
        found = missing.find({"backend", method.delegates[index].backend_id});
      if (found != missing.end()) ++found->second;
    }
    for (const auto& [what, count] : missing)
      result.problems.push_back({method.name, std::string(what.first), what.second, count});
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
