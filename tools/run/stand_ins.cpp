#include "tools/run/stand_ins.h"

#include <fmt/format.h>

#include <filesystem>

#include "depute/program/text.h"
#include "plan/plan.h"
#include "read/read_fields.h"
#include "read/read_program.h"
#include "support/fields.h"
#include "support/mapped_file.h"
#include "support/number_text.h"

namespace depute {
namespace {

struct MethodDelegates {
  std::string name;
  std::vector<std::string> delegates;
};

struct Original {
  std::string name;
  std::string backend;  // id
  std::string program;
};

struct StandIns {
  std::int64_t version = 1;
  std::vector<MethodDelegates> methods;
  std::vector<Original> originals;
};

void fields(auto& visit, MethodDelegates& method) {
  visit("name", method.name, "delegates", method.delegates);
}

void fields(auto& visit, Original& original) {
  visit("name", original.name, "backend", original.backend, "program", original.program);
}

void fields(auto& visit, StandIns& stand_ins) {
  visit("version", stand_ins.version, "methods", stand_ins.methods, "originals", stand_ins.originals);
}

std::optional<DataPlace> absolute_place(const Storage& storage) {
  std::optional<DataPlace> place = place_in_file(storage);
  if (place) place->path = std::filesystem::absolute(place->path).string();
  return place;
}

}  // namespace

std::string stand_ins_json(const Executable& executable) {
  StandIns all;
  const Program& program = executable.program();
  for (const ExecutionPlan& method : executable.plan().methods) {
    all.methods.push_back({.name = method.name, .delegates = {}});
    for (const PlanDelegate& delegate : method.delegates)
      all.methods.back().delegates.emplace_back(program.delegates[delegate.index]->name.str());
  }
  constexpr std::size_t spelled_bytes = 64;
  for (const auto& delegate : program.delegates) {
    if (delegate->original == nullptr) continue;
    const auto place = [](const Storage& storage) {
      return storage.size() <= spelled_bytes ? std::nullopt : absolute_place(storage);
    };
    all.originals.push_back(
        {std::string(delegate->name.str()), delegate->backend_id,
         print(*delegate->original, {.max_inline_bytes = ~std::size_t{0}, .place_of_data = place})});
  }
  return json_document(all);
}

std::string stand_ins_text(const std::map<std::string, std::size_t>& delegates) {
  std::vector<std::string> of_backends;
  for (const auto& [backend, count] : delegates)
    of_backends.push_back(fmt::format("{} of {}", plural(count, "delegate"), backend));
  return fmt::format("{}, which this runtime lacks", fmt::join(of_backends, ", "));
}

std::vector<std::shared_ptr<const Program>> originals_of(const Executable& executable,
                                                         const std::string& name) {
  std::vector<std::shared_ptr<const Program>> originals;
  for (const ExecutionPlan& method : executable.plan().methods) {
    if (method.name != name) continue;
    for (const PlanDelegate& delegate : method.delegates)
      originals.push_back(executable.program().delegates[delegate.index]->original);
  }
  return originals;
}

Result<std::vector<std::shared_ptr<const Program>>> read_stand_ins(const std::string& path,
                                                                   const std::string& method,
                                                                   std::size_t delegates) {
  TRY(const std::shared_ptr<const MappedFile> file, open_input(path));
  TRY(const JsonDocument document,
      JsonDocument::parse(EntryBytes{.bytes = file->bytes()}, path, ReadLimits()));
  StandIns all;
  const Json root(document);
  TRY_STATUS(read_json(root, all));
  const auto found = std::ranges::find(all.methods, method, &MethodDelegates::name);
  if (found == all.methods.end() || found->delegates.size() != delegates)
    return failure(
        "run", path,
        fmt::format("it is of another program: {} of the .pte has {}", method, plural(delegates, "delegate")),
        "`depute lower --stand-ins` writes it together with the .pte");
  std::vector<std::shared_ptr<const Program>> programs;
  for (const std::string& name : found->delegates) {
    const auto original = std::ranges::find(all.originals, name, &Original::name);
    if (original == all.originals.end())
      return failure("run", path, fmt::format("it lacks delegate {}", name));
    TRY(Program program, parse_program(original->program, fmt::format("{} of {}", name, path)));
    programs.push_back(std::make_shared<const Program>(std::move(program)));
  }
  return programs;
}

}  // namespace depute
