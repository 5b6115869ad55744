#include "cli/memory_argument.h"

#include <fmt/format.h>

#include <string_view>

#include "depute/tools/report.h"
#include "platform/parse_number.h"

namespace depute {
namespace {

// Removes and returns the text up to the sign; all of it if there is none.
std::string_view take_part(std::string_view& text, char sign) {
  const std::string_view part = text.substr(0, text.find(sign));
  text.remove_prefix(part.size() == text.size() ? part.size() : part.size() + 1);
  return part;
}

template <typename T>
bool read_number(std::string_view text, T& number) {
  const auto read = parse_number<T>(text);
  number = read.value_or(T{});
  return read.has_value();
}

Result<MemoryBank> parse_bank(std::string_view text) {
  const auto wrong = [whole = text] {
    return failure("usage", "--memory",
                   fmt::format("'{}' must have the form NAME=SIZE:ID[:align=BYTES]", whole),
                   "for example sram=512K:1,dram=8M:2:align=64");
  };
  MemoryBank bank;
  bank.name = take_part(text, '=');
  const std::optional<std::uint64_t> size = parse_byte_size(take_part(text, ':'));
  const bool has_id = read_number(take_part(text, ':'), bank.memory_id);
  if (!size || !has_id) return wrong();
  bank.size = *size;
  if (text.empty()) return bank;
  constexpr std::string_view align = "align=";
  if (!text.starts_with(align) || !read_number(text.substr(align.size()), bank.alignment) ||
      bank.alignment == 0)
    return wrong();
  return bank;
}

}  // namespace

Result<std::vector<MemoryBank>> parse_memory_argument(const std::string& text) {
  std::vector<MemoryBank> banks;
  std::string_view rest = text;
  while (!rest.empty()) {
    DEPUTE_TRY(MemoryBank bank, parse_bank(take_part(rest, ',')));
    banks.push_back(std::move(bank));
  }
  return banks;
}

Result<MemoryPin> parse_memory_pin_argument(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    return failure("usage", "--memory-pin", fmt::format("'{}' must have the form BANK=SELECTOR", text),
                   "for example sram=features.0 or dram=node:mask");
  return MemoryPin{.bank = text.substr(0, equals), .selector = text.substr(equals + 1)};
}

}  // namespace depute
