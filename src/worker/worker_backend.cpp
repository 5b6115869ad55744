// The compiler's side of the protocol: a backend and a partitioner that call a worker.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <utility>

#include "depute/backend/partitioner.h"
#include "depute/backend/serve_backend.h"
#include "depute/compiler/worker.h"
#include "depute/program/text.h"
#include "ir/text/text.h"
#include "lower/lowering_error.h"
#include "lower/result_json.h"
#include "lower/run_backend.h"
#include "platform/programs.h"
#include "read/read_fields.h"
#include "support/guarded.h"
#include "support/mapped_file.h"
#include "support/parallel_for.h"
#include "support/thrown_error.h"
#include "support/try.h"
#include "worker/worker_connection.h"

namespace depute {
namespace {

namespace fs = std::filesystem;

// The processes of one worker, as many as run in parallel.
class WorkerPool {
 public:
  WorkerPool(std::string name, std::string program, const WorkerOptions& options)
      : name_(std::move(name)), program_(std::move(program)), options_(options) {}

  // Returns an idle process, or starts one.
  Result<std::unique_ptr<WorkerConnection>> take() {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        auto connection = std::move(idle_.back());
        idle_.pop_back();
        return connection;
      }
    }
    TRY(auto connection, WorkerConnection::open(program_, options_));
    const std::lock_guard lock(mutex_);
    if (id_.empty()) id_ = connection->description().id;
    if (id_ != connection->description().id)
      return connection->fail(WorkerFault::BadAnswer, fmt::format("its id changed from '{}' to '{}'", id_,
                                                                  connection->description().id));
    return connection;
  }

  void give_back(std::unique_ptr<WorkerConnection> connection) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(connection));
  }

  void end_all() {
    std::vector<std::unique_ptr<WorkerConnection>> ended;
    const std::lock_guard lock(mutex_);
    ended.swap(idle_);
  }

  // Only one of several failures is reported. Removes the input kept for the others.
  void forget_untold(const Diagnostic& told) {
    const std::lock_guard lock(mutex_);
    for (const std::string& folder : kept_) {
      const auto names = [&](const std::string& line) { return line.find(folder) != line.npos; };
      if (std::ranges::none_of(told.details, names)) remove_folder(folder);
    }
    kept_.clear();
  }

  // Runs `ask` with one process and returns the process to the pool, unless `ask` fails.
  template <typename Ask>
  auto with(Ask&& ask) -> decltype(ask(std::declval<WorkerConnection&>())) {
    TRY(std::unique_ptr<WorkerConnection> connection, take());
    auto answer = ask(*connection);
    if (!answer && answer.error().code != "usage") {
      note_kept(*connection);
      return answer;
    }
    connection->forget_input();
    give_back(std::move(connection));
    return answer;
  }

  const std::string& name() const { return name_; }

 private:
  void note_kept(const WorkerConnection& connection) {
    const std::lock_guard lock(mutex_);
    if (!connection.kept_folder().empty()) kept_.push_back(connection.kept_folder());
  }

  std::string name_;
  std::string program_;
  WorkerOptions options_;
  std::mutex mutex_;
  std::vector<std::string> kept_;  // folders with the input of failed calls
  std::string id_;
  std::vector<std::unique_ptr<WorkerConnection>> idle_;
};

// --- the backend

// Maximum number of partitions per request; one request saves a round trip for each.
constexpr std::size_t max_asked_partitions = 64;

struct AskedPartition {
  std::string_view method;
  Partition partition;
};

class WorkerBackend : public Backend {
 public:
  WorkerBackend(std::shared_ptr<WorkerPool> pool, const WorkerDescription& description)
      : pool_(std::move(pool)),
        id_(description.id),
        cache_version_(description.cache_version),
        together_(description.together) {}

  std::string_view id() const override { return id_; }
  bool is_remote() const override { return true; }
  std::string cache_version() const override { return together_ ? std::string() : cache_version_; }

  Result<PreprocessResult> preprocess(const Program& program,
                                      std::span<const CompileSpec> specs) const override {
    const AskedPartition asked{.method = "forward",
                               .partition = {.program = &program, .compile_specs = specs}};
    std::vector<PreprocessResult> results;
    TRY_STATUS(ask({&asked, 1}, 1, results));
    return std::move(results[0]);
  }

  // Results are files that the worker could still change, so the worker ends before they are used.
  Result<std::vector<MethodResults>> preprocess_multimethod(std::span<const MethodPartitions> methods,
                                                            int jobs) const override {
    auto results = ask_all(methods, jobs);
    pool_->end_all();
    if (!results) {
      pool_->forget_untold(results.error());
      return results;
    }
    for (const MethodResults& method : *results) {
      for (const PreprocessResult& result : method.results) TRY_STATUS(check_files(result));
    }
    return results;
  }

 private:
  // Sends the partitions in parallel requests.
  Result<std::vector<MethodResults>> ask_all(std::span<const MethodPartitions> methods, int jobs) const {
    std::vector<AskedPartition> asked;
    for (const auto& [method, partitions] : methods) {
      for (const Partition& partition : partitions) asked.push_back({method, partition});
    }
    const auto processes = static_cast<std::size_t>(std::max(jobs, 1));
    const std::size_t share = (asked.size() + processes - 1) / processes;
    const std::size_t run =
        together_ ? asked.size() : std::clamp<std::size_t>(share, 1, max_asked_partitions);
    const std::size_t runs = asked.empty() ? 0 : (asked.size() + run - 1) / run;
    std::vector<std::vector<PreprocessResult>> results(runs);
    std::vector<Status> done(runs);
    const int jobs_of_each = std::max(1, jobs / static_cast<int>(std::max<std::size_t>(runs, 1)));
    parallel_for(runs, jobs, [&](std::size_t i) {
      const auto rest = std::span<const AskedPartition>(asked).subspan(i * run);
      done[i] = ask(rest.first(std::min(run, rest.size())), jobs_of_each, results[i]);
    });
    for (std::size_t i = 0; i < runs; ++i) {
      if (done[i]) continue;
      if (together_) return Failure(done[i].error());
      // The first partition without a result is the one that failed.
      const AskedPartition& failed = asked[i * run + results[i].size()];
      return backend_failed(partition_place(failed.method, failed.partition, id_), done[i].error());
    }
    return by_method(methods, results);
  }

  static std::vector<MethodResults> by_method(std::span<const MethodPartitions> methods,
                                              std::vector<std::vector<PreprocessResult>>& results) {
    std::vector<PreprocessResult> all;
    for (std::vector<PreprocessResult>& run : results) std::ranges::move(run, std::back_inserter(all));
    std::vector<MethodResults> grouped;
    auto next = std::make_move_iterator(all.begin());
    for (const auto& [method, partitions] : methods) {
      const auto end = next + static_cast<std::ptrdiff_t>(partitions.size());
      grouped.push_back({method, {next, end}});
      next = end;
    }
    return grouped;
  }

  // Asks one process, with `jobs` threads, to preprocess these partitions. It answers with one line per
  // partition, in order. On failure, `results` has the results of earlier partitions.
  Status ask(std::span<const AskedPartition> asked, int jobs, std::vector<PreprocessResult>& results) const {
    return pool_->with([&](WorkerConnection& worker) -> Status {
      Request request{.call = "preprocess", .jobs = jobs, .partitions = std::vector<PartitionRequest>()};
      for (const auto& [method, partition] : asked) {
        TRY(StoredBytes place, worker.program_place(*partition.program));
        request.partitions->push_back(
            {.method = std::string(method),
             .program = std::move(place),
             .specs = {partition.compile_specs.begin(), partition.compile_specs.end()}});
      }
      const ReadBytes bytes = [&](const StoredBytes& place) { return worker.bytes(place); };
      for (const auto& [method, partition] : asked) {
        TRY(const JsonDocument answer, results.empty() ? worker.ask(request) : worker.next_line());
        const Json root(answer);
        TRY(const Json result, worker.checked(root.field("result")));
        TRY(results.emplace_back(), worker.checked(result_of_json(result, *partition.program, bytes)));
      }
      return {};
    });
  }

  static Status check_file(const Storage& storage) {
    const MappedFile* file = storage.file();
    if (file == nullptr || !file->file().is_open()) return {};
    const auto info = file->file().info();
    const auto end = static_cast<std::size_t>(storage.bytes().data() + storage.size() - file->bytes().data());
    if (info && info->size >= end) return {};
    return failure("worker.bad-answer", file->path(), "the file became shorter after the request");
  }

  static Status check_files(const PreprocessResult& result) {
    TRY_STATUS(check_file(*result.processed_bytes));
    for (const NamedData& named : result.data_store_output) TRY_STATUS(check_file(*named.storage));
    return {};
  }

  std::shared_ptr<WorkerPool> pool_;
  std::string id_;
  std::string cache_version_;
  bool together_;
};

// --- the partitioner

std::string value_text(const Value& value) {
  const std::string_view name = value.name().str();
  return "%" + (text::is_plain_name(name) ? std::string(name) : text::quoted(name));
}

// Prints a node as a program whose inputs are the node's operands.
std::string alone(const Node& node) {
  std::string inputs;
  std::vector<const Value*> seen;
  for (std::size_t i = 0; i < node.operand_count(); ++i) {
    const Value* value = node.operand(i);
    if (value == nullptr || std::ranges::find(seen, value) != seen.end()) continue;
    seen.push_back(value);
    inputs += fmt::format("{}{}: {}", inputs.empty() ? "" : ", ", value_text(*value), str(value->type()));
  }
  return fmt::format("program\nmethod forward({}) {{\n  {}\n  return\n}}\n", inputs, print(node));
}

class WorkerPartitioner : public Partitioner {
 public:
  // Fails if the worker does not know the options.
  static Result<std::unique_ptr<Partitioner>> make(std::shared_ptr<WorkerPool> pool, std::string id,
                                                   const BackendOptions& options) {
    std::unique_ptr<WorkerPartitioner> made(new WorkerPartitioner(std::move(pool), std::move(id), options));
    TRY_STATUS(made->ask_options());
    return made;
  }

  OpsToNotDecompose ops_to_not_decompose(const Program&) const override {
    OpsToNotDecompose kept{.ops = keeps_, .filter = {}};
    if (asks_) kept.filter = [this](const Node& node) { return keeps(node); };
    return kept;
  }

  Result<PartitionResult> partition(const Program& program, const Method& method) const override {
    TRY(const Answer answer, ask(program, method));
    if (answer.proposal) return propose_partitions(program, method, *answer.proposal);
    return answer.result;
  }

  Result<std::optional<Proposal>> proposal(const Program& program, const Method& method) const override {
    TRY(Answer answer, ask(program, method));
    return std::move(answer.proposal);
  }

  bool is_remote() const override { return true; }

 private:
  struct Answer {
    std::optional<Proposal> proposal;
    PartitionResult result;
  };

  WorkerPartitioner(std::shared_ptr<WorkerPool> pool, std::string id, BackendOptions options)
      : pool_(std::move(pool)), id_(std::move(id)), options_(std::move(options)) {}

  Status ask_options() {
    return pool_->with([&](WorkerConnection& worker) -> Status {
      TRY(const JsonDocument json, worker.ask({.call = "options", .options = options_}));
      OptionsAnswer answer;
      TRY_STATUS(worker.checked(read_json(Json(json), answer)));
      for (const std::string& op : answer.keep) keeps_.emplace_back(op);
      asks_ = answer.asks;
      return {};
    });
  }

  bool keeps(const Node& node) const {
    return value_or_throw(pool_->with([&](WorkerConnection& worker) -> Result<bool> {
      TRY(const JsonDocument json, worker.ask({.call = "keep", .options = options_, .node = alone(node)}));
      const Json root(json);
      TRY(const Json kept, worker.checked(root.field("keep")));
      return worker.checked(kept.boolean());
    }));
  }

  Result<Answer> ask(const Program& program, const Method& method) const {
    return pool_->with([&](WorkerConnection& worker) -> Result<Answer> {
      TRY(StoredBytes place, worker.program_place(program));
      TRY(const JsonDocument json, worker.ask({.call = "partition",
                                               .options = options_,
                                               .program = std::move(place),
                                               .method = std::string(method.name.str())}));
      const Json root(json);
      TRY(const Json answers, root.optional_field("answers"));
      Answer answer;
      if (!answers.is_null()) {
        TRY(answer.proposal, worker.checked(proposal_of(root, method, pool_->name(), id_)));
      } else {
        TRY(answer.result, worker.checked(partition_result_of(root, method, pool_->name(), id_)));
      }
      return answer;
    });
  }

  std::shared_ptr<WorkerPool> pool_;
  std::string id_;
  BackendOptions options_;
  std::vector<Name> keeps_;
  bool asks_ = false;
};

// Two backends with the same id are an error, since a delegate names its backend by id.
Status check_other_requests(const Registry& registry, const std::vector<BackendRequest>& requests,
                            const BackendRequest& added, const Backend& backend) {
  for (const BackendRequest& request : requests) {
    const BackendEntry* other = &request == &added ? nullptr : registry.find(request.name);
    if (other != nullptr && other->backend->id() == backend.id())
      return failure(
          "usage", "--backend",
          fmt::format("'{}' and '{}' have the same id, {}", request.name, added.name, backend.id()),
          "use one of them");
  }
  return {};
}

}  // namespace

std::string_view fault_id(WorkerFault fault) {
  switch (fault) {
    case WorkerFault::NotStarted:
      return "not-started";
    case WorkerFault::Version:
      return "version";
    case WorkerFault::Crashed:
      return "crashed";
    case WorkerFault::Ended:
      return "ended";
    case WorkerFault::TimedOut:
      return "timed-out";
    case WorkerFault::TooLarge:
      return "too-large";
    case WorkerFault::BadAnswer:
      return "bad-answer";
    case WorkerFault::Refused:
      return "refused";
  }
  return "";
}

std::string find_worker(std::string_view name) {
  if (name.empty() || name.find('/') != name.npos) return {};
  const std::string file = fmt::format("depute-backend-{}", name);
  for (const std::string& folder : platform::folders_on_path()) {
    const fs::path program = fs::path(folder) / file;
    if (platform::is_program(program.string())) return fs::absolute(program).string();
  }
  return {};
}

Result<BackendEntry> worker_backend(std::string_view name, const std::string& program,
                                    const WorkerOptions& options) {
  return guarded([&]() -> Result<BackendEntry> {
    const std::string absolute = fs::absolute(program).lexically_normal().string();
    auto pool = std::make_shared<WorkerPool>(std::string(name), absolute, options);
    TRY(const WorkerDescription description,
        pool->with([](WorkerConnection& worker) { return Result<WorkerDescription>(worker.description()); }));
    BackendEntry entry;
    entry.name = name;
    entry.description = description.version.empty()
                            ? description.description
                            : fmt::format("{} ({})", description.description, description.version);
    entry.backend = std::make_unique<WorkerBackend>(pool, description);
    entry.make_partitioner = [pool, id = description.id](const BackendOptions& own) {
      return WorkerPartitioner::make(pool, id, own);
    };
    entry.support = [pool] {
      auto rows = pool->with([](WorkerConnection& worker) { return worker.support(); });
      if (!rows) throw ThrownError(rows.error());
      return *std::move(rows);
    };
    entry.options = description.options;
    entry.libraries = description.libraries;
    entry.ops = description.ops;
    entry.together = description.together;
    return entry;
  });
}

Status add_workers(Compiler& compiler, std::vector<BackendRequest>& requests, const WorkerOptions& options) {
  for (BackendRequest& request : requests) {
    if (request.partitioner != nullptr) continue;
    std::string program = request.program;
    if (!program.empty()) {
      request.name = worker_name(program.c_str());
      if (!platform::is_program(program))
        return failure("usage", "--backend", fmt::format("'{}' is not an executable program", program));
    } else if (compiler.registry().find(request.name) == nullptr) {
      program = find_worker(request.name);
      if (program.empty()) request.sought = fmt::format("depute-backend-{} on PATH", request.name);
    }
    if (program.empty()) continue;
    TRY(BackendEntry entry, worker_backend(request.name, program, options));
    TRY_STATUS(check_other_requests(compiler.registry(), requests, request, *entry.backend));
    TRY_STATUS(compiler.put(std::move(entry)));
  }
  return {};
}

}  // namespace depute
