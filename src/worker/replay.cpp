// Repeats a request that a worker failed at. The folder contains its input and replay.json, with the worker's
// program and the request.
#include <fmt/format.h>

#include "depute/compiler/worker.h"
#include "read/read_fields.h"
#include "support/guarded.h"
#include "support/mapped_file.h"
#include "support/try.h"
#include "worker/worker_connection.h"

namespace depute {
namespace {

Result<Replay> read_replay(const std::string& folder) {
  const std::string path = folder + "/replay.json";
  TRY(const std::shared_ptr<const MappedFile> file, MappedFile::open(path));
  const auto json = JsonDocument::parse({.bytes = file->bytes()}, path, ReadLimits());
  Replay replay;
  if (!json || !read_json(Json(*json), replay))
    return failure("replay", path, "it is not a request to a worker");
  return replay;
}

}  // namespace

Result<std::string> replay_worker(const std::string& folder, const WorkerOptions& options) {
  return guarded([&]() -> Result<std::string> {
    TRY(const Replay replay, read_replay(folder));
    WorkerOptions once = options;
    once.keeps_input = false;
    TRY(const std::unique_ptr<WorkerConnection> worker, WorkerConnection::open(replay.program, once));
    TRY(JsonDocument answer, worker->ask(replay.request));
    std::string text = Json(answer).text() + "\n";
    const auto& partitions = replay.request.partitions;
    for (std::size_t i = 1; partitions && i < partitions->size(); ++i) {
      TRY(answer, worker->next_line());
      text += Json(answer).text() + "\n";
    }
    return text;
  });
}

}  // namespace depute
