// Parses --constant NAME=VALUE: a method that returns VALUE, which is written as JSON.
//
//   get_max_seq_len=128   use_kv_cache=true   modality="text"   get_eos_ids=[2, 3]      two results
//   mean={"dtype": "f32", "tensor": [[0.5, 0.25]]}                                      one tensor
#pragma once

#include <string>

#include "depute/program/program.h"
#include "depute/program/result.h"

namespace depute {

Result<ConstantMethod> parse_constant_argument(const std::string& text);

}  // namespace depute
