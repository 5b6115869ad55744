#include "read/pt2/pt2_source.h"
#include "support/try.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace depute {
namespace {

constexpr std::size_t max_source_text = 200;  // bytes kept of a source line

// True for frames of torch itself and of generated code, which are not part of the user's model.
bool is_torch_file(std::string_view file) {
  return file.starts_with('<') || file.starts_with("torch/") || file.contains("-packages/torch/") ||
         file.contains("/pytorch/torch/");
}

struct Frame {
  std::string_view file;
  std::int32_t line = 0;
  std::string_view function;
  std::string_view text;
};

std::string_view without_blanks_in_front(std::string_view line) {
  line.remove_prefix(std::min(line.find_first_not_of(" \t\r"), line.size()));
  return line;
}

constexpr std::string_view frame_start = "File \"";

// Parses `File "model.py", line 12, in forward`, and the source line behind it, unless that is a frame
// itself.
std::optional<Frame> parse_frame(std::string_view text, std::string_view behind) {
  constexpr std::string_view middle = "\", line ";
  if (!text.starts_with(frame_start)) return std::nullopt;
  text.remove_prefix(frame_start.size());
  std::size_t end = text.find(middle);
  if (end == std::string_view::npos) return std::nullopt;
  Frame frame{.file = text.substr(0, end)};
  text.remove_prefix(end + middle.size());
  const char* const line_end = std::from_chars(text.data(), text.data() + text.size(), frame.line).ptr;
  text.remove_prefix(static_cast<std::size_t>(line_end - text.data()));
  constexpr std::string_view in = ", in ";
  if (text.starts_with(in)) frame.function = text.substr(in.size(), max_source_text);
  if (!behind.starts_with(frame_start)) frame.text = behind.substr(0, max_source_text);
  return frame;
}

// Returns where the last line starts. Searches forward in blocks, because string_view::rfind scans bytewise and
// traces are a third of a file's text.
std::size_t start_of_last_line(std::string_view text) {
  constexpr std::size_t block = 64;
  for (std::size_t from = text.size(); from > 0;) {
    const std::size_t size = std::min(block, from);
    from -= size;
    const std::string_view part = text.substr(from, size);
    std::size_t start = 0;
    for (std::size_t end = part.find('\n'); end != part.npos; end = part.find('\n', start)) start = end + 1;
    if (start > 0) return from + start;
  }
  return 0;
}

// Removes and returns the last line of the text.
std::string_view take_last_line(std::string_view& text) {
  const std::size_t start = start_of_last_line(text);
  const std::string_view line = text.substr(start);
  text = text.substr(0, start == 0 ? 0 : start - 1);
  return line;
}

// Returns the last frame of the trace that is the user's.
Frame innermost_user_frame(std::string_view trace) {
  std::string_view behind;
  while (!trace.empty()) {
    const std::string_view line = without_blanks_in_front(take_last_line(trace));
    auto frame = parse_frame(line, behind);
    if (frame && !is_torch_file(frame->file)) return *frame;
    behind = line;
  }
  return {};
}

// Returns the path in the last entry of `key,path,type;key,path,type`; commas inside brackets do not
// separate.
std::string_view innermost_module(std::string_view stack) {
  std::size_t last = stack.rfind(';');
  std::string_view entry = last == std::string_view::npos ? stack : stack.substr(last + 1);
  int depth = 0;
  std::size_t first_comma = std::string_view::npos;
  for (std::size_t i = 0; i < entry.size(); ++i) {
    char c = entry[i];
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    if (c != ',' || depth != 0) continue;
    if (first_comma != std::string_view::npos) {
      std::string_view path = entry.substr(first_comma + 1, i - first_comma - 1);
      return path.starts_with("_empty_nn_module_stack") ? std::string_view() : path;
    }
    first_comma = i;
  }
  return {};
}

// Returns "linear" for `linear_1;builtin_function_or_method.linear`.
std::string_view called_function(std::string_view torch_fn) {
  std::size_t semicolon = torch_fn.rfind(';');
  if (semicolon == std::string_view::npos) return {};
  std::string_view function = torch_fn.substr(semicolon + 1);
  std::size_t dot = function.find('.');
  return dot == std::string_view::npos ? function : function.substr(dot + 1);
}

Result<std::string_view> text_of(const Json& metadata, std::string_view key) {
  TRY(Json json, metadata.optional_field(key));
  if (json.is_null()) return std::string_view();
  return json.string();
}

}  // namespace

Result<SourceLocation> read_source(const Json& metadata) {
  SourceLocation source;
  if (metadata.is_null()) return source;
  TRY(std::string_view trace, text_of(metadata, "stack_trace"));
  TRY(std::string_view modules, text_of(metadata, "nn_module_stack"));
  TRY(std::string_view torch_fn, text_of(metadata, "torch_fn"));
  TRY(std::string_view custom, text_of(metadata, "custom"));
  Frame frame = innermost_user_frame(trace);
  source.file = Name::scoped(frame.file);
  source.line = frame.line;
  source.line_text = Name::scoped(frame.text);
  static const Name forward("forward");  // almost every frame
  source.function = frame.function == forward.str() ? forward : Name::scoped(frame.function);
  source.module_path = Name::scoped(innermost_module(modules));
  source.original_op = Name::scoped(called_function(torch_fn));
  source.custom = Name::scoped(custom);
  return source;
}

}  // namespace depute
