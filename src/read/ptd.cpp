#include "read/ptd.h"

#include <fmt/format.h>

#include <limits>

#include "depute/program/type.h"
#include "flat_tensor_generated.h"
#include "read/flatbuffer_file.h"
#include "read/pte_method.h"
#include "support/try.h"

namespace depute {
namespace {

using internal::has_text;
using internal::number_at;

class PtdReader {
  static constexpr std::uint32_t min_header_size = 40;
  static constexpr std::size_t max_depth = 8;

 public:
  PtdReader(std::span<const std::byte> file, const std::string& name) : file_(file), name_(name) {}

  Result<PtdFile> run() {
    TRY_STATUS(read_header());
    TRY_STATUS(find_table());
    for (const auto* named : internal::elements(table_->named_data())) TRY_STATUS(read_data(*named));
    return std::move(result_);
  }

 private:
  Failure fail(std::string_view place, std::string_view message) const {
    return failure("read_ptd", fmt::format("{}: {}", name_, place), message);
  }

  Status read_header() {
    result_.file_bytes = file_.size();
    if (file_.size() < min_file_size) return fail("byte 0", fmt::format("only {} bytes", file_.size()));
    if (!is_ptd(file_)) return fail("byte 4", "not a .ptd file (no \"FT01\" here)");
    if (!has_text(file_, header_position, "FH01")) return fail("byte 8", "no header");
    if (number_at<std::uint32_t>(file_, 12) < min_header_size)
      return fail("byte 12", "the header is too short");
    auto offset = number_at<std::uint64_t>(file_, 16);
    auto size = number_at<std::uint64_t>(file_, 24);
    if (offset > file_.size() || size > file_.size() - offset) {
      return fail("byte 16",
                  fmt::format("a flatbuffer of {} bytes at {} in a file of {}", size, offset, file_.size()));
    }
    result_.flatbuffer_bytes = offset + size;
    base_ = number_at<std::uint64_t>(file_, 32);
    data_bytes_ = number_at<std::uint64_t>(file_, 40);
    if (base_ > file_.size() || data_bytes_ > file_.size() - base_) {
      return fail("byte 32", fmt::format("{} bytes of segments at {} in a file of {}", data_bytes_, base_,
                                         file_.size()));
    }
    return {};
  }

  Status find_table() {
    auto bytes = file_.first(result_.flatbuffer_bytes);
    if (bytes.size() >= std::numeric_limits<std::int32_t>::max()) return fail("byte 16", "over 2 GB");
    aligned_.assign(bytes.begin(), bytes.end());
    const auto* start = reinterpret_cast<const std::uint8_t*>(aligned_.data());
    auto max_tables = static_cast<flatbuffers::uoffset_t>(bytes.size() / 4 + 1024);
    flatbuffers::Verifier verifier(start, bytes.size(), max_depth, max_tables);
    if (!ft01::VerifyFlatTensorBuffer(verifier)) return fail("flatbuffer", "is damaged");
    table_ = ft01::GetFlatTensor(start);
    return {};
  }

  Status read_data(const ft01::NamedData& named) {
    std::string place = fmt::format("named_data[{}]", result_.data.size());
    if (named.key() == nullptr) return fail(place, "has no key");
    // Tables and texts can be shared, so a small file could request huge copies.
    copied_ += named.key()->size() + 1;
    if (copied_ > file_.size()) return fail(place, "the number of names exceeds the file's size");
    PtdData data{.key = named.key()->str()};
    const auto* segments = table_->segments();
    if (segments == nullptr || named.segment_index() >= segments->size()) {
      return fail(place, "its segment does not exist");
    }
    const auto* segment = segments->Get(named.segment_index());
    if (segment->offset() > data_bytes_ || segment->size() > data_bytes_ - segment->offset()) {
      return fail(place,
                  fmt::format("{} bytes at {} of {}", segment->size(), segment->offset(), data_bytes_));
    }
    data.offset = base_ + segment->offset();
    data.size = segment->size();
    data.segment = named.segment_index();
    if (named.tensor_layout() != nullptr) TRY_STATUS(read_layout(place, *named.tensor_layout(), data));
    result_.data.push_back(std::move(data));
    return {};
  }

  Status read_layout(std::string_view place, const ft01::TensorLayout& table, PtdData& data) {
    PlanTensor& tensor = data.layout.emplace();
    tensor.scalar_type = table.scalar_type();
    std::size_t rank = table.sizes() == nullptr ? 0 : table.sizes()->size();
    std::size_t order = table.dim_order() == nullptr ? 0 : table.dim_order()->size();
    if (rank > max_rank || order != rank) {
      return fail(place, fmt::format("rank {}, dim order {}", rank, order));
    }
    for (std::int32_t size : internal::elements(table.sizes())) tensor.sizes.push_back(size);
    for (std::uint8_t dim : internal::elements(table.dim_order())) tensor.dim_order.push_back(dim);
    return {};
  }

  std::span<const std::byte> file_;
  const std::string& name_;
  std::vector<std::byte> aligned_;
  const ft01::FlatTensor* table_ = nullptr;
  std::uint64_t base_ = 0;
  std::uint64_t data_bytes_ = 0;
  std::uint64_t copied_ = 0;
  PtdFile result_;
};

}  // namespace

bool is_ptd(std::span<const std::byte> file) {
  return has_text(file, identifier_position, ft01::FlatTensorIdentifier());
}

Result<PtdFile> read_ptd(std::span<const std::byte> file, const std::string& name) {
  return PtdReader(file, name).run();
}

}  // namespace depute
