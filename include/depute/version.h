// The version of these headers. version() (compiler.h) is that of the library.
#pragma once

#define DEPUTE_VERSION_MAJOR 0
#define DEPUTE_VERSION_MINOR 1
#define DEPUTE_VERSION_PATCH 0
