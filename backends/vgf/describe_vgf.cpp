// Every offset and size of the file is compared with its bytes, and the flatbuffers are verified, before they are used.
#include <flatbuffers/flatbuffers.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "describe_module.h"
#include "format.h"
#include "support/try.h"
#include "vgf_generated.h"
#include "write_vgf.h"

namespace depute::vgf {
namespace {

using VgfBytes = std::span<const std::byte>;

constexpr std::uint32_t max_depth = 16;
constexpr std::uint32_t max_tables = 1'000'000;
constexpr std::size_t max_dimensions = 16;  // that are printed

Failure damaged(std::string_view what) {
  return failure("vgf", "", fmt::format("the {} of a VGF file is damaged", what));
}

Result<VgfBytes> bytes_of(VgfBytes file, const Section& section, std::string_view what) {
  if (section.offset > file.size() || section.size > file.size() - section.offset) return damaged(what);
  return file.subspan(section.offset, section.size);
}

template <typename T>
Result<T> read_record(VgfBytes bytes, std::string_view what) {
  T record;
  if (bytes.size() < sizeof record) return damaged(what);
  std::memcpy(&record, bytes.data(), sizeof record);
  return record;
}

// A verified flatbuffer, with a copy of its bytes: sections of a file may begin anywhere.
template <typename Table>
class Tables {
 public:
  static Result<Tables> read(VgfBytes file, const Section& section, std::string_view what) {
    TRY(const VgfBytes bytes, bytes_of(file, section, what));
    Tables tables;
    tables.bytes_.assign(bytes.begin(), bytes.end());
    const auto* data = reinterpret_cast<const std::uint8_t*>(tables.bytes_.data());
    flatbuffers::Verifier verifier(data, bytes.size(), max_depth, max_tables);
    if (!verifier.VerifyBuffer<Table>(nullptr)) return damaged(what);
    return tables;
  }
  const Table* operator->() const { return flatbuffers::GetRoot<Table>(bytes_.data()); }

 private:
  std::vector<std::byte> bytes_;
};

Result<Header> read_header(VgfBytes file) {
  if (file.size() < sizeof(Header) || std::memcmp(file.data(), Header().magic.data(), 4) != 0)
    return failure("vgf", "", "these bytes are no VGF file");
  return read_record<Header>(file, "header");
}

// Fails if the list or a constant's bytes do not fit.
Result<std::vector<ConstantEntry>> read_constants(VgfBytes section) {
  TRY(const auto header, read_record<ConstantsHeader>(section, "list of constants"));
  VgfBytes rest = section.subspan(sizeof header);
  if (header.count > rest.size() / sizeof(ConstantEntry)) return damaged("list of constants");
  std::vector<ConstantEntry> entries(header.count);
  if (!entries.empty()) std::memcpy(entries.data(), rest.data(), entries.size() * sizeof(ConstantEntry));
  rest = rest.subspan(entries.size() * sizeof(ConstantEntry));
  for (const ConstantEntry& entry : entries) {
    if (!bytes_of(rest, {entry.offset, entry.size}, "constant")) return damaged("list of constants");
  }
  return entries;
}

std::string format_name(std::uint32_t format) {
  for (int i = 0; i <= static_cast<int>(tosa::DType::BF16); ++i) {
    const auto dtype = static_cast<tosa::DType>(i);
    if (format_of(dtype) == format) return std::string(tosa::name(dtype));
  }
  return fmt::format("format {} ", format);
}

std::string resource_line(std::uint32_t i, const wire::Resource& resource) {
  std::vector<std::int64_t> shape;
  if (resource.description() != nullptr && resource.description()->shape() != nullptr) {
    const auto& sizes = *resource.description()->shape();
    shape.assign(sizes.begin(), sizes.begin() + std::min<std::ptrdiff_t>(sizes.size(), max_dimensions));
  }
  constexpr std::array<std::string_view, 4> categories = {"input", "output", "intermediate", "constant"};
  const auto category =
      std::min<std::size_t>(static_cast<std::size_t>(resource.category()), categories.size() - 1);
  return fmt::format("resource {}: {} {}[{}]\n", i, categories[category], format_name(resource.vk_format()),
                     fmt::join(shape, ", "));
}

}  // namespace

Result<std::string> describe_vgf(VgfBytes file) {
  TRY(const Header header, read_header(file));
  std::string text = fmt::format("VGF {}.{}.{}\n", header.version[0], header.version[1], header.version[2]);
  TRY(const auto resources, Tables<wire::ResourceTable>::read(file, header.resources, "table of resources"));
  if (resources->resources() != nullptr) {
    std::uint32_t i = 0;
    for (const wire::Resource* resource : *resources->resources()) text += resource_line(i++, *resource);
  }
  TRY(const auto modules, Tables<wire::ModuleTable>::read(file, header.modules, "table of modules"));
  if (modules->modules() == nullptr) return text;
  for (const wire::Module* module : *modules->modules()) {
    const wire::Spirv* code = module->code_as_Spirv();
    if (code == nullptr || code->words() == nullptr) continue;
    TRY(const std::string graph, describe_module({code->words()->data(), code->words()->size()}));
    text += graph;
  }
  return text;
}

Result<PayloadLayout> layout_of_vgf(VgfBytes file) {
  using Kind = PayloadPart::Kind;
  TRY(const Header header, read_header(file));
  TRY(const VgfBytes section, bytes_of(file, header.constants, "list of constants"));
  TRY(const std::vector<ConstantEntry> constants, read_constants(section));
  const std::uint64_t table = sizeof(ConstantsHeader) + constants.size() * sizeof(ConstantEntry);
  std::vector<PayloadPart> parts = {{.offset = 0, .bytes = sizeof header, .kind = Kind::Header}};
  for (const Section& tables : {header.modules, header.sequence, header.resources}) {
    TRY(const VgfBytes bytes, bytes_of(file, tables, "table"));
    parts.push_back({.offset = tables.offset, .bytes = bytes.size(), .kind = Kind::Tables});
  }
  parts.push_back({.offset = header.constants.offset, .bytes = table, .kind = Kind::Tables});
  for (const ConstantEntry& entry : constants)
    parts.push_back({.offset = header.constants.offset + table + entry.offset,
                     .bytes = entry.size,
                     .kind = Kind::Constant});
  std::ranges::stable_sort(parts, {}, &PayloadPart::offset);
  PayloadLayout layout;
  std::uint64_t end = 0;
  for (PayloadPart& part : parts) {  // those of a hostile file may overlap
    if (part.offset < end || part.bytes == 0) continue;
    end = part.offset + part.bytes;
    layout.parts.push_back(std::move(part));
  }
  return layout;
}

}  // namespace depute::vgf
