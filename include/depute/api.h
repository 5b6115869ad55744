// The version of these headers, and the mark of everything that libdepute.so exports. The version of the library is
// version() (compiler.h).
#pragma once

#define DEPUTE_VERSION_MAJOR 0
#define DEPUTE_VERSION_MINOR 1
#define DEPUTE_VERSION_PATCH 0

// Marks the classes and functions that programs outside the library may use; all others are hidden in it.
#define DEPUTE_API __attribute__((visibility("default")))
