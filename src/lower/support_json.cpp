#include "depute/backend/registry.h"
#include "lower/support_fields.h"

namespace depute {

std::string support_json(std::span<const SupportRow> rows) {
  return write_json(rows).dump();
}

}  // namespace depute
