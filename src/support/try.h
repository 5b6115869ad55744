// Short names of DEPUTE_TRY and DEPUTE_TRY_STATUS for Depute's own sources. Installed headers do not define
// them, because other projects have macros with these names.
#pragma once

#include "depute/program/result.h"

#define TRY DEPUTE_TRY
#define TRY_STATUS DEPUTE_TRY_STATUS
