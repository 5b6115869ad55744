#include "read/read_debug_map.h"

#include <fmt/format.h>

#include "read/read_fields.h"

namespace depute {

Result<DebugMap> read_debug_map(std::span<const std::byte> file, const std::string& name) {
  TRY(const JsonDocument document, JsonDocument::parse(EntryBytes{.bytes = file}, name, ReadLimits()));
  const Json root(document);
  TRY(const Json version, root.field("version"));
  TRY(const std::int64_t number, version.integer());
  if (number != debug_map_version) return version.fault("is not a debug map of this version of Depute");
  DebugMap map;
  TRY_STATUS(read_json(root, map));
  for (const auto& [method, mapped] : map.methods) {
    for (std::size_t i = 0; i < mapped.instructions.size(); ++i) {
      if (mapped.instructions[i].index != i)
        return root.fault(fmt::format(
            "methods.{}.instructions[{}].index is not the instruction's place in the list", method, i));
    }
  }
  return map;
}

}  // namespace depute
