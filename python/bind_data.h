// A constant as Python holds it: its key, and a view of its storage.
#pragma once

#include <string>

#include "bind.h"
#include "depute/program/data.h"

namespace depute::python {

struct Constant {
  std::string name;
  TensorData data;
};

}  // namespace depute::python
