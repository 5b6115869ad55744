// Models whose names, symbols, sizes and constants are those of no other model.
#pragma once

#include <fmt/format.h>

#include <string>

namespace depute {

inline std::string numbered_model(int number) {
  return fmt::format(R"(program
dim size_{0} in [2, {1}]
data "layer_{0}.weight": f32[4, 3] = random({0})
data "layer_{0}.bias": f32[4] = random({1})

method forward(%weight_{0}: f32[4, 3] = param "layer_{0}.weight", %bias_{0}: f32[4] = param "layer_{0}.bias", %x_{0}: f32[size_{0}, 3]) {{
  %linear_{0}: f32[size_{0}, 4] = aten.linear.default(%x_{0}, %weight_{0}, %bias_{0}) #1 from "model_{0}.py":{0} "layer_{0}" "aten.linear.default"
  %relu_{0}: f32[size_{0}, 4] = aten.relu.default(%linear_{0}) #2 from "model_{0}.py":{1} "relu_{0}"
  %both_{0}: f32[2*size_{0}, 4] = aten.cat.default([%relu_{0}, %linear_{0}]) #3
  %scaled_{0}: f32[2*size_{0}, 4] = aten.mul.Tensor(%both_{0}, {1}.5) #4
  %cosh_{0}: f32[2*size_{0}, 4] = aten.cosh.default(%scaled_{0}) #5
  return %cosh_{0}
}}
)",
                     number, number + 3);
}

}  // namespace depute
