// Collects the constants of all methods, each range of a storage once. (Equal bytes in different ranges are
// merged when the file is written.) Constants may be external: they are named and stored outside the program.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "depute/program/data.h"
#include "plan/plan.h"

namespace depute {

class ConstantPool {
 public:
  // Constants that belong to one of `files` become external, except single numbers.
  explicit ConstantPool(std::span<const DataFile> files = {}) : files_(files) {}

  // Sets where `tensor`, which holds the whole constant `key`, gets its data from. An output is never
  // external: runtimes would take it for a tensor whose memory they must provide. False if the data cannot be
  // reordered to `type`.
  bool place(PlanTensor& tensor, Name key, const TensorData& data, const TensorType& type, bool is_output);
  // Like place(), for a tensor that views the data of `base` with other sizes; `base` already has a place.
  void place_view(PlanTensor& tensor, const PlanTensor& base, bool is_output);

  // Returns the constant's number, from 1, or 0 if the data cannot be reordered to `type`, the program's
  // type. Contiguous data are used as they are.
  std::uint32_t add(const TensorData& data, const TensorType& type);
  std::vector<TensorData> take() && { return std::move(constants_); }
  std::vector<ExternalConstant> take_external() && { return std::move(external_); }

 private:
  void place_external(PlanTensor& tensor, std::string_view name, const TensorData& dense, std::size_t file);

  std::span<const DataFile> files_;
  std::vector<TensorData> constants_;
  std::vector<ExternalConstant> external_;
  std::unordered_map<std::string, std::size_t> external_names_;
  std::map<std::vector<std::uint64_t>, std::uint32_t> numbers_;  // by place and layout
};

}  // namespace depute
