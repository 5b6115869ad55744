#include "depute/program/result.h"

namespace depute {

std::string Diagnostic::str() const {
  std::string text = "[" + code + "]";
  if (!where.empty()) text += " " + where + ":";
  text += " " + message;
  if (!source.empty()) text += " (" + source + ")";
  for (const std::string& detail : details) text += "\n  " + detail;
  return text;
}

Failure failure(std::string_view code, std::string_view where, std::string_view message,
                std::string_view hint) {
  return Failure(Diagnostic{.code = std::string(code),
                            .where = std::string(where),
                            .message = std::string(message),
                            .hint = std::string(hint),
                            .source = {}});
}

}  // namespace depute
