// Tests a worker: general rules for every worker, and its results for some programs.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "depute/compiler/worker.h"
#include "depute/program/data.h"
#include "depute/program/inspect.h"
#include "support/guarded.h"
#include "support/try.h"
#include "worker/worker_connection.h"

namespace depute {
namespace {

// An unknown request must be answered with an error, and the worker must go on.
Status refuses_unknown_calls(const std::string& program, const WorkerOptions& options) {
  TRY(const auto worker, WorkerConnection::open(program, options));
  for (const char* call : {"no-such-call", "partition"}) {
    const Request request{.call = call};
    TRY(const bool is_refused, worker->is_refused(request));
    if (!is_refused)
      return failure("test-backend", message_line(write_json(request)),
                     "it accepted an invalid request instead of returning an error");
  }
  return {};
}

Status refuses_unknown_options(const BackendEntry& entry) {
  const auto made = make_partitioner(entry, {{"no_such_option", "1"}});
  if (!made && made.error().code == "usage") return {};
  if (!made) return Failure(made.error());
  return failure("test-backend", "options", "it accepts an option that it does not list");
}

Status describes_itself_the_same(const std::string& program, const WorkerOptions& options) {
  TRY(const auto one, WorkerConnection::open(program, options));
  TRY(const auto other, WorkerConnection::open(program, options));
  if (write_json(one->description()) == write_json(other->description())) return {};
  return failure("test-backend", "describe", "two processes describe the backend differently");
}

// The lowered program, and its number of delegates.
struct Lowered {
  PteFile file;
  std::size_t delegates = 0;
};

Result<Lowered> lower_with(const Compiler& compiler, const std::string& name, const std::string& model,
                           int jobs) {
  TRY(Exported exported, compiler.load(model));
  TRY(const Delegated delegated,
      compiler.lower(std::move(exported),
                     {.backends = {{.name = name}}, .jobs = jobs, .verify_each_pass = true}));
  TRY(const Executable executable, to_executorch(delegated));
  TRY(PteFile file, write(executable));
  return Lowered{std::move(file), get_delegates(delegated.program()).size()};
}

// Lowers twice in one process (verify_each_pass) and in several processes. All results must be equal.
Result<std::size_t> lowers_the_same(const Compiler& compiler, const std::string& name,
                                    const std::string& model) {
  TRY(const Lowered one, lower_with(compiler, name, model, 1));
  TRY(const Lowered several, lower_with(compiler, name, model, 4));
  if (!std::ranges::equal(one.file.pte, several.file.pte))
    return failure("test-backend", model, "one process and four processes give different bytes");
  return one.delegates;
}

}  // namespace

Result<std::vector<WorkerCheck>> test_worker(const std::string& name, const std::string& program,
                                             const std::vector<std::string>& models,
                                             const WorkerOptions& options) {
  return guarded([&]() -> Result<std::vector<WorkerCheck>> {
    const std::string absolute = std::filesystem::absolute(program).lexically_normal().string();
    std::vector<WorkerCheck> checks;
    const auto note = [&](std::string what, const Status& done) {
      checks.push_back({std::move(what), done ? std::nullopt : std::optional(done.error())});
    };
    note("describes itself identically in two processes", describes_itself_the_same(absolute, options));
    if (checks.back().fault) return checks;
    note("returns an error for an invalid request, and continues", refuses_unknown_calls(absolute, options));
    Compiler compiler;
    TRY(BackendEntry entry, worker_backend(name, program, options));
    note("rejects an option that it does not list", refuses_unknown_options(entry));
    TRY_STATUS(compiler.put(std::move(entry)));
    for (const std::string& model : models) {
      const Result<std::size_t> delegates = lowers_the_same(compiler, name, model);
      note(fmt::format("{}: {} delegates, the same bytes each time", model, delegates.value_or(0)),
           delegates ? Status() : Status(Failure(delegates.error())));
    }
    return checks;
  });
}

}  // namespace depute
