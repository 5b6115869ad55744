// The worker's side of the protocol. Reads one request per line from standard input. Answers with one line,
// or one line per partition, and writes the bytes of results into files of its working directory.
#include "depute/backend/serve_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <unordered_map>

#include "depute/compiler/compiler.h"
#include "depute/compiler/worker.h"
#include "depute/program/text.h"
#include "ir/text/compact.h"
#include "lower/result_json.h"
#include "platform/process_memory.h"
#include "platform/signals.h"
#include "platform/standard_streams.h"
#include "read/read_fields.h"
#include "support/guarded.h"
#include "support/mapped_file.h"
#include "support/parallel_for.h"
#include "support/try.h"
#include "worker/messages.h"

namespace depute {
namespace {

constexpr std::size_t bytes_alignment = 64;
constexpr int max_jobs = 64;
// Results up to this size in bytes are part of the answer.
constexpr std::size_t max_told_bytes_of_result = 256;

// The file with the bytes of a request's results, if any result is large. The bytes are written before the
// answer that names them is sent.
class ResultFile {
 public:
  explicit ResultFile(std::string name) : name_(std::move(name)) {}

  // Returns where the bytes will be: in the answer itself, or in the file once write() has been called.
  StoredBytes place(const Storage& storage) {
    if (storage.size() <= max_told_bytes_of_result)
      return with_bytes(storage, [](auto bytes) { return StoredBytes{.hex = hex_of(bytes)}; });
    const std::size_t at = (end_ + bytes_alignment - 1) / bytes_alignment * bytes_alignment;
    end_ = at + storage.size();
    asked_.emplace_back(at, &storage);
    return {.file = name_, .at = at, .size = storage.size()};
  }

  // Produces and writes the bytes of all places handed out so far, on `jobs` threads.
  Status write(int jobs) {
    if (!asked_.empty() && !file_.is_open())
      file_ = platform::File::create(name_, 0600).value_or(platform::File());
    std::vector<Status> written(asked_.size());
    parallel_for(asked_.size(), jobs, [&](std::size_t i) {
      const auto& [at, storage] = asked_[i];
      written[i] = with_bytes(*storage, [&](std::span<const std::byte> bytes) { return write(at, bytes); });
    });
    asked_.clear();
    for (Status& each : written) TRY_STATUS(std::move(each));
    return {};
  }

 private:
  Status write(std::size_t at, std::span<const std::byte> bytes) const {
    const std::error_code error = file_.write_at(at, bytes);
    return error ? Status(failure("write", name_, error.message())) : Status();
  }

  std::string name_;
  platform::File file_;
  std::size_t end_ = 0;
  std::vector<std::pair<std::size_t, const Storage*>> asked_;  // offset -> storage
};

// Reads lines of standard input in large blocks.
class Lines {
 public:
  // Returns nullopt at the end of the input.
  std::optional<std::string> next() {
    std::string line;
    while (true) {
      const std::string_view rest = std::string_view(buffer_.data(), filled_).substr(at_);
      const std::size_t end = rest.find('\n');
      line += rest.substr(0, end);
      if (end != rest.npos) {
        at_ += end + 1;
        return line;
      }
      if (!fill()) return std::nullopt;
    }
  }

 private:
  bool fill() {
    at_ = filled_ = 0;
    filled_ = input_.read(std::as_writable_bytes(std::span(buffer_))).value_or(0);
    return filled_ > 0;
  }

  platform::File input_ = platform::File::of_stream(0).value_or(platform::File());
  std::array<char, 1 << 16> buffer_;
  std::size_t at_ = 0;
  std::size_t filled_ = 0;
};

class BackendServer {
 public:
  BackendServer(const Registry& registry, const BackendEntry& entry, const WorkerTraits& traits,
                platform::File output)
      : registry_(registry), entry_(entry), traits_(traits), output_(std::move(output)) {}

  // Returns false if the compiler no longer reads answers.
  bool answer(const std::string& line) {
    Status answered = guarded([&]() -> Status {
      const NameScope::Use use(NameScope::make());
      TRY(const Request request, read_request(line));
      return answer(request);
    });
    return answered ? is_open_ : say({{"error", write_json(answered.error())}});
  }

 private:
  static Result<Request> read_request(const std::string& line) {
    Request request;
    const auto json = parse_message(line);
    const Status read = json ? read_json(Json(*json), request) : Status(Failure(json.error()));
    if (read) return request;
    return failure("protocol", read.error().where,
                   fmt::format("the request cannot be read: {}", read.error().message));
  }

  Status answer(const Request& request) {
    programs_.reset();
    const std::string& call = request.call;
    if (call == "describe") return describe(request);
    if (call == "options") return options(request);
    if (call == "keep") return keep(request);
    if (call == "partition") return partition(request);
    if (call == "preprocess") return preprocess(request);
    return failure("protocol", "call", fmt::format("unknown call '{}'", call));
  }

  Status describe(const Request& request) {
    WorkerDescription description{.protocol = worker_protocol,
                                  .id = std::string(entry_.backend->id()),
                                  .description = entry_.description,
                                  .version = traits_.version,
                                  .cache_version = entry_.backend->cache_version(),
                                  .options = entry_.options,
                                  .together = traits_.together,
                                  .forms = {std::string(compact_form)},
                                  .libraries = entry_.libraries,
                                  .ops = entry_.ops};
    if (const int asked = request.protocol.value_or(0); asked != worker_protocol)
      return failure(
          "protocol", "",
          fmt::format("this worker uses protocol {}, but the request uses {}", worker_protocol, asked));
    if (entry_.support && request.support.value_or(true)) {
      TRY(description.support, support_matrix(entry_));
    }
    say(write_json(description));
    return {};
  }

  Result<std::unique_ptr<Partitioner>> partitioner(const Request& request) const {
    return make_partitioner(entry_, request.options.value_or(BackendOptions()));
  }

  Status options(const Request& request) {
    TRY(const std::unique_ptr<Partitioner> made, partitioner(request));
    const OpsToNotDecompose kept = made->ops_to_not_decompose(Program(registry_.ops()));
    OptionsAnswer answer{.asks = kept.filter != nullptr};
    for (Name op : kept.ops) answer.keep.emplace_back(op.str());
    say(write_json(answer));
    return {};
  }

  Status keep(const Request& request) {
    TRY(const std::unique_ptr<Partitioner> made, partitioner(request));
    TRY(const Program program, parse_program(request.node.value_or(""), "node", registry_.ops()));
    const OpsToNotDecompose kept = made->ops_to_not_decompose(program);
    const Node* node = program.methods.empty() ? nullptr : program.methods[0]->graph->first();
    if (node == nullptr) return failure("protocol", "node", "there is no node");
    say({{"keep", !kept.filter || kept.filter(*node)}});
    return {};
  }

  Result<Program> read_program(const StoredBytes& place) const {
    if (place.text) return parse_place(place, {}, registry_.ops());
    if (programs_ == nullptr || programs_->path() != place.file) {
      TRY(programs_, MappedFile::open(place.file));
    }
    return parse_place(place, programs_->bytes(), registry_.ops());
  }

  Status partition(const Request& request) {
    TRY(const std::unique_ptr<Partitioner> made, partitioner(request));
    if (!request.program) return failure("protocol", "program", "it is missing");
    TRY(const Program program, read_program(*request.program));
    const Method* method = program.find_method(request.method);
    if (method == nullptr) return failure("protocol", "method", "there is no such method");
    TRY(const std::optional<Proposal> proposal, made->proposal(program, *method));
    // A `worth` function cannot be sent as JSON, so in that case the worker partitions the graph itself.
    if (proposal && !proposal->options.regions.worth) {
      say(json_of(*proposal, *method));
      return {};
    }
    TRY(const PartitionResult result, made->partition(program, *method));
    say(json_of(result, *method));
    return {};
  }

  // The partitions of a request, by method, as arguments for the backend. Specs are those of the request.
  struct Given {
    std::vector<Program> programs;
    std::vector<MethodPartitions> methods;
  };

  Result<Given> read_partitions(const Request& request) const {
    Given given;
    if (!request.partitions) return failure("protocol", "partitions", "there are none");
    given.programs.reserve(request.partitions->size());
    for (const PartitionRequest& row : *request.partitions) {
      TRY(Program program, read_program(row.program));
      given.programs.push_back(std::move(program));
      if (given.methods.empty() || given.methods.back().method != row.method)
        given.methods.push_back({row.method, {}});
      given.methods.back().partitions.push_back({&given.programs.back(), row.specs});
    }
    return given;
  }

  // Answers partition by partition, so that the time limit applies to each. A failing partition is answered
  // with the backend's error, which ends the answer.
  Status preprocess(const Request& request) {
    TRY(const Given given, read_partitions(request));
    ResultFile file(fmt::format("result{}", ++count_));
    jobs_ = std::clamp(request.jobs.value_or(1), 1, max_jobs);
    if (traits_.together) return preprocess_together(given, file);
    std::size_t at = 0;
    for (const auto& [method, partitions] : given.methods) {
      for (const Partition& partition : partitions) {
        TRY(const PreprocessResult result,
            entry_.backend->preprocess(*partition.program, partition.compile_specs));
        TRY_STATUS(tell(result, given.programs[at++], file));
      }
    }
    return {};
  }

  Status preprocess_together(const Given& given, ResultFile& file) {
    TRY(std::vector<MethodResults> all, entry_.backend->preprocess_multimethod(given.methods, jobs_));
    std::vector<PreprocessResult> results;
    for (const auto& [method, partitions] : given.methods) {
      const auto found = std::ranges::find(all, method, &MethodResults::method);
      if (found == all.end() || found->results.size() != partitions.size())
        return failure("backend", method, "it did not return one result per partition");
      std::ranges::move(found->results, std::back_inserter(results));
    }
    for (std::size_t i = 0; i < results.size(); ++i) TRY_STATUS(tell(results[i], given.programs[i], file));
    return {};
  }

  Status tell(const PreprocessResult& result, const Program& partition, ResultFile& file) {
    TRY_STATUS(check(result));
    TRY(JsonValue json,
        json_of_result(result, partition, [&](const Storage& storage) { return file.place(storage); }));
    TRY_STATUS(file.write(jobs_));
    say({{"result", std::move(json)}});
    return {};
  }

  static Status check(const PreprocessResult& result) {
    if (result.processed_bytes == nullptr) return failure("backend", "", "it returned no bytes");
    for (const NamedData& named : result.data_store_output) {
      if (named.storage == nullptr) return failure("backend", named.key, "named data without bytes");
    }
    return {};
  }

  bool say(const JsonValue& message) {
    const std::string text = message_line(message) + "\n";
    is_open_ = is_open_ && !output_.write(std::as_bytes(std::span(text)));
    return is_open_;
  }

  const Registry& registry_;
  const BackendEntry& entry_;
  const WorkerTraits& traits_;
  platform::File output_;
  bool is_open_ = true;
  int count_ = 0;                                       // number of result files
  int jobs_ = 1;                                        // threads for the current request
  mutable std::shared_ptr<const MappedFile> programs_;  // for the current request
};

constexpr std::string_view usage_text =
    "A worker of depute: it speaks the protocol of docs/backend-protocol.md on its standard streams.\n"
    "`depute lower MODEL.pt2 --backend exec:{}` runs it.\n";

int tell(const char* program, const BackendEntry& entry, const WorkerTraits& traits, std::string_view word) {
  if (word == "--version") {
    fmt::print("{} {}\n", entry.name, traits.version.empty() ? version() : traits.version);
    return 0;
  }
  std::FILE* stream = word == "--help" ? stdout : stderr;
  fmt::print(stream, fmt::runtime(usage_text), program);
  return word == "--help" ? 0 : 2;
}

}  // namespace

std::string worker_name(const char* program) {
  constexpr std::string_view prefix = "depute-backend-";
  std::string name = std::filesystem::path(program).stem().string();
  return name.starts_with(prefix) ? name.substr(prefix.size()) : name;
}

int serve_backend(int argc, char** argv, const Registry& registry, std::string_view name,
                  const WorkerTraits& traits) {
  if (!platform::fill_standard_streams()) return 1;
  const BackendEntry* entry = registry.find(name);
  if (entry == nullptr) {
    fmt::print(stderr, "there is no backend '{}'\n", name);
    return 2;
  }
  if (argc > 1) return tell(argv[0], *entry, traits, argv[1]);
  platform::set_up_memory();
  platform::ignore_signal(platform::closed_pipe_signal);
  // Answers go to standard output, and all prints to standard error.
  BackendServer server(registry, *entry, traits, platform::take_standard_output().value_or(platform::File()));
  Lines lines;
  for (auto line = lines.next(); line && server.answer(*line);) line = lines.next();
  // Skips destructors: freeing memory piece by piece would only take time.
  std::fflush(nullptr);
  std::_Exit(0);
}

int serve_backend(int argc, char** argv, BackendEntry entry, const WorkerTraits& traits) {
  Registry registry;
  const std::string name = entry.name;
  if (Status added = registry.add(std::move(entry)); !added) {
    fmt::print(stderr, "{}\n", added.error().str());
    return 2;
  }
  return serve_backend(argc, argv, registry, name, traits);
}

}  // namespace depute
