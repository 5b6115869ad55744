// Everything that embeds the compiler: its steps, stages and options.
#pragma once

#include "depute/api.h"
#include "depute/backend.h"
#include "depute/compiler/command_line.h"
#include "depute/compiler/compile.h"
#include "depute/compiler/compiler.h"
#include "depute/compiler/exported_model.h"
#include "depute/compiler/normalize.h"
#include "depute/compiler/quantize.h"
#include "depute/compiler/taps.h"
#include "depute/compiler/to_backend.h"
#include "depute/compiler/worker.h"
#include "depute/compiler/write_options.h"
