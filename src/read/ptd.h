// Reads a .ptd file (named data beside a program) into plain structs, for `depute show` and for checks of
// written files. The file is not trusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "depute/program/result.h"
#include "schema/execution_plan.h"

namespace depute {

struct PtdData {
  std::string key;
  std::uint64_t offset = 0;  // from the file's start
  std::uint64_t size = 0;
  std::uint32_t segment = 0;
  std::optional<PlanTensor> layout;  // of a tensor: element type, sizes, dimension order
};

struct PtdFile {
  std::uint64_t file_bytes = 0;
  std::uint64_t flatbuffer_bytes = 0;
  std::vector<PtdData> data;
};

// `name` names the file in errors.
Result<PtdFile> read_ptd(std::span<const std::byte> file, const std::string& name);

// True if the first bytes are those of a .ptd file.
bool is_ptd(std::span<const std::byte> file);

}  // namespace depute
