#include "payload.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace depute::ethosu {
namespace {

constexpr std::size_t block_unit = 16;
constexpr std::size_t header_size = 2 * block_unit;
constexpr std::string_view first_block = "vela_bin_stream";
constexpr std::string_view last_block = "vela_end_stream";
constexpr std::size_t tensor_numbers = 9;

std::size_t padded(std::size_t size) {
  return (size + block_unit - 1) / block_unit * block_unit;
}

template <typename T>
void append(std::vector<std::byte>& bytes, T number) {
  const auto view = std::as_bytes(std::span(&number, 1));
  bytes.insert(bytes.end(), view.begin(), view.end());
}

void append_block(std::vector<std::byte>& payload, std::string_view name, std::span<const std::byte> data) {
  const std::size_t start = payload.size();
  payload.resize(start + header_size);
  std::memcpy(payload.data() + start, name.data(), name.size());
  const auto size = static_cast<std::int32_t>(data.size());
  std::memcpy(payload.data() + start + block_unit, &size, sizeof size);
  payload.insert(payload.end(), data.begin(), data.end());
  payload.resize(start + header_size + padded(data.size()));
}

std::vector<std::byte> border(const std::vector<VelaTensor>& tensors) {
  std::vector<std::byte> bytes;
  append(bytes, static_cast<std::int32_t>(tensors.size()));
  for (const VelaTensor& tensor : tensors) {
    for (const std::int32_t size : tensor.shape) append(bytes, size);
    append(bytes, tensor.element_size);
    append(bytes, tensor.offset);
    append(bytes, tensor.region);
  }
  return bytes;
}

std::int32_t number_at(std::span<const std::byte> bytes, std::size_t i) {
  std::int32_t number = 0;
  std::memcpy(&number, bytes.data() + i * sizeof number, sizeof number);
  return number;
}

std::string describe_border(std::span<const std::byte> bytes) {
  std::string text;
  for (std::size_t i = 1; (i + tensor_numbers) * sizeof(std::int32_t) <= bytes.size(); i += tensor_numbers) {
    std::vector<std::int32_t> sizes;
    for (std::size_t k = 0; k < 6; ++k) sizes.push_back(number_at(bytes, i + k));
    text += fmt::format("  [{}] of {} bytes each, offset {}, region {}\n", fmt::join(sizes, ", "),
                        number_at(bytes, i + 6), number_at(bytes, i + 7), number_at(bytes, i + 8));
  }
  return text;
}

}  // namespace

std::vector<std::byte> write_payload(const VelaOutput& output) {
  std::vector<std::byte> payload;
  append_block(payload, first_block, {});
  append_block(payload, "cmd_data", output.commands);
  append_block(payload, "weight_data", output.weights);
  append_block(payload, "scratch_size", std::as_bytes(std::span(&output.scratch_size, 1)));
  append_block(payload, "inputs", border(output.inputs));
  append_block(payload, "outputs", border(output.outputs));
  append_block(payload, last_block, {});
  return payload;
}

Result<std::string> describe_payload(std::span<const std::byte> bytes) {
  std::string text;
  std::string_view last;
  for (std::size_t at = 0; at < bytes.size();) {
    if (bytes.size() - at < header_size)
      return failure("ethosu", "", fmt::format("the block at byte {} is cut off", at));
    const char* start = reinterpret_cast<const char*>(bytes.data() + at);
    last = std::string_view(start, strnlen(start, block_unit));
    const std::int32_t size = number_at(bytes.subspan(at + block_unit), 0);
    if (at == 0 && last != first_block) break;
    at += header_size;
    if (size < 0 || padded(static_cast<std::size_t>(size)) > bytes.size() - at)
      return failure("ethosu", "",
                     fmt::format("the block {} has {} bytes, but is cut off", printable(last), size));
    const auto data = bytes.subspan(at, static_cast<std::size_t>(size));
    at += padded(data.size());
    if (last == first_block || last == last_block) continue;
    if (last == "scratch_size" && data.size() == sizeof(std::uint32_t)) {
      text += fmt::format("scratch_size: {} bytes\n", static_cast<std::uint32_t>(number_at(data, 0)));
      continue;
    }
    text += fmt::format("{}: {} bytes\n", printable(last), data.size());
    if (last == "inputs" || last == "outputs") text += describe_border(data);
  }
  if (last != last_block) return failure("ethosu", "", "these bytes are no stream of Vela");
  return text;
}

}  // namespace depute::ethosu
