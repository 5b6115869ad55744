// Prepares text from a file for a message: quoted, without control characters, shortened if long.
//
//   quote("x_2")            ->  'x_2'
//   quote("a\nb")           ->  'a\x0ab'
#pragma once

#include <string>
#include <string_view>

namespace depute {

std::string quote(std::string_view text);

}  // namespace depute
