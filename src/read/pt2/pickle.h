// Reads Python pickles without running code: objects are descriptions of the calls that Python would make.
//
//   {"w": torch._utils._rebuild_tensor_v2(storage, 0, (2, 3), (3, 1), False, OrderedDict())}
//     ->  Dict [String "w", Call [Global "torch._utils._rebuild_tensor_v2", Tuple [...]]]
//
// This is enough for the files that torch.save writes (torch_save.h). Every opcode is checked against the
// stack; opcodes that such files do not need are rejected.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "depute/program/result.h"
#include "read/limits.h"

namespace depute {

// Index of a value in its Pickle. Values can refer to any others; shared and cyclic values are possible.
enum class PickleId : std::uint32_t {};

struct PickleValue {
  enum class Kind : std::uint8_t {
    None,
    Bool,        // number
    Int,         // number
    Float,       // real()
    String,      // text(): a slice of the pickle's bytes
    Global,      // text(): module and name, one per line; or items: the two as strings
    Tuple,       // items
    List,        // items
    Dict,        // items: key, value, key, value, ...
    Call,        // items: callable, argument tuple, and the state if BUILD gave one
    Persistent,  // items: the id, which torch uses for storages
  };
  Kind kind = Kind::None;
  std::int64_t number = 0;  // also the bits of real() and the size of text(): a million values stay small
  const char* text_begin = nullptr;
  std::vector<PickleId> items;

  double real() const { return std::bit_cast<double>(number); }
  std::string_view text() const {
    return text_begin == nullptr ? "" : std::string_view(text_begin, static_cast<std::size_t>(number));
  }
};

struct Pickle {
  std::vector<PickleValue> values;
  // Keys and values or elements that were set in a Call, as for an OrderedDict.
  std::unordered_map<PickleId, std::vector<PickleId>> entries;
  PickleId root{};

  const PickleValue& operator[](PickleId id) const { return values[static_cast<std::uint32_t>(id)]; }
  const std::vector<PickleId>& entries_of(PickleId call) const {
    static const std::vector<PickleId> none;
    const auto found = entries.find(call);
    return found == entries.end() ? none : found->second;
  }
  std::string global_name(PickleId id) const;  // "torch._utils._rebuild_tensor_v2"; empty unless a Global
};

// `place` is used in errors. The bytes must outlive the pickle. Takes the number of values from
// `values_left`, which starts at limits.pickle_values for all pickles of a file.
Result<Pickle> read_pickle(std::span<const std::byte> bytes, const std::string& place,
                           const ReadLimits& limits, std::uint64_t& values_left);

}  // namespace depute
