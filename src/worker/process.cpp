// The process around a command line.
#include "depute/compiler/worker.h"
#include "platform/process_memory.h"
#include "support/clean_up.h"
#include "worker/process_tree.h"

namespace depute {

void set_up_process() {
  clean_up_on_signals();
  adopt_orphans();
  platform::set_up_memory();
}

void clean_up_process() {
  run_clean_ups();
}

void end_process(int signal) {
  end_by_signal(signal);
}

}  // namespace depute
