// malloc settings for a short-lived process: grow in large steps, never trim.
#pragma once

namespace depute::platform {

void set_up_memory();

}  // namespace depute::platform
