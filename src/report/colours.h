// Terminal escape codes for report texts. Each is empty if colors are off:
//
//   const Colours colours(options.colour);
//   fmt::format("{}refused{}", colours.red, colours.plain)       "\033[31mrefused\033[0m", or "refused"
//
// The caller decides whether to use colors: has_colour() of cli/commands.h.
#pragma once

namespace depute {

struct Colours {
  explicit Colours(bool has_colour)
      : green(has_colour ? "\033[32m" : ""),
        yellow(has_colour ? "\033[33m" : ""),
        red(has_colour ? "\033[31m" : ""),
        bold(has_colour ? "\033[1m" : ""),
        plain(has_colour ? "\033[0m" : "") {}

  const char* green;
  const char* yellow;
  const char* red;
  const char* bold;
  const char* plain;
};

}  // namespace depute
