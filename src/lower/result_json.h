// Converts a PreprocessResult to JSON and back, for the result cache and for workers. The caller's functions
// store the bytes and return their position.
//
//   {"payload": BYTES, "map": [[0, [1, 2]], ["tan", [3]], [1, 9, 4]], "info": "", "padding": 0,
//    "data": [{"key": "w", "alignment": 16, "tag": "", "layout": {"dtype": "f32", "sizes": [2]},
//              "blob": BYTES},
//             {"key": "b", "alignment": 16, "constant": "conv.bias"}]}
//
// Data that equal a constant of the partition are stored as its name only.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "depute/backend/backend.h"
#include "depute/program/result.h"

namespace depute {

using WriteBytes = std::function<Result<nlohmann::ordered_json>(const Storage& storage)>;
using ReadBytes = std::function<Result<std::shared_ptr<const Storage>>(const nlohmann::ordered_json& place)>;

Result<nlohmann::ordered_json> json_of_result(const PreprocessResult& result, const Program& partition,
                                              const WriteBytes& write);
// Throws nlohmann::json exceptions for malformed JSON. Only "payload" is required.
Result<PreprocessResult> result_of_json(const nlohmann::ordered_json& json, const Program& partition,
                                        const ReadBytes& read);

// Returns use(bytes). Bytes that a lazy storage produces are freed afterwards.
template <typename Use>
auto with_bytes(const Storage& storage, Use&& use) {
  if (!storage.is_lazy()) return use(storage.bytes());
  const std::vector<std::byte> made = storage.produce();
  return use(std::span<const std::byte>(made));
}

}  // namespace depute
