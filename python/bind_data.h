// A constant as Python holds it: its key, and a view of its storage.
#pragma once

#include <string>
#include <vector>

#include "bind.h"
#include "depute/program/data.h"
#include "depute/program/interpret.h"

namespace depute::python {

struct Constant {
  std::string name;
  TensorData data;
};

// Values of the reference kernels from Constants, numbers and None.
std::vector<RuntimeValue> contents_of(const nb::list& objects);

}  // namespace depute::python
