// A backend for a chip that multiplies and rectifies in one instruction:
//
//   relu(x * y)      ->  chip.mul_relu(x, y)  ->  the text payload "mul_relu;"
//   neg(x)           ->                           "neg;"
#pragma once

#include <depute/backend.h>

depute::BackendEntry chip_backend();
