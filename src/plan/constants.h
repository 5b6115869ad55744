// The constants of all methods, each place in a storage once. (Equal bytes in different places are found when
// they are written out.) Constants may also be external: named, and kept apart from the program.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "depute/data.h"
#include "depute/hash.h"
#include "plan/plan.h"

namespace depute {

class ConstantPool {
 public:
  // Constants that are not single numbers and belong to one of the files are kept apart.
  explicit ConstantPool(std::span<const DataFile> files = {}) : files_(files) {}

  // Sets where `tensor`, which is all there is of the constant `key`, gets its data from. An output is never
  // external: runtimes take it for a tensor that they have to give memory. False when the data cannot be
  // brought into the order of `type`.
  bool place(PlanTensor& tensor, Symbol key, const TensorData& data, const TensorType& type, bool is_output);
  // The same for a tensor that sees the data of `base`, which has a place, with other sizes.
  void place_view(PlanTensor& tensor, const PlanTensor& base, bool is_output);

  // The constant's number, from 1. `type` is how the program sees it: contiguous data are taken as they lie,
  // data of another order are brought into the order of `type`. 0 when that cannot be done.
  std::uint32_t add(const TensorData& data, const TensorType& type);
  std::vector<TensorData> take() && { return std::move(constants_); }
  std::vector<ExternalConstant> take_external() && { return std::move(external_); }

 private:
  void place_external(PlanTensor& tensor, std::string_view name, const TensorData& dense, std::size_t file);

  std::span<const DataFile> files_;
  std::vector<TensorData> constants_;
  std::vector<ExternalConstant> external_;
  std::unordered_map<std::string, std::size_t> external_names_;
  std::unordered_map<Hash128, std::uint32_t> numbers_;  // by place and layout
};

}  // namespace depute
