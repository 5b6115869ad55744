// The constants of all methods, each place in a storage once. (Equal bytes in different places are found when
// they are written out.)
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "ir/data.h"
#include "support/hash.h"

namespace depute {

class ConstantPool {
 public:
  // The constant's number, from 1. `type` is how the program sees it: contiguous data are taken as they lie,
  // data of another order are brought into the order of `type`. 0 when that cannot be done.
  std::uint32_t add(const TensorData& data, const TensorType& type);
  std::vector<TensorData> take() && { return std::move(constants_); }

 private:
  std::vector<TensorData> constants_;
  std::unordered_map<Hash128, std::uint32_t> numbers_;  // by place and layout
};

}  // namespace depute
