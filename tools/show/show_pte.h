// Prints a .pte or .ptd file as text, for `depute show`. Backend::describe prints payloads.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "depute/backend/registry.h"
#include "depute/program/result.h"
#include "read/ptd.h"
#include "read/pte.h"

namespace depute {

// `file` was read from `bytes`. Fails if a backend reports a damaged payload.
Result<std::string> pte_text(const PteContents& file, std::span<const std::byte> bytes,
                             const Registry& registry);
std::string ptd_text(const PtdFile& file);

}  // namespace depute
