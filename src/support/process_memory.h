// How a short-lived process uses memory: it takes plenty at once and gives nothing back before it ends.
#pragma once

namespace depute {

void set_up_memory();

}  // namespace depute
