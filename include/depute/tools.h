// Reports and other tools on top of the compiler.
#pragma once

#include "depute/compiler.h"
#include "depute/tools/bundle.h"
#include "depute/tools/byte_ledger.h"
#include "depute/tools/lock.h"
#include "depute/tools/profile.h"
#include "depute/tools/report.h"
#include "depute/tools/tuned_plan.h"
