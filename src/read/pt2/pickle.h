// Reads Python pickles without running code: objects are descriptions of the calls that Python would make.
//
//   {"w": torch._utils._rebuild_tensor_v2(storage, 0, (2, 3), (3, 1), False, OrderedDict())}
//     ->  Dict [String "w", Call [Global "torch._utils._rebuild_tensor_v2", Tuple [...]]]
//
// This is enough for the files that torch.save writes (torch_save.h). Every opcode is checked against the
// stack; opcodes that such files do not need are rejected.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "depute/program/result.h"
#include "read/limits.h"

namespace depute {

// Index of a value in its Pickle. Values can refer to any others; shared and cyclic values are possible.
enum class PickleId : std::uint32_t {};

struct PickleValue {
  enum class Kind : std::uint8_t {
    None,
    Bool,    // number
    Int,     // number
    Float,   // real
    String,  // text: a slice of the pickle's bytes
    Global,  // text: module and name, one per line; or items: the two as strings
    Tuple,   // items
    List,    // items
    Dict,    // items: key, value, key, value, ...
    Call,    // items: callable, argument tuple, and the state if BUILD gave one; entries: what was set in it
    Persistent,  // items: the id, which torch uses for storages
  };
  Kind kind = Kind::None;
  std::int64_t number = 0;
  double real = 0;
  std::string_view text;
  std::vector<PickleId> items;
  std::vector<PickleId> entries;  // Call: keys and values or elements, as for an OrderedDict
};

struct Pickle {
  std::vector<PickleValue> values;
  PickleId root{};

  const PickleValue& operator[](PickleId id) const { return values[static_cast<std::uint32_t>(id)]; }
  std::string global_name(PickleId id) const;  // "torch._utils._rebuild_tensor_v2"; empty unless a Global
};

// `place` is used in errors. The bytes must outlive the pickle.
Result<Pickle> read_pickle(std::span<const std::byte> bytes, const std::string& place,
                           const ReadLimits& limits);

}  // namespace depute
