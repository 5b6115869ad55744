#include "support/output_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "platform/file_system.h"
#include "platform/parse_number.h"
#include "support/check.h"
#include "support/clean_up.h"
#include "support/try.h"

namespace depute {
namespace {

constexpr int standard_output = 1;

// Number of the open stream that a path names. Its file is written in place, never replaced.
std::optional<int> named_stream(std::string_view path) {
  if (path == "-" || path == "/dev/stdout") return standard_output;
  if (path == "/dev/stderr") return 2;
  for (std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!path.starts_with(folder)) continue;
    path.remove_prefix(folder.size());
    if (const auto number = parse_number<int>(path)) return number;
  }
  return std::nullopt;
}

}  // namespace

bool is_standard_output(std::string_view path) {
  return named_stream(path) == standard_output;
}

struct OutputSet::Entry {
  std::string option;
  std::string path;
  FilePlace place;
  std::optional<int> number;  // of a stream that is already open
  bool is_stream = false;
  bool is_open = false;
  bool is_whole = false;
  std::unique_ptr<OutputFile> file;
  std::vector<std::byte> bytes;  // content of a stream

  // True for /dev/null.
  bool may_be_shared() const { return is_stream && !number && place.kind == platform::FileKind::Device; }
};

namespace {

// Output handed to a writer. The set keeps the bytes; commit() only marks them as complete.
class Member : public Output {
 public:
  Member(Output& output, bool& is_whole) : output_(output), is_whole_(is_whole) {}
  // For a stream: collects its bytes in memory.
  Member(std::unique_ptr<Output> bytes, bool& is_whole)
      : output_(*bytes), is_whole_(is_whole), bytes_(std::move(bytes)) {}

  Status write(std::span<const std::byte> bytes) override { return output_.write(bytes); }
  Status write_from(const MappedFile& source, std::span<const std::byte> bytes) override {
    return output_.write_from(source, bytes);
  }
  Status skip_to(std::uint64_t offset) override { return output_.skip_to(offset); }
  Status write_at(std::uint64_t offset, std::span<const std::byte> bytes) override {
    return output_.write_at(offset, bytes);
  }
  std::uint64_t position() const override { return output_.position(); }
  Status commit() override {
    is_whole_ = true;
    return bytes_ != nullptr ? bytes_->commit() : Status();
  }

 private:
  Output& output_;
  bool& is_whole_;
  std::unique_ptr<Output> bytes_;
};

}  // namespace

OutputSet::OutputSet() = default;
OutputSet::~OutputSet() = default;

namespace {

FilePlace place_of_input(const std::string& path) {
  return path == "-" ? place_of_stream(0) : place_of_path(path);
}

}  // namespace

void OutputSet::add_input(const std::string& path) {
  inputs_.push_back({path, place_of_input(path)});
}

OutputSet::Entry* OutputSet::find(const std::string& path) {
  auto found = std::ranges::find_if(
      entries_, [&](const auto& entry) { return entry->path == path && !entry->is_open; });
  return found == entries_.end() ? nullptr : found->get();
}

Status OutputSet::reserve(const std::string& option, const std::string& path) {
  auto entry = std::make_unique<Entry>();
  entry->option = option;
  entry->path = path;
  entry->number = named_stream(path);
  entry->place = entry->number ? place_of_stream(*entry->number) : place_of_path(path);
  entry->is_stream = entry->number || (entry->place.exists() && !entry->place.is_regular());
  TRY_STATUS(check_inputs(*entry));
  for (const auto& other : entries_) {
    bool is_same = entry->number ? entry->number == other->number : entry->path == other->path;
    if (entry->may_be_shared()) continue;
    if (!is_same && !is_same_file(other->place, entry->place)) continue;
    return failure("usage", option, fmt::format("{} is also the output of {}", path, other->option),
                   "give each output a different name");
  }
  TRY_STATUS(check_place(*entry));
  entries_.push_back(std::move(entry));
  return {};
}

Status OutputSet::add_late_input(const std::string& path) {
  add_input(path);
  for (const auto& entry : entries_) TRY_STATUS(check_inputs(*entry));
  return {};
}

Status OutputSet::check_inputs(const Entry& entry) const {
  for (const Input& input : inputs_) {
    if (!entry.place.is_regular() || !is_same_file(input.place, entry.place)) continue;
    return failure("usage", entry.option, fmt::format("{} is the input {}", entry.path, input.path),
                   "give the output another name");
  }
  return {};
}

Status OutputSet::check_unchanged_inputs() const {
  for (const Input& input : inputs_)
    if (has_changed(input.place, place_of_input(input.path))) return input_changed(input.path);
  return {};
}

// Checks everything that can be known before the file is written.
Status OutputSet::check_place(const Entry& entry) const {
  auto fail = [&](std::string_view message, std::string_view hint = {}) {
    return failure("write", entry.path, message, hint);
  };
  if (entry.number)
    return platform::is_open_for_writing(*entry.number) ? Status() : fail("is not open for writing");
  if (entry.path.empty()) return failure("usage", entry.option, "a file name is needed");
  if (entry.place.is_folder()) return fail("is a directory", "name a file in it");
  if (entry.path.ends_with('/')) return fail("names a directory, not a file");
  std::error_code error = entry.place.exists() ? platform::check_writable(entry.path) : std::error_code();
  if (error) return fail(error.message());
  if (entry.is_stream) return {};
  std::error_code ignored;
  if (!entry.place.exists() && std::filesystem::is_symlink(entry.path, ignored))
    return fail("is a symbolic link to a file that does not exist", "remove the link, or create its target");
  const std::string folder = std::filesystem::path(entry.place.path).parent_path().string();
  if (!place_of_path(folder).is_folder()) return fail(fmt::format("the folder {} does not exist", folder));
  error = platform::check_room_for_files(folder);
  return error ? fail(fmt::format("cannot create files in {}: {}", folder, error.message())) : Status();
}

Result<std::unique_ptr<Output>> OutputSet::open(const std::string& path) {
  Entry* entry = find(path);
  if (entry == nullptr) {
    TRY_STATUS(reserve("the program's data", path));
    entry = find(path);
  }
  entry->is_open = true;
  if (entry->is_stream) {
    return std::make_unique<Member>(std::make_unique<OutputBytes>(entry->bytes), entry->is_whole);
  }
  TRY(OutputFile file, OutputFile::create(path, entry->place));
  entry->file = std::make_unique<OutputFile>(std::move(file));
  return std::make_unique<Member>(*entry->file, entry->is_whole);
}

Status OutputSet::write(const std::string& path, std::string_view text) {
  TRY(std::unique_ptr<Output> output, open(path));
  TRY_STATUS(output->write(std::as_bytes(std::span(text))));
  return output->commit();
}

Result<std::shared_ptr<const MappedFile>> OutputSet::written(const std::string& path) const {
  const auto found = std::ranges::find_if(
      entries_, [&](const auto& entry) { return entry->path == path && entry->is_whole; });
  CHECK(found != entries_.end()) << path << " is not whole";
  const Entry& entry = **found;
  if (entry.file != nullptr) return entry.file->written();
  return MappedFile::in_memory(entry.bytes, nullptr, path);
}

void OutputSet::drop_written() {
  std::erase_if(entries_, [](const auto& entry) { return entry->is_open; });
}

Status OutputSet::put_in_place() {
  for (const auto& entry : entries_) {
    CHECK(entry->is_whole || entry->file == nullptr) << entry->path << " is not whole";
    if (entry->file != nullptr) TRY_STATUS(entry->file->finish());
  }
  TRY_STATUS(check_unchanged_inputs());
  TRY_STATUS(write_streams());
  return put_files_in_place();
}

Status OutputSet::write_streams() {
  for (const auto& entry : entries_) {
    if (!entry->is_stream || !entry->is_whole) continue;
    const auto stream = entry->number ? platform::File::of_stream(*entry->number)
                                      : platform::File::open_to_write(entry->path);
    const std::error_code error = stream ? stream->write(entry->bytes) : stream.error();
    if (error) return failure("write", entry->path, error.message());
  }
  return {};
}

Status OutputSet::put_files_in_place() {
  std::vector<OutputFile*> files;
  for (const auto& entry : entries_) {
    if (entry->file != nullptr) files.push_back(entry->file.get());
  }
  const auto held = delay_signals();  // all files appear, or none
  for (std::size_t i = 0; i < files.size(); ++i) {
    Status placed = i + 1 < files.size() ? files[i]->swap_in() : files[i]->replace();
    if (placed) continue;
    while (i > 0) {
      if (Status undone = files[--i]->undo_swap(); !undone)
        placed.error().details.push_back(undone.error().str());
    }
    return placed;
  }
  Status synced;
  for (const OutputFile* file : files)
    if (Status each = file->sync_name(); !each) synced = std::move(each);
  entries_.clear();  // also removes the previous files
  return synced;
}

}  // namespace depute
