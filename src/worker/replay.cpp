// Repeats a request that a worker failed at. The folder contains its input and replay.json, with the worker's
// program and the request. It may come from somebody else: only a program that the caller names is run, and no
// file is read through a link or ".." out of the folder.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "depute/compiler/worker.h"
#include "read/read_fields.h"
#include "support/guarded.h"
#include "support/mapped_file.h"
#include "support/printable.h"
#include "support/try.h"
#include "worker/worker_connection.h"

namespace depute {
namespace {

namespace fs = std::filesystem;

// Fails if the folder contains anything but files and folders.
Status check_folder(const std::string& folder) {
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    const fs::file_type type = entry->symlink_status(error).type();
    if (type != fs::file_type::regular && type != fs::file_type::directory)
      return failure("replay", entry->path().string(),
                     "expected a file or a folder; links and special files are not read");
  }
  if (error) return failure("replay", folder, error.message());
  return {};
}

// Replaces names relative to the folder by absolute paths.
Status find_files(const std::string& folder, Request& request) {
  Status found;
  for_each_file(request, [&](std::string& name) {
    const fs::path path = name;
    if (path.is_absolute() || std::ranges::find(path, fs::path("..")) != path.end())
      found =
          failure("replay", folder, fmt::format("the request names the file '{}' outside the folder", name));
    name = (fs::absolute(folder) / path).string();
  });
  return found;
}

Result<Replay> read_replay(const std::string& folder) {
  TRY_STATUS(check_folder(folder));
  const std::string path = folder + "/replay.json";
  TRY(const std::shared_ptr<const MappedFile> file, MappedFile::open(path));
  const auto json = JsonDocument::parse({.bytes = file->bytes()}, path, ReadLimits());
  Replay replay;
  if (!json || !read_json(Json(*json), replay))
    return failure("replay", path, "it is not a request to a worker");
  TRY_STATUS(find_files(folder, replay.request));
  return replay;
}

}  // namespace

Result<std::string> replay_worker(const std::string& folder, const std::string& program,
                                  const WorkerOptions& options) {
  return guarded([&]() -> Result<std::string> {
    TRY(const Replay replay, read_replay(folder));
    if (program.empty())
      return failure(
          "replay", folder,
          fmt::format("the request was sent to the program '{}', which is not run unless you name it",
                      replay.program),
          "--backend exec:PATH runs a program that you trust");
    WorkerOptions once = options;
    once.keeps_input = false;
    TRY(const std::unique_ptr<WorkerConnection> worker,
        WorkerConnection::open(fs::absolute(program).string(), once));
    TRY(JsonDocument answer, worker->ask(replay.request));
    std::string text = printable_json(Json(answer).text()) + "\n";
    const auto& partitions = replay.request.partitions;
    for (std::size_t i = 1; partitions && i < partitions->size(); ++i) {
      TRY(answer, worker->next_line());
      text += printable_json(Json(answer).text()) + "\n";
    }
    return text;
  });
}

}  // namespace depute
