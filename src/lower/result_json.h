// Converts a PreprocessResult to JSON and back, for the result cache and for workers. The caller's functions
// store the bytes and return their position.
//
//   {"info": "", "padding": 0, "inline": false, "payload": BYTES,
//    "map": [[0, [1, 2]], ["tan", [3]], [1, 9, 4]],
//    "data": [{"key": "w", "alignment": 16, "tag": "",
//              "layout": {"dtype": "f32", "sizes": [2], "strides": []}, "blob": BYTES},
//             {"key": "b", "alignment": 16, "tag": "", "constant": "conv.bias"}]}
//
// Data that equal a constant of the partition are stored as its name only.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "depute/backend/backend.h"
#include "depute/program/result.h"
#include "ir/content.h"
#include "read/json.h"
#include "support/fields.h"

namespace depute {

// Place of bytes: in the JSON itself as text or in hexadecimal, or a part of a file.
struct StoredBytes {
  std::optional<std::string> text = {};
  std::optional<std::string> hex = {};
  std::string file = {};  // empty in a cache entry: the entry itself
  std::string form = {};  // of a program; empty: text
  std::optional<std::uint64_t> at = {};
  std::optional<std::uint64_t> size = {};
  std::string hash = {};
};

void fields(auto& visit, StoredBytes& bytes) {
  visit.omit_empty("text", bytes.text, "hex", bytes.hex, "file", bytes.file, "form", bytes.form, "at",
                   bytes.at, "size", bytes.size, "hash", bytes.hash);
}

using WriteBytes = std::function<Result<StoredBytes>(const Storage& storage)>;
using ReadBytes = std::function<Result<std::shared_ptr<const Storage>>(const StoredBytes& place)>;

Result<JsonValue> json_of_result(const PreprocessResult& result, const Program& partition,
                                 const WriteBytes& write);
// Only "payload" is required.
Result<PreprocessResult> result_of_json(const Json& json, const Program& partition, const ReadBytes& read);

}  // namespace depute
