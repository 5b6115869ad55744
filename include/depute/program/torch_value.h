// TorchValue: a value of Python that torch.load reads, such as the inputs of a model.
//
//   const TorchValue inputs{TorchValue::List{{std::int64_t{2}}, {0.5}, {std::string("text")}}};
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "depute/program/data.h"

namespace depute {

// Tensors that share a storage also share it in the file.
struct TorchValue {
  struct Parameter {
    TensorData data;
  };
  using List = std::vector<TorchValue>;
  using Dict = std::vector<std::pair<std::string, TorchValue>>;
  std::variant<std::nullptr_t, bool, std::int64_t, double, std::string, TensorData, Parameter, List, Dict>
      value = nullptr;
};

}  // namespace depute
