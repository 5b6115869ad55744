// Terminal escape codes for report texts. Each is empty if colors are off:
//
//   const Colors colors(options.color);
//   fmt::format("{}refused{}", colors.red, colors.plain)       "\033[31mrefused\033[0m", or "refused"
//
// The caller decides whether to use colors: has_color() of cli/commands.h.
#pragma once

namespace depute {

struct Colors {
  explicit Colors(bool has_color)
      : green(has_color ? "\033[32m" : ""),
        yellow(has_color ? "\033[33m" : ""),
        red(has_color ? "\033[31m" : ""),
        bold(has_color ? "\033[1m" : ""),
        plain(has_color ? "\033[0m" : "") {}

  const char* green;
  const char* yellow;
  const char* red;
  const char* bold;
  const char* plain;
};

}  // namespace depute
