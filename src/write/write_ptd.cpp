#include "write/write_ptd.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "flat_tensor_generated.h"
#include "support/number_text.h"
#include "support/try.h"
#include "write/program_flatbuffer.h"
#include "write/segments.h"

namespace depute {
namespace {

using flatbuffers::Offset;

constexpr std::size_t ptd_header = 40;
constexpr std::size_t padded_ptd_header = 48;
constexpr std::uint64_t ptd_entry_bytes = 256;  // in the flatbuffer, besides its key
constexpr std::uint64_t ptd_table_bytes = 1024;

Result<flatbuffers::DetachedBuffer> build(std::span<const PtdEntry> entries) {
  std::uint64_t bound = ptd_table_bytes;
  for (const PtdEntry& entry : entries) bound += entry.key.size() + ptd_entry_bytes;
  if (bound > max_flatbuffer_bytes) {
    return failure("write_ptd", "", fmt::format("{} names exceed the limit of a .ptd file", entries.size()));
  }
  flatbuffers::FlatBufferBuilder builder;
  std::vector<Offset<ft01::DataSegment>> segments;
  std::vector<Offset<ft01::NamedData>> named;
  for (const PtdEntry& entry : entries) {
    Offset<ft01::TensorLayout> layout;
    if (entry.layout) {
      auto sizes = builder.CreateVector(entry.layout->sizes.data(), entry.layout->sizes.size());
      auto order = builder.CreateVector(entry.layout->dim_order.data(), entry.layout->dim_order.size());
      layout = ft01::CreateTensorLayout(builder, static_cast<std::int8_t>(entry.layout->scalar_type), sizes,
                                        order);
    }
    auto index = static_cast<std::uint32_t>(segments.size());
    named.push_back(ft01::CreateNamedData(builder, builder.CreateString(entry.key), index, layout));
    builder.ForceDefaults(true);  // writes the zeros, to be set once the bytes are written
    segments.push_back(ft01::CreateDataSegment(builder, 0, 0));
    builder.ForceDefaults(false);
  }
  auto segment_vector = builder.CreateVector(segments);
  auto named_vector = builder.CreateVector(named);
  builder.Finish(ft01::CreateFlatTensor(builder, 0, segment_vector, named_vector),
                 ft01::FlatTensorIdentifier());
  return builder.Release();
}

// Returns the flatbuffer's first 8 bytes and the header. The root offset now counts past the header.
std::array<std::byte, header_position + padded_ptd_header> file_start(
    std::span<const std::uint8_t> flatbuffer, std::uint64_t base, std::uint64_t data_size) {
  std::array<std::byte, header_position + padded_ptd_header> start{};
  std::memcpy(start.data(), flatbuffer.data(), header_position);
  std::uint32_t root = 0;
  std::memcpy(&root, flatbuffer.data(), sizeof root);
  put<std::uint32_t>(start, 0, root + padded_ptd_header);
  std::memcpy(start.data() + 8, "FH01", 4);
  put<std::uint32_t>(start, 12, ptd_header);
  put<std::uint64_t>(start, 16, padded_ptd_header);
  put<std::uint64_t>(start, 24, flatbuffer.size());
  put<std::uint64_t>(start, 32, base);
  put<std::uint64_t>(start, 40, data_size);
  return start;
}

}  // namespace

Result<std::vector<std::vector<PtdEntry>>> split_ptd(std::vector<PtdEntry> entries, std::uint64_t max_bytes,
                                                     std::uint64_t segment_alignment,
                                                     const std::string& path) {
  // At most these, as equal bytes are written once.
  const std::uint64_t frame =
      ptd_table_bytes + padded_ptd_header + std::max(segment_alignment, constant_alignment);
  const auto bytes_of = [](const PtdEntry& entry) {
    return entry.key.size() + ptd_entry_bytes + entry.blob.size + entry.blob.alignment;
  };
  std::vector<std::vector<PtdEntry>> files(1);
  std::uint64_t bytes = frame;
  for (PtdEntry& entry : entries) {
    const std::uint64_t of_entry = bytes_of(entry);
    if (frame + of_entry > max_bytes) {
      return failure("write_ptd", path,
                     fmt::format("its limit is {}, and \"{}\" needs {}", bytes_text(max_bytes), entry.key,
                                 bytes_text(frame + of_entry)),
                     "raise the limit");
    }
    if (bytes + of_entry > max_bytes) {
      files.emplace_back();
      bytes = frame;
    }
    bytes += of_entry;
    files.back().push_back(std::move(entry));
  }
  return files;
}

Status write_ptd(std::span<const PtdEntry> entries, Output& file, int jobs, std::uint64_t segment_alignment) {
  TRY(auto flatbuffer, build(entries));
  std::vector<Blob> blobs;
  for (const PtdEntry& entry : entries) blobs.push_back(entry.blob);
  std::uint64_t base =
      align(flatbuffer.size() + padded_ptd_header, std::max(segment_alignment, constant_alignment));
  TRY_STATUS(file.pad_to(base));  // runtimes require the file to reach `base`, even without data
  TRY(auto positions, write_blobs(file, blobs, jobs));

  std::span<std::uint8_t> bytes(flatbuffer.data(), flatbuffer.size());
  auto* table = ft01::GetMutableFlatTensor(bytes.data())->mutable_segments();
  for (std::size_t i = 0; i < blobs.size(); ++i) {
    auto* segment = table->GetMutableObject(static_cast<flatbuffers::uoffset_t>(i));
    segment->mutate_offset(blobs[i].size > 0 ? positions[i] - base : 0);
    segment->mutate_size(blobs[i].size);
  }
  TRY_STATUS(file.write_at(0, file_start(bytes, base, file.position() - base)));
  return file.write_at(header_position + padded_ptd_header, std::as_bytes(bytes.subspan(header_position)));
}

}  // namespace depute
