#include "worker/worker_connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <unordered_map>

#include "depute/program/data.h"
#include "depute/program/result.h"
#include "depute/program/text.h"
#include "ir/text/compact.h"
#include "lower/result_json.h"
#include "platform/file_system.h"
#include "read/read_fields.h"
#include "support/file_place.h"
#include "support/guarded.h"
#include "support/mapped_file.h"
#include "support/output_file.h"
#include "support/try.h"
#include "worker/answer_limits.h"

namespace depute {
namespace {

namespace fs = std::filesystem;

// Maximum size in bytes of constants that are written in the program's text.
constexpr std::size_t max_spelled_bytes = 64;
constexpr std::size_t data_alignment = 64;
// Maximum size in bytes of programs that are part of the request.
constexpr std::size_t max_told_bytes = 16384;
// Results up to this size in bytes are read; larger ones are mapped.
constexpr std::size_t max_read_bytes = 65536;

// True if the path still leads to the file that was opened.
bool is_still_there(const MappedFile& file) {
  const FilePlace opened{file.file().info().value_or(platform::FileInfo()), {}};
  return opened.exists() && is_same_file(place_of_path(file.path()), opened);
}

// Finds the file position of data, and writes data that are in no file.
class DataFolder {
 public:
  explicit DataFolder(std::string path) : path_(std::move(path)) {}

  std::optional<DataPlace> place(const Storage& storage) {
    if (auto place = place_in_file(storage)) {
      if (const std::string& path = path_of(*storage.file()); !path.empty()) {
        place->path = path;
        return place;
      }
    }
    if (!status_) return std::nullopt;
    Result<DataPlace> written = write(storage);
    if (written) return *written;
    status_ = Failure(written.error());
    return std::nullopt;
  }

  // Returns whether any data were written.
  Result<bool> finish() {
    TRY_STATUS(std::move(status_));
    if (out_) TRY_STATUS(out_->commit());
    return out_.has_value();
  }

 private:
  // Returns the absolute path, or "" if the file no longer exists. Each file is looked up once.
  const std::string& path_of(const MappedFile& file) {
    auto [found, is_new] = paths_.try_emplace(&file);
    if (is_new && is_still_there(file)) found->second = fs::absolute(file.path()).string();
    return found->second;
  }

  Result<DataPlace> write(const Storage& storage) {
    if (!out_) {
      TRY(OutputFile out, OutputFile::create(path_));
      out_.emplace(std::move(out));
    }
    const std::uint64_t offset = (out_->position() + data_alignment - 1) / data_alignment * data_alignment;
    TRY_STATUS(out_->skip_to(offset));
    TRY_STATUS(with_bytes(storage, [&](std::span<const std::byte> bytes) { return out_->write(bytes); }));
    return DataPlace{.path = path_, .offset = offset, .size = storage.size()};
  }

  std::string path_;
  std::unordered_map<const MappedFile*, std::string> paths_;
  std::optional<OutputFile> out_;
  Status status_;
};

Status write_text_file(const std::string& path, std::string_view text) {
  TRY(OutputFile out, OutputFile::create(path));
  TRY_STATUS(out.write(std::as_bytes(std::span(text))));
  return out.commit();
}

}  // namespace

Result<std::unique_ptr<WorkerConnection>> WorkerConnection::open(const std::string& program,
                                                                 const WorkerOptions& options) {
  TRY(TemporaryFolder folder, TemporaryFolder::create("depute-worker"));
  std::unique_ptr<WorkerConnection> made(new WorkerConnection(std::move(folder), program, options));
  const WorkerFolders folders = {.whole = made->folder_.path(), .work = made->folder_.path() + "/work"};
  for (const std::string& inner : {folders.work, folders.whole + "/in"}) {
    if (const auto error = platform::create_private_folder(inner))
      return failure("write", inner, error.message());
  }
  made->work_ = platform::File::open_folder(folders.work).value_or(platform::File());
  TRY(made->process_, WorkerProcess::start(program, folders, options));
  TRY(made->description_, made->describe(false));
  return made;
}

WorkerConnection::~WorkerConnection() {
  process_.reset();  // must end before its folder is removed
  close_result();
}

Result<WorkerDescription> WorkerConnection::describe(bool with_support) {
  TRY(const JsonDocument answer,
      ask({.call = "describe", .protocol = worker_protocol, .support = with_support}));
  WorkerDescription description;
  const Status read = read_json(Json(answer), description);
  // Another version may have other members.
  if (description.protocol != 0 && description.protocol != worker_protocol)
    return fail(WorkerFault::Version, fmt::format("it uses protocol {}, but this compiler uses {}",
                                                  description.protocol, worker_protocol));
  TRY_STATUS(checked(read));
  if (description.id.empty()) return fail(WorkerFault::BadAnswer, "its id is empty");
  return description;
}

Result<std::vector<SupportRow>> WorkerConnection::support() {
  TRY(WorkerDescription description, describe(true));
  return std::move(description.support);
}

Result<StoredBytes> WorkerConnection::program_place(const Program& program) {
  has_input_ = true;
  const std::string stem = fmt::format("{}/in/{}", folder_.path(), ++inputs_);
  DataFolder data(stem + ".bin");
  const PrintOptions options = {.max_inline_bytes = max_spelled_bytes,
                                .place_of_data = [&](const Storage& storage) { return data.place(storage); }};
  const std::string text =
      description_.reads_compact() ? print_compact(program, options) : print(program, options);
  TRY(const bool has_data, data.finish());
  if (has_data) written_.push_back(stem + ".bin");
  if (description_.reads_compact()) return compact_place(text);
  if (text.size() <= max_told_bytes) return StoredBytes{.text = text};
  written_.push_back(stem + ".ir");
  TRY_STATUS(write_text_file(stem + ".ir", text));
  return StoredBytes{.file = stem + ".ir"};
}

// All programs of one request are in one file.
Result<StoredBytes> WorkerConnection::compact_place(std::string_view compact) {
  if (!programs_) {
    programs_path_ = fmt::format("{}/in/{}.programs", folder_.path(), inputs_);
    TRY(OutputFile out, OutputFile::create(programs_path_));
    programs_.emplace(std::move(out));
    written_.push_back(programs_path_);
  }
  const StoredBytes place = {.file = programs_path_,
                             .form = std::string(compact_form),
                             .at = programs_->position(),
                             .size = compact.size()};
  TRY_STATUS(programs_->write(std::as_bytes(std::span(compact))));
  return place;
}

Status WorkerConnection::close_programs() {
  if (!programs_) return {};
  const Status closed = programs_->commit();
  programs_.reset();
  return closed;
}

void WorkerConnection::forget_input() {
  programs_.reset();
  std::error_code ignored;
  for (const std::string& path : written_) fs::remove(path, ignored);
  written_.clear();
  has_input_ = false;
  close_result();
}

Result<JsonDocument> WorkerConnection::ask(const Request& request) {
  request_ = request;
  TRY_STATUS(close_programs());
  return read(process_->ask(message_line(write_json(request))));
}

Result<JsonDocument> WorkerConnection::next_line() {
  return read(process_->next_line());
}

Result<bool> WorkerConnection::is_refused(const Request& request) {
  TRY(const std::string line, process_->ask(message_line(write_json(request))));
  if (!check_answer_size(line)) return false;
  const auto answer = parse_message(line);
  return answer && !Json(*answer).optional_field("error")->is_null();
}

Result<JsonDocument> WorkerConnection::read(Result<std::string> line) {
  if (!line) return keep_input(Failure(line.error()));
  if (const Status size = check_answer_size(*line); !size)
    return fail(WorkerFault::TooLarge, size.error().message);
  Result<JsonDocument> answer = parse_message(*line);
  if (!answer)
    return fail(WorkerFault::BadAnswer,
                fmt::format("its answer is not a JSON object: '{}'", printable(line->substr(0, 80))));
  const Json root(*answer);
  TRY(const Json error, root.optional_field("error"));
  if (error.is_null()) return answer;
  Diagnostic told{.code = "worker"};
  TRY_STATUS(checked(error.is_string() ? read_json(error, told.message) : read_json(error, told)));
  for (std::string* text : {&told.message, &told.where, &told.hint, &told.source})
    text->resize(std::min(text->size(), max_error_bytes));
  if (told.code == "usage") return Failure(std::move(told));
  Failure refused = fail(WorkerFault::Refused, told.message);
  if (!told.where.empty()) refused.error().where += ": " + told.where;
  refused.error().hint = told.hint;
  refused.error().source = told.source;
  return refused;
}

Failure WorkerConnection::bad_answer(const Diagnostic& fault) {
  return fail(WorkerFault::BadAnswer, fmt::format("its answer to '{}' is invalid: {}{}{}", request_.call,
                                                  printable(fault.where), fault.where.empty() ? "" : ": ",
                                                  printable(fault.message.substr(0, max_error_bytes))));
}

Failure WorkerConnection::fail(WorkerFault fault, std::string message) {
  return keep_input(process_->fail(fault, std::move(message)));
}

// Keeps the input of the failed call, if it had one, and removes all other files.
Failure WorkerConnection::keep_input(Failure failure) {
  if (!options_.keeps_input || !has_input_ || !folder_.is_in_place()) return failure;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder_.path(), error)) {
    if (entry.path().filename() != "in") remove_folder(entry.path().string());
  }
  Replay kept{program_, request_};
  for_each_file(kept.request, [&](std::string& path) { path.erase(0, folder_.path().size() + 1); });
  const std::string replay = json_document(kept);
  if (!write_text_file(folder_.path() + "/replay.json", replay)) return failure;
  failure.error().details.push_back(
      fmt::format("its input is kept: depute replay {} --backend exec:{}", folder_.path(), program_));
  kept_folder_ = folder_.release();
  return failure;
}

void WorkerConnection::close_result() {
  result_file_ = {};
  result_name_.clear();
  result_.reset();
}

// Rejects links, directories and pipes: the file must be a regular file in the worker's directory. It may
// have grown since the last answer.
Status WorkerConnection::open_result(const std::string& name) {
  if (name.empty() || name.find('/') != name.npos || name.find('\0') != name.npos)
    return failure("file", printable(name), "it is not the name of a file in the worker's folder");
  auto file = platform::File::open_in(work_, name);
  const bool is_gone = !file && file.error() == std::errc::no_such_file_or_directory;
  // The name is gone since the first answer with it. A file that has it again is another one.
  if (is_gone && name == result_name_ && result_file_.is_open()) return {};
  if (!file) return failure("file", printable(name), file.error().message());
  const auto info = file->info();
  if (!info || !info->is_regular() || info->links > 1)
    return failure("file", printable(name), "it is not a regular file in that folder");
  close_result();
  result_file_ = std::move(*file);
  result_name_ = name;
  platform::remove_in(work_, name);  // the open file keeps the bytes alive
  return {};
}

// Small results are read, larger ones mapped.
Result<std::shared_ptr<const Storage>> WorkerConnection::result_bytes(std::size_t at, std::size_t size) {
  if (size <= max_read_bytes) {
    std::vector<std::byte> made(size);
    if (result_file_.read_at(at, made)) return failure("file", printable(result_name_), "it cannot be read");
    return Storage::owned(std::move(made));
  }
  if (result_ == nullptr || result_->bytes().size() < at + size) {
    auto copy = result_file_.duplicate();
    if (!copy) return failure("open", result_name_, copy.error().message());
    TRY(result_, MappedFile::take(std::move(*copy), result_name_));
  }
  return Storage::mapped(result_, result_->bytes().subspan(at, size));
}

Result<std::shared_ptr<const Storage>> WorkerConnection::bytes(const StoredBytes& place) {
  if (place.text) return storage_of(*place.text);
  if (place.hex) {
    TRY(auto made, bytes_of_hex(*place.hex));
    return Storage::owned(std::move(made));
  }
  TRY_STATUS(open_result(place.file));
  const auto info = result_file_.info();
  if (!info) return failure("file", printable(result_name_), info.error().message());
  const std::uint64_t all = info->size;
  const auto at = place.at.value_or(0);
  const auto size = place.size.value_or(all);
  if (at > all || size > all - at)
    return failure("file", printable(result_name_),
                   fmt::format("it has {} bytes, but {} from {} are referenced", all, size, at));
  return result_bytes(at, size);
}

}  // namespace depute
