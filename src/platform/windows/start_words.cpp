#include "platform/windows/start_words.h"

#include <algorithm>
#include <cstdlib>

#include "platform/windows/system_parts.h"

namespace depute::platform {
namespace {

// Backslashes are doubled only before a quotation mark, and at the end of a word.
std::string quoted(const std::string& word) {
  if (!word.empty() && word.find_first_of(" \t\n\v\"") == word.npos) return word;
  std::string text = "\"";
  std::size_t slashes = 0;
  for (const char c : word) {
    if (c == '"') text.append(slashes + 1, '\\');
    slashes = c == '\\' ? slashes + 1 : 0;
    text += c;
  }
  return text.append(slashes, '\\') + '"';
}

}  // namespace

std::wstring command_line(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + quoted(word);
  return wide(line);
}

// Programs look for their libraries in SystemRoot, and for the folder of temporary files in TMP and TEMP.
std::wstring environment_block(std::vector<std::string> lines) {
  if (const char* root = std::getenv("SystemRoot")) lines.push_back(std::string("SystemRoot=") + root);
  const auto temporary =
      std::ranges::find_if(lines, [](const auto& line) { return line.starts_with("TMPDIR="); });
  if (temporary != lines.end()) {
    const std::string folder = temporary->substr(temporary->find('='));
    lines.insert(lines.end(), {"TMP" + folder, "TEMP" + folder});
  }
  std::wstring block;
  for (const std::string& line : lines) block += wide(line) + L'\0';
  return block + L'\0';
}

}  // namespace depute::platform
