// Version of these headers. The version of the library is version() (compiler.h).
#pragma once

#define DEPUTE_VERSION_MAJOR 0
#define DEPUTE_VERSION_MINOR 1
#define DEPUTE_VERSION_PATCH 0
