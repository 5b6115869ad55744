// Lists the operators of a .pte file for a selective build of ExecuTorch, as the build's selected_operators.yaml.
//
//   operators:                             each operator that the program names
//     aten::add.out: {...}
//   et_kernel_metadata:                    the element types and dim orders of its calls
//     aten::add.out:
//       - v1/6;0,1|6;0,1|6;0,1|6;0,1       four arguments of f32 (6), rows of columns
//
// ExecuTorch's codegen/tools/gen_oplist.py writes the same content.
#pragma once

#include <string>

#include "read/pte.h"

namespace depute {

// `name`: of the file, for the list's debug_info.
std::string selected_operators(const PteContents& file, const std::string& name);

}  // namespace depute
