// Everything that a backend or a partitioner needs.
#pragma once

#include "depute/backend/backend.h"
#include "depute/backend/backend_op.h"
#include "depute/backend/partitioner.h"
#include "depute/backend/partitioners.h"
#include "depute/backend/pattern.h"
#include "depute/backend/pins.h"
#include "depute/backend/proposal.h"
#include "depute/backend/region_options.h"
#include "depute/backend/registry.h"
#include "depute/backend/serve_backend.h"
#include "depute/program.h"
