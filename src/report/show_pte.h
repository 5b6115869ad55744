// A .pte file as text, for `depute show`.
#pragma once

#include <string>

#include "read/pte.h"

namespace depute {

std::string pte_text(const PteFile& file);

}  // namespace depute
