// Text from a file, made fit for a message: quoted, without control characters, cut when it is long.
//
//   quote("x_2")            ->  'x_2'
//   quote("a\nb")           ->  'a\x0ab'
#pragma once

#include <string>
#include <string_view>

namespace depute {

std::string quote(std::string_view text);

}  // namespace depute
