#include "write/write_pte.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <filesystem>
#include <map>
#include <ranges>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "depute/backend/backend.h"
#include "depute/program/program.h"
#include "ir/content.h"
#include "ir/verify.h"
#include "plan/data_file.h"
#include "program_generated.h"
#include "support/guarded.h"
#include "support/mapped_file.h"
#include "support/output_file.h"
#include "support/try.h"
#include "write/blobs.h"
#include "write/program_flatbuffer.h"
#include "write/segments.h"
#include "write/write_ptd.h"

namespace depute {
namespace {

// Constants of at least this size (bytes) are aligned like a segment, so that data of a backend can share
// them.
constexpr std::uint64_t large_constant = 4096;

constexpr std::size_t pte_header = 32;

// The bytes behind the flatbuffer, in order: constants and initial values (one segment each), then blobs of
// delegates and named data (a segment for each).
struct Segments {
  std::vector<Blob> blobs;
  std::size_t constant_count = 0;
  std::size_t initial_count = 0;
  SegmentLayout layout;
};

Blob constant_blob(const TensorData& constant, std::uint64_t least_alignment = constant_alignment) {
  bool is_large = constant.byte_size() >= large_constant;
  return tensor_blob(constant,
                     std::max(is_large ? default_segment_alignment : constant_alignment, least_alignment));
}

// Numbers inline blobs; equal ones are stored once.
class InlineBlobs {
 public:
  explicit InlineBlobs(SegmentLayout& layout) : layout_(layout) {}
  std::uint32_t add(const std::shared_ptr<const Storage>& storage) {
    auto next = static_cast<std::uint32_t>(layout_.inline_blobs.size());
    if (storage == nullptr || storage->size() == 0) {
      layout_.inline_blobs.push_back(nullptr);
      return next;
    }
    const auto is_same = [&](std::uint32_t earlier) {
      return have_same_bytes(*layout_.inline_blobs[earlier], *storage);
    };
    const auto earlier = numbers_.find_or_add(content_hash(*storage), next, is_same);
    if (!earlier) layout_.inline_blobs.push_back(storage);
    return earlier.value_or(next);
  }

 private:
  SegmentLayout& layout_;
  EqualItems<std::uint32_t> numbers_;
};

void add_delegates(const Program& program, const Plan& plan, const WriteOptions& options,
                   Segments& segments) {
  SegmentLayout& layout = segments.layout;
  std::vector<bool> is_used(program.delegates.size(), false);
  for (const ExecutionPlan& method : plan.methods) {
    for (const PlanDelegate& delegate : method.delegates) is_used[delegate.index] = true;
  }
  layout.delegates.resize(program.delegates.size());
  layout.inline_alignment = std::max(options.delegate_alignment, constant_alignment);
  InlineBlobs inline_blobs(layout);
  for (std::size_t i = 0; i < program.delegates.size(); ++i) {
    if (!is_used[i]) continue;
    const auto& storage = program.delegates[i]->processed_bytes;
    const bool is_inline = program.delegates[i]->inline_bytes || !options.extract_delegate_segments;
    if (is_inline || storage == nullptr || storage->size() == 0) {
      layout.delegates[i] = {true, inline_blobs.add(storage)};
      continue;
    }
    layout.delegates[i] = {false, layout.segment_count++};
    segments.blobs.push_back(
        {storage, 0, storage->size(), std::max(options.segment_alignment, options.delegate_alignment)});
  }
}

void add_named_data(std::span<const NamedData> named, const WriteOptions& options, Segments& segments) {
  for (const NamedData& data : named) {
    std::uint64_t alignment = std::max<std::uint64_t>(data.alignment, options.segment_alignment);
    segments.blobs.push_back({data.storage, 0, data.storage->size(), alignment});
    segments.layout.named_data.push_back({data.key, segments.layout.segment_count++});
  }
}

// Adds tensors to a segment. The runtime loads no constants, not even empty ones, from an empty segment, so
// an empty one gets a few bytes.
void add_tensors(std::span<const TensorData> tensors, std::uint64_t alignment, std::vector<Blob>& blobs) {
  bool has_bytes = false;
  std::size_t first = blobs.size();
  for (const TensorData& tensor : tensors) {
    blobs.push_back(constant_blob(tensor, alignment));
    has_bytes = has_bytes || tensor.byte_size() > 0;
  }
  if (has_bytes || tensors.empty()) return;
  blobs[first] = {Storage::zeros(constant_alignment), 0, constant_alignment, alignment};
}

Segments collect_segments(const Program& program, const Plan& plan, std::span<const NamedData> named,
                          const WriteOptions& options) {
  Segments segments;
  add_tensors(plan.constants, options.constant_alignment, segments.blobs);
  add_tensors(plan.initial_values, constant_alignment, segments.blobs);
  segments.constant_count = plan.constants.size();
  segments.initial_count = plan.initial_values.size();
  if (segments.initial_count > 0) segments.layout.state_segment = segments.layout.segment_count++;
  add_delegates(program, plan, options, segments);
  add_named_data(named, options, segments);
  return segments;
}

// The range of the file that covers some blobs.
struct Extent {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

// Writes the offsets of tensors into the table of their segment. A segment also covers bytes that its tensors
// share with other parts of the file.
Extent set_tensors(et12::SubsegmentOffsets& table, std::span<const Blob> blobs,
                   std::span<const std::uint64_t> positions, Extent extent) {
  for (std::size_t i = 0; i < blobs.size(); ++i) {
    if (blobs[i].size == 0) continue;
    extent.begin = std::min(extent.begin, positions[i]);
    extent.end = std::max(extent.end, positions[i] + blobs[i].size);
  }
  for (std::size_t i = 0; i < blobs.size(); ++i) {
    if (blobs[i].size == 0) continue;
    table.mutable_offsets()->Mutate(static_cast<flatbuffers::uoffset_t>(i + 1), positions[i] - extent.begin);
  }
  return extent;
}

// Writes the offsets of all segments into the flatbuffer; returns the size of the constant segment.
std::uint64_t set_offsets(std::span<std::uint8_t> flatbuffer, const Segments& segments,
                          std::span<const std::uint64_t> positions, std::uint64_t base) {
  et12::Program* program = et12::GetMutableProgram(flatbuffer.data());
  auto* table = program->mutable_segments();
  auto set = [&](std::size_t segment, const Extent& extent) {
    auto* entry = table->GetMutableObject(static_cast<flatbuffers::uoffset_t>(segment));
    entry->mutate_offset(extent.end > extent.begin ? extent.begin - base : 0);
    entry->mutate_size(extent.end - extent.begin);
  };
  const std::span<const Blob> blobs = segments.blobs;
  const std::size_t tensors = segments.constant_count + segments.initial_count;
  Extent constants = set_tensors(*program->mutable_constant_segment(), blobs.first(segments.constant_count),
                                 positions, {base, base});
  set(0, constants);
  if (segments.layout.state_segment != 0) {
    set(segments.layout.state_segment,
        set_tensors(*program->mutable_mutable_data_segments()->GetMutableObject(0),
                    blobs.subspan(segments.constant_count, segments.initial_count),
                    positions.subspan(segments.constant_count), {positions[segments.constant_count], 0}));
  }
  std::size_t segment = segments.layout.state_segment + 1;
  for (std::size_t i = tensors; i < blobs.size(); ++i, ++segment) {
    set(segment, blobs[i].size > 0 ? Extent{positions[i], positions[i] + blobs[i].size} : Extent{});
  }
  return constants.end - constants.begin;
}

// Returns the first bytes of the file: the flatbuffer's own 8, whose root offset now counts past the header,
// and the header. The header takes `room` bytes, which keeps the flatbuffer's alignment in the file.
std::vector<std::byte> file_start(std::span<const std::uint8_t> flatbuffer, std::size_t room,
                                  std::uint64_t base, std::uint64_t data_size) {
  std::vector<std::byte> start(header_position + room);
  std::memcpy(start.data(), flatbuffer.data(), header_position);
  std::uint32_t root = 0;
  std::memcpy(&root, flatbuffer.data(), sizeof root);
  put<std::uint32_t>(start, 0, static_cast<std::uint32_t>(root + room));
  std::memcpy(start.data() + 8, "eh00", 4);
  put<std::uint32_t>(start, 12, pte_header);
  put<std::uint64_t>(start, 16, flatbuffer.size() + room);
  put<std::uint64_t>(start, 24, data_size == 0 ? 0 : base);
  put<std::uint64_t>(start, 32, data_size);
  return start;
}

// Warns about a correct program that loads only without verification, which the C++ runtime does on request
// only, and about one that needs memory of the application before it runs.
std::vector<std::string> warnings_of(const Plan& plan, const SegmentLayout& layout,
                                     const WriteOptions& options) {
  std::vector<std::string> warnings;
  std::uint64_t tables = count_tables(plan, layout);
  if (tables > max_verified_tables)
    warnings.push_back(
        fmt::format("the program has {} tables, and the runtime verifies {} at most: load it with "
                    "Verification.Minimal, which is the default in C++ but not in Python",
                    tables, max_verified_tables));
  if (!options.alloc_state)
    warnings.emplace_back(
        "the application has to give memory to buffers that are kept between calls; without it, a "
        "call ends the process");
  return warnings;
}

Status check_alignment(std::string_view option, std::uint64_t alignment) {
  if (is_alignment(alignment)) return {};
  return failure("write_pte", option,
                 fmt::format("{} is not a power of two from 1 to {}", alignment, max_alignment));
}

// Distributes data: the named data of the .pte, and the entries of each .ptd file.
struct Distribution {
  std::vector<NamedData> own;
  std::map<std::string, std::vector<PtdEntry>> files;  // by path
};

// Returns the layout for a .ptd file; to_backend() has checked that the runtime supports it.
std::optional<PlanTensor> layout_of(const NamedData& data) {
  if (!data.layout) return std::nullopt;
  PlanTensor tensor{.scalar_type = *executorch_number(data.layout->dtype)};
  for (const SymInt& size : data.layout->sizes)
    tensor.sizes.push_back(static_cast<std::int32_t>(size.value()));
  const auto order = dim_order(*data.layout);
  tensor.dim_order.assign(order->begin(), order->end());
  return tensor;
}

// Merges data of a delegate into the constant with the same name, which must have the same bytes.
Status add_to_constant(PtdEntry& constant, const NamedData& data, const std::string& owner) {
  if (!have_same_bytes(constant.blob, {data.storage, 0, data.storage->size()})) {
    return failure(
        "write_pte", owner,
        fmt::format("its named data \"{}\" differs from the constant with the same name", data.key),
        "backends must derive each key from the bytes");
  }
  constant.blob.alignment = std::max<std::uint64_t>(constant.blob.alignment, data.alignment);
  return {};
}

Result<Distribution> distribute(const Program& program, const Plan& plan, const std::string& path,
                                const WriteOptions& options) {
  Distribution result;
  std::unordered_map<std::string_view, std::pair<std::vector<PtdEntry>*, std::size_t>> constants;
  for (const ExternalConstant& constant : plan.external) {
    if (constant.file >= options.ptd.size())
      return failure("write_pte", path,
                     "the plan has external constants, but no .ptd file is given for them");
    std::vector<PtdEntry>& entries = result.files[options.ptd[constant.file].path];
    constants.emplace(constant.tensor.name, std::pair(&entries, entries.size()));
    entries.push_back(
        {constant.tensor.name, constant_blob(constant.data, options.constant_alignment), constant.tensor});
  }
  const DataFile* rest = file_of_rest(options.ptd);
  const std::string& stem = rest == nullptr ? path : rest->path;
  TRY(NamedDataStore named, merge_named_data(program));
  for (std::size_t i = 0; i < named.entries().size(); ++i) {
    const NamedData& data = named.entries()[i];
    auto constant = constants.find(data.key);
    if (constant != constants.end()) {
      const auto& [entries, number] = constant->second;
      TRY_STATUS(add_to_constant((*entries)[number], data, named.owner(i)));
      continue;
    }
    const std::optional<std::size_t> matched = find_file(options.ptd, data.key);
    if (data.external_tag.empty() && !matched) {
      result.own.push_back(data);
      continue;
    }
    const std::string file =
        data.external_tag.empty() ? options.ptd[*matched].path : external_path(stem, data.external_tag);
    std::uint64_t alignment = std::max<std::uint64_t>(data.alignment, options.segment_alignment);
    PtdEntry entry{.key = data.key, .blob = {}, .layout = layout_of(data)};
    entry.blob = {data.storage, 0, data.storage->size(), alignment};
    result.files[file].push_back(std::move(entry));
  }
  return result;
}

// Splits files that have a limit.
Result<std::map<std::string, std::vector<PtdEntry>>> split_files(
    std::map<std::string, std::vector<PtdEntry>> files, const WriteOptions& options) {
  std::map<std::string, std::uint64_t> limits;
  for (const DataFile& file : options.ptd) {
    if (file.max_bytes == 0) continue;
    auto [limit, is_new] = limits.try_emplace(file.path, file.max_bytes);
    limit->second = std::min(limit->second, file.max_bytes);
  }
  for (const auto& [path, max_bytes] : limits) {
    const auto whole = files.find(path);
    if (whole == files.end()) continue;
    TRY(std::vector<std::vector<PtdEntry>> parts,
        split_ptd(std::move(whole->second), max_bytes, options.segment_alignment, path));
    whole->second = std::move(parts[0]);
    for (std::size_t i = 1; i < parts.size(); ++i) {
      std::string name = external_path(path, std::to_string(i + 1));
      if (!files.try_emplace(name, std::move(parts[i])).second)
        return failure("write_ptd", name,
                       fmt::format("{} is split, and part {} of it has this name", path, i + 1),
                       "give one of them another name");
    }
  }
  return files;
}

}  // namespace

std::string external_path(const std::string& path, const std::string& tag) {
  std::filesystem::path file(path);
  return (file.parent_path() / fmt::format("{}_{}.ptd", file.stem().string(), tag)).generic_string();
}

namespace {

bool has_elided_named_data(const Delegate& delegate) {
  const auto is_elided = [](const NamedData& named) { return named.storage->is_elided(); };
  return std::ranges::any_of(delegate.named_data, is_elided) ||
         (delegate.original != nullptr &&
          std::ranges::any_of(delegate.original->delegates,
                              [](const auto& nested) { return has_elided_named_data(*nested); }));
}

// ToBackendOptions::without_payloads makes delegates without a payload, and the text form may leave out
// bytes, also of the named data of delegates inside of others.
Status check_payloads(const Program& program) {
  for (const auto& delegate : program.delegates) {
    const std::string place = fmt::format("delegate {}", delegate->name.str());
    if (delegate->processed_bytes == nullptr)
      return failure("write_pte", place, "it has no payload", "lower the program without without_payloads");
    if (delegate->processed_bytes->is_elided() || has_elided_named_data(*delegate)) {
      return failure("write_pte", place, "the program text omits bytes of its payload",
                     "print the program with `depute show --data`");
    }
  }
  return {};
}

void add_files(const Program& program, std::unordered_set<const MappedFile*>& files) {
  for (const auto& [key, data] : program.data)
    if (data.storage->file() != nullptr) files.insert(data.storage->file());
  for (const auto& delegate : program.delegates)
    if (delegate->original != nullptr) add_files(*delegate->original, files);
}

// A file with weights may have been written while its bytes were copied, or packed by a backend.
Status check_unchanged_files(const Program& program) {
  std::unordered_set<const MappedFile*> files;
  add_files(program, files);
  for (const MappedFile* file : files)
    if (file->has_changed()) return input_changed(file->path());
  return {};
}

// The .ptd files of all programs. In one file a key has the same bytes for all of them.
class SharedFiles {
 public:
  // Keys of which another program has something else.
  std::vector<std::string> taken(const std::map<std::string, std::vector<PtdEntry>>& files) const {
    std::vector<std::string> keys;
    for (const auto& [path, entries] : files) {
      for (const PtdEntry& entry : entries) {
        const PtdEntry* other = find(path, entry.key);
        if (other != nullptr && !is_same(*other, entry)) keys.push_back(entry.key);
      }
    }
    return keys;
  }

  void add(std::map<std::string, std::vector<PtdEntry>> files) {
    for (auto& [path, entries] : files) {
      for (PtdEntry& entry : entries) add(path, std::move(entry));
    }
  }

  std::map<std::string, std::vector<PtdEntry>> take() && { return std::move(files_); }

 private:
  static bool is_same(const PtdEntry& a, const PtdEntry& b) {
    return (!a.layout || !b.layout || a.layout->has_layout_of(*b.layout)) && have_same_bytes(a.blob, b.blob);
  }

  const PtdEntry* find(const std::string& path, const std::string& key) const {
    const auto place = places_.find({path, key});
    return place == places_.end() ? nullptr : &files_.at(path)[place->second];
  }

  void add(const std::string& path, PtdEntry entry) {
    std::vector<PtdEntry>& entries = files_[path];
    const auto [place, is_new] = places_.try_emplace({path, entry.key}, entries.size());
    if (is_new) {
      entries.push_back(std::move(entry));
      return;
    }
    PtdEntry& other = entries[place->second];
    other.blob.alignment = std::max(other.blob.alignment, entry.blob.alignment);
    if (!other.layout) other.layout = std::move(entry.layout);
  }

  std::map<std::string, std::vector<PtdEntry>> files_;
  std::map<std::pair<std::string, std::string>, std::size_t> places_;  // by path and key
};

// Writes programs that share their .ptd files.
class ProgramWriter {
 public:
  ProgramWriter(const OpenOutput& open, std::span<const ProgramToWrite> programs)
      : open_(open), programs_(programs) {}

  Result<std::vector<WriteSummary>> run() {
    for (const ProgramToWrite& program : programs_) TRY_STATUS(distribute(program));
    TRY(files_, split_files(std::move(shared_).take(), programs_.front().options));
    for (std::size_t i = 0; i < programs_.size(); ++i) TRY_STATUS(write_program(i));
    TRY_STATUS(write_data());
    for (const ProgramToWrite& program : programs_) TRY_STATUS(check_unchanged_files(program.program));
    // All files are complete before the first one is committed. Data come first: a program that is there finds its data.
    for (const auto& output : outputs_ | std::views::reverse) TRY_STATUS(output->commit());
    return std::move(summaries_);
  }

 private:
  // Constants with a name that another program uses for something else get another name, in a plan of their own.
  Status distribute(const ProgramToWrite& program) {
    plans_.push_back(&program.plan);
    while (true) {
      TRY(Distribution distribution,
          depute::distribute(program.program, *plans_.back(), program.path, program.options));
      const std::vector<std::string> taken = shared_.taken(distribution.files);
      if (taken.empty()) {
        keys_.emplace_back();
        for (const auto& [path, entries] : distribution.files) {
          for (const PtdEntry& entry : entries) keys_.back().insert(entry.key);
        }
        own_data_.push_back(std::move(distribution.own));
        shared_.add(std::move(distribution.files));
        return {};
      }
      Plan& renamed = renamed_.emplace_back(*plans_.back());
      for (const std::string& key : taken) {
        if (rename_external(renamed, key, fmt::format("{}@{}", key, plans_.size()))) continue;
        return failure("write_pte", program.path,
                       fmt::format("its named data \"{}\" differ from those of another program", key),
                       "backends must derive each key from the bytes");
      }
      plans_.back() = &renamed;
    }
  }

  Status write_program(std::size_t index) {
    const auto& [program, own_plan, path, options] = programs_[index];
    const Plan& plan = *plans_[index];
    Segments segments = collect_segments(program, plan, own_data_[index], options);
    TRY(auto flatbuffer, build_program_flatbuffer(plan, segments.layout));
    const bool has_blobs =
        std::ranges::any_of(segments.layout.inline_blobs, [](const auto& blob) { return blob != nullptr; });
    const std::size_t room = align(pte_header, has_blobs ? segments.layout.inline_alignment : pte_header);
    std::uint64_t base =
        align(flatbuffer.size() + room,
              std::max({options.segment_alignment, options.constant_alignment, constant_alignment}));
    bool has_data = std::ranges::any_of(segments.blobs, [](const Blob& blob) { return blob.size > 0; });

    TRY(std::unique_ptr<Output> file, open_(path));
    TRY_STATUS(file->skip_to(has_data ? base : flatbuffer.size() + room));
    TRY(auto positions, write_blobs(*file, segments.blobs, options.jobs));

    WriteSummary& summary = summaries_.emplace_back();
    std::span<std::uint8_t> bytes(flatbuffer.data(), flatbuffer.size());
    summary.constant_bytes = set_offsets(bytes, segments, positions, base);
    summary.flatbuffer_bytes = flatbuffer.size();
    summary.file_bytes = file->position();
    summary.warnings = warnings_of(plan, segments.layout, options);
    TRY_STATUS(file->write_at(0, file_start(bytes, room, base, has_data ? file->position() - base : 0)));
    TRY_STATUS(file->write_at(header_position + room, std::as_bytes(bytes.subspan(header_position))));
    outputs_.push_back(std::move(file));
    return {};
  }

  Status write_data() {
    const WriteOptions& options = programs_.front().options;
    for (const auto& [path, entries] : files_) {
      TRY(std::unique_ptr<Output> file, open_(path));
      TRY_STATUS(write_ptd(entries, *file, options.jobs,
                           std::max(options.segment_alignment, options.constant_alignment)));
      for (std::size_t i = 0; i < programs_.size(); ++i) {
        const auto is_needed = [&](const PtdEntry& entry) { return keys_[i].contains(entry.key); };
        if (std::ranges::any_of(entries, is_needed))
          summaries_[i].external_files.push_back({path, file->position()});
      }
      outputs_.push_back(std::move(file));
    }
    for (const DataFile& file_of : options.ptd) {
      if (files_.contains(file_of.path)) continue;
      for (WriteSummary& summary : summaries_)
        summary.warnings.push_back(
            file_of.pattern == "*"
                ? fmt::format("the program has no external data: {} was not written", file_of.path)
                : fmt::format("no data matches {}: {} was not written", file_of.pattern, file_of.path));
    }
    return {};
  }

  const OpenOutput& open_;
  std::span<const ProgramToWrite> programs_;
  std::vector<const Plan*> plans_;           // per program, as the following ones
  std::vector<std::set<std::string>> keys_;  // in .ptd files
  std::vector<std::vector<NamedData>> own_data_;
  std::vector<WriteSummary> summaries_;
  std::deque<Plan> renamed_;
  SharedFiles shared_;
  std::map<std::string, std::vector<PtdEntry>> files_;
  std::vector<std::unique_ptr<Output>> outputs_;
};

}  // namespace

Result<WriteSummary> write_pte(const Program& program, const Plan& plan, const std::string& path,
                               const WriteOptions& options) {
  return write_pte_to(OutputFile::open, program, plan, path, options);
}

Result<PteFile> write_pte_bytes(const Program& program, const Plan& plan, const WriteOptions& options,
                                const std::string& path) {
  PteFile result{.name = path};
  auto open = [&](const std::string& name) -> Result<std::unique_ptr<Output>> {
    return std::make_unique<OutputBytes>(name == path ? result.pte : result.external[name]);
  };
  TRY(result.summary, write_pte_to(open, program, plan, path, options));
  return result;
}

Result<WriteSummary> write_pte_to(const OpenOutput& open, const Program& program, const Plan& plan,
                                  const std::string& path, const WriteOptions& options) {
  TRY(std::vector<WriteSummary> summaries, write_ptes_to(open, {{{program, plan, path, options}}}));
  return std::move(summaries.front());
}

Result<std::vector<WriteSummary>> write_ptes_to(const OpenOutput& open,
                                                std::span<const ProgramToWrite> programs) {
  return guarded([&]() -> Result<std::vector<WriteSummary>> {
    for (const auto& [program, plan, path, options] : programs) {
      TRY_STATUS(check_alignment("segment_alignment", options.segment_alignment));
      TRY_STATUS(check_alignment("delegate_alignment", options.delegate_alignment));
      TRY_STATUS(check_alignment("constant_alignment", options.constant_alignment));
      TRY_STATUS(check_data_is_there(program, "write_pte"));
      TRY_STATUS(check_payloads(program));
    }
    return ProgramWriter(open, programs).run();
  });
}

}  // namespace depute
