// A .pte or .ptd file as text, for `depute show`.
#pragma once

#include <string>

#include "read/ptd.h"
#include "read/pte.h"

namespace depute {

std::string pte_text(const PteFile& file);
std::string ptd_text(const PtdFile& file);

}  // namespace depute
