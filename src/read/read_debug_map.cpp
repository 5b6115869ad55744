#include "read/read_debug_map.h"

#include <charconv>
#include <limits>

#include "read/json.h"
#include "support/try.h"

namespace depute {
namespace {

constexpr std::int64_t map_version = 1;

Result<std::uint32_t> read_handle(const Json& json) {
  TRY(const std::int64_t handle, json.integer());
  if (handle < 0 || handle > std::numeric_limits<std::uint32_t>::max())
    return json.fault("is not a debug handle");
  return static_cast<std::uint32_t>(handle);
}

// Reads a member that may be missing.
Result<std::vector<std::uint32_t>> read_handles(const Json& object, std::string_view key) {
  std::vector<std::uint32_t> handles;
  TRY(const Json list, object.optional_field(key));
  if (list.is_null()) return handles;
  const auto read = [&](const Json& element) -> Status {
    TRY(handles.emplace_back(), read_handle(element));
    return {};
  };
  TRY_STATUS(list.for_each(read));
  return handles;
}

Result<std::string> read_text(const Json& object, std::string_view key) {
  TRY(const Json text, object.optional_field(key));
  if (text.is_null()) return std::string();
  TRY(const std::string_view value, text.string());
  return std::string(value);
}

// Reads the handles of pieces. Nested delegates are included: their backends name the same instruction.
Status read_pieces(const Json& object, MappedInstruction& instruction) {
  const auto read = [&](const Json& row) -> Status {
    TRY(const Json identifier, row.field("identifier"));
    auto& [name, handles] = instruction.pieces.emplace_back();
    if (auto text = identifier.string()) {
      name = *text;
    } else {
      TRY(const std::int64_t number, identifier.integer());
      name = std::to_string(number);
    }
    TRY(handles, read_handles(row, "handles"));
    return {};
  };
  TRY(const Json map, object.optional_field("delegate_map"));
  if (!map.is_null()) TRY_STATUS(map.for_each(read));
  TRY(const Json inner, object.optional_field("delegates"));
  if (inner.is_null()) return {};
  return inner.for_each([&](const Json& delegate) { return read_pieces(delegate, instruction); });
}

Result<MappedInstruction> read_instruction(const Json& object) {
  MappedInstruction instruction;
  TRY(instruction.kind, read_text(object, "kind"));
  TRY(instruction.name, read_text(object, "name"));
  TRY(instruction.delegate, read_text(object, "delegate"));
  TRY(instruction.handles, read_handles(object, "handles"));
  TRY_STATUS(read_pieces(object, instruction));
  return instruction;
}

Status read_methods(const Json& root, DebugMap& map) {
  TRY(const Json methods, root.field("methods"));
  return methods.for_each_member([&](std::string_view name, const Json& method) -> Status {
    std::vector<MappedInstruction>& instructions = map.methods[std::string(name)];
    TRY(const Json list, method.field("instructions"));
    return list.for_each([&](const Json& object) -> Status {
      TRY(const Json index, object.field("index"));
      TRY(const std::int64_t number, index.integer());
      if (number != static_cast<std::int64_t>(instructions.size()))
        return index.fault("is not the index of the instruction in the list");
      TRY(instructions.emplace_back(), read_instruction(object));
      return {};
    });
  });
}

Status read_nodes(const Json& root, DebugMap& map) {
  TRY(const Json handles, root.field("handles"));
  return handles.for_each_member([&](std::string_view key, const Json& object) -> Status {
    std::uint32_t handle = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), handle);
    if (error != std::errc() || end != key.data() + key.size())
      return object.fault("its key is not a debug handle");
    MappedNode& node = map.nodes[handle];
    TRY(node.file, read_text(object, "file"));
    TRY(node.module, read_text(object, "module"));
    TRY(node.handles, read_handles(object, "handles"));
    TRY(const Json line, object.optional_field("line"));
    if (line.is_null()) return {};
    TRY(node.line, line.integer());
    return {};
  });
}

}  // namespace

Result<DebugMap> read_debug_map(std::span<const std::byte> file, const std::string& name) {
  TRY(const JsonDocument document, JsonDocument::parse(EntryBytes{.bytes = file}, name, ReadLimits()));
  const Json root(document);
  TRY(const Json version, root.field("version"));
  TRY(const std::int64_t number, version.integer());
  if (number != map_version) return version.fault("is not a debug map of this version of Depute");
  DebugMap map;
  TRY_STATUS(read_methods(root, map));
  TRY_STATUS(read_nodes(root, map));
  return map;
}

}  // namespace depute
