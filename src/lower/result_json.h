// What a backend made of a partition as JSON, for the cache of results and for workers; where bytes lie is
// said by who keeps them.
//
//   {"payload": BYTES, "map": [[0, [1, 2]], ["tan", [3]], [1, 9, 4]], "info": "", "padding": 0,
//    "data": [{"key": "w", "alignment": 16, "tag": "", "layout": {"dtype": "f32", "sizes": [2]}, "blob":
//    BYTES},
//             {"key": "b", "alignment": 16, "constant": "conv.bias"}]}
//
// Data that are a constant of the partition as it is are named and not kept.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "depute/backend.h"
#include "depute/result.h"

namespace depute {

using WriteBytes = std::function<Result<nlohmann::ordered_json>(const Storage& storage)>;
using ReadBytes = std::function<Result<std::shared_ptr<const Storage>>(const nlohmann::ordered_json& place)>;

Result<nlohmann::ordered_json> json_of_result(const PreprocessResult& result, const Program& partition,
                                              const WriteBytes& write);
// Throws what nlohmann::json throws for JSON that is none of this. Only "payload" must be there.
Result<PreprocessResult> result_of_json(const nlohmann::ordered_json& json, const Program& partition,
                                        const ReadBytes& read);

// Calls use(bytes) and gives what it gives. Made bytes are not kept.
template <typename Use>
auto with_bytes(const Storage& storage, Use&& use) {
  if (!storage.is_lazy()) return use(storage.bytes());
  const std::vector<std::byte> made = storage.produce();
  return use(std::span<const std::byte>(made));
}

}  // namespace depute
