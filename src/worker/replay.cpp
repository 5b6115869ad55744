// Repeats a request that a worker failed at. The folder contains its input and replay.json, with the worker's
// program and the request.
#include <fmt/format.h>

#include "depute/compiler/worker.h"
#include "support/guarded.h"
#include "support/mapped_file.h"
#include "support/try.h"
#include "worker/worker_connection.h"

namespace depute {
namespace {

struct Replay {
  std::string program;
  Message request;
};

Result<Replay> read_replay(const std::string& folder) {
  const std::string path = folder + "/replay.json";
  TRY(const std::shared_ptr<const MappedFile> file, MappedFile::open(path));
  const auto text = file->bytes();
  const char* first = reinterpret_cast<const char*>(text.data());
  const Message json = Message::parse(first, first + text.size(), nullptr, false);
  const bool is_sound = json.is_object() && json.contains("program") && json.at("program").is_string() &&
                        json.contains("request") && json.at("request").is_object();
  if (!is_sound) return failure("replay", path, "it is not a request to a worker");
  return Replay{json.at("program").get<std::string>(), json.at("request")};
}

}  // namespace

Result<std::string> replay_worker(const std::string& folder, const WorkerOptions& options) {
  return guarded([&]() -> Result<std::string> {
    TRY(const Replay replay, read_replay(folder));
    WorkerOptions once = options;
    once.keeps_input = false;
    TRY(const std::unique_ptr<WorkerConnection> worker, WorkerConnection::open(replay.program, once));
    TRY(Message answer, worker->ask(replay.request));
    std::string text = answer.dump() + "\n";
    const std::size_t partitions = replay.request.value("partitions", Message::array()).size();
    for (std::size_t i = 1; i < partitions; ++i) {
      TRY(answer, worker->next_line());
      text += answer.dump() + "\n";
    }
    return text;
  });
}

}  // namespace depute
