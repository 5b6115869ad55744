// Two texts of 4096 bytes that differ and have the same XXH3 hash. Where four bytes of the input equal the
// function's secret, their product is zero, whatever the next four bytes are; these are only added to a sum, to
// which the next stripe of 64 bytes adds as well.
//
//   byte 32: cb 79 e6 4e [1] 0 0 0    byte 96: 82 5a d0 7d [0] 0 0 0
//   byte 32: cb 79 e6 4e [0] 0 0 0    byte 96: 82 5a d0 7d [1] 0 0 0
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace depute {

inline std::pair<std::string, std::string> colliding_bytes() {
  std::string first(4096, '\0');
  first.replace(32, 4, "\xcb\x79\xe6\x4e");
  first.replace(96, 4, "\x82\x5a\xd0\x7d");
  std::string second = first;
  first[36] = second[100] = 1;
  return {first, second};
}

}  // namespace depute
