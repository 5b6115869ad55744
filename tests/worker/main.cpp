// A worker that serves the built-in backend of its own name, for tests that compare the two ways to run one:
//
//   ln -s depute-backend-worker depute-backend-xnnpack; depute lower m.pt2 --backend exec:./depute-backend-xnnpack
#include <cstdlib>

#include "depute/backend/serve_backend.h"

int main(int argc, char** argv) {
  const depute::Registry registry = depute::make_registry();
  return depute::serve_backend(argc, argv, registry, depute::worker_name(argc > 0 ? argv[0] : ""),
                               {.version = "as built in"});
}
