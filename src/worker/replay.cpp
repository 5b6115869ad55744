// Repeats a request that a worker failed at. The folder contains its input and replay.json, with the worker's
// program and the request. It may come from somebody else: only a program that the caller names is run, and no
// file outside the folder is read but models that the caller names.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "depute/compiler/worker.h"
#include "read/read_fields.h"
#include "support/file_place.h"
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

// Collects the files that contain constants and payloads of the program.
void add_files(const Program& program, std::set<std::string>& paths) {
  const auto add = [&](const std::shared_ptr<const Storage>& storage) {
    if (storage != nullptr && storage->file() != nullptr) paths.insert(storage->file()->path());
  };
  for (const auto& [key, data] : program.data) add(data.storage);
  for (const auto& delegate : program.delegates) {
    add(delegate->processed_bytes);
    for (const NamedData& named : delegate->named_data) add(named.storage);
    if (delegate->original != nullptr) add_files(*delegate->original, paths);
  }
}

Result<std::set<std::string>> files_of(Request request) {
  std::set<std::string> paths;
  Status parsed;
  const auto parse = [&](const StoredBytes& place) -> Status {
    std::shared_ptr<const MappedFile> file;
    if (!place.text) {
      TRY(file, MappedFile::open(place.file));
    }
    TRY(const Program program,
        parse_place(place, file ? file->bytes() : std::span<const std::byte>(), torch_ops()));
    add_files(program, paths);
    return {};
  };
  for_each_place(request, [&](const StoredBytes& place) {
    if (parsed) parsed = parse(place);
  });
  if (parsed && request.node) parsed = parse({.text = request.node});
  TRY_STATUS(std::move(parsed));
  return paths;
}

// Fails if the request's programs name files that are neither in the folder nor among the models.
Status check_files(const std::string& folder, const Request& request,
                   const std::vector<std::string>& models) {
  TRY(const std::set<std::string> paths, files_of(request));
  const fs::path whole = place_of_path(folder).path;
  for (const std::string& path : paths) {
    const FilePlace place = place_of_path(path);
    const auto is_place = [&](const std::string& model) { return is_same_file(place_of_path(model), place); };
    if (std::ranges::any_of(models, is_place)) continue;
    if (const fs::path way = fs::path(place.path).lexically_relative(whole);
        !way.empty() && *way.begin() != "..")
      continue;
    return failure("replay", folder, fmt::format("the request needs data of '{}', outside the folder", path),
                   "--model FILE allows the program to read a file");
  }
  return {};
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
                                  const std::vector<std::string>& models, const WorkerOptions& options) {
  return guarded([&]() -> Result<std::string> {
    TRY(const Replay replay, read_replay(folder));
    if (program.empty())
      return failure(
          "replay", folder,
          fmt::format("the request was sent to the program '{}', which is not run unless you name it",
                      replay.program),
          "--backend exec:PATH runs a program that you trust");
    TRY_STATUS(check_files(folder, replay.request, models));
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
