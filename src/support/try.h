// The short names of DEPUTE_TRY and DEPUTE_TRY_STATUS, for our own source files. No installed header has
// them: other projects have macros of these names.
#pragma once

#include "depute/result.h"

#define TRY DEPUTE_TRY
#define TRY_STATUS DEPUTE_TRY_STATUS
