// Mutates JSON as JSON, so that a fuzzer reaches what stands behind the parser: a value is replaced by another one of
// the same text or by an odd one, a member is renamed, doubled or removed. Half of the mutations stay libFuzzer's.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace depute::fuzz {

using Json = nlohmann::ordered_json;

inline void collect(Json& value, std::vector<Json*>& all) {
  all.push_back(&value);
  if (!value.is_structured()) return;
  for (Json& part : value) collect(part, all);
}

inline Json odd_value(std::mt19937& dice) {
  static const std::array<const char*, 14> texts = {"null",
                                                    "true",
                                                    "0",
                                                    "-1",
                                                    "1e300",
                                                    "9223372036854775807",
                                                    "-9223372036854775808",
                                                    "18446744073709551615",
                                                    "[]",
                                                    "{}",
                                                    "\"\"",
                                                    "\"\\u0000\\u202e\"",
                                                    "[[[[[[]]]]]]",
                                                    "[0, 0]"};
  return Json::parse(texts[dice() % texts.size()]);
}

inline void mutate(Json& document, std::mt19937& dice) {
  std::vector<Json*> all;
  collect(document, all);
  Json& target = *all[dice() % all.size()];
  switch (dice() % 5) {
    case 0:
      target = odd_value(dice);
      break;
    case 1:
      target = Json(*all[dice() % all.size()]);
      break;
    case 2:
      if (target.is_array())
        target.push_back(target.empty() ? odd_value(dice) : Json(target[dice() % target.size()]));
      if (target.is_number_integer())
        target = target.get<std::int64_t>() ^ (std::int64_t{1} << (dice() % 63));
      break;
    case 3:
      if (target.is_structured() && !target.empty()) {
        auto part = target.begin();
        std::advance(part, static_cast<std::ptrdiff_t>(dice() % target.size()));
        target.erase(part);
      }
      break;
    default:
      if (target.is_object() && !target.empty()) {
        const Json* other = all[dice() % all.size()];
        target[other->is_string() ? other->get<std::string>() : target.begin().key() + "_"] = *target.begin();
      }
  }
}

// The first `prefix` bytes are no JSON and are mutated as bytes.
inline std::size_t mutate_json(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed,
                               std::size_t prefix) {
  std::mt19937 dice(seed);
  if (size <= prefix || dice() % 2 == 0) return LLVMFuzzerMutate(data, size, max_size);
  const std::string text(reinterpret_cast<const char*>(data) + prefix, size - prefix);
  Json document = Json::parse(text, nullptr, false);
  if (document.is_discarded()) return LLVMFuzzerMutate(data, size, max_size);
  mutate(document, dice);
  const std::string changed = document.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (prefix + changed.size() > max_size) return size;
  std::memcpy(data + prefix, changed.data(), changed.size());
  return prefix + changed.size();
}

}  // namespace depute::fuzz
