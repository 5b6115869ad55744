// All refusals of lowering that tests look at, as users read them: refusals.txt.
#include "tests/unit/refusal_log.h"

namespace depute {
namespace {

[[maybe_unused]] const RefusalLog* const log = RefusalLog::start("tests/unit/lower/refusals.txt");

}  // namespace
}  // namespace depute
