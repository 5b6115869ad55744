// Writes a profile as text in 80 columns, and as a page. Ticks are nanoseconds.
//
//   By source line               ms a run      %
//     model.py:12, 14               0.400   78.4
//     between instructions          0.110   21.6
#include <fmt/format.h>

#include <algorithm>

#include "depute/program/result.h"
#include "depute/tools/profile.h"
#include "tools/report/colors.h"
#include "tools/report/html.h"
#include "tools/report/page_parts.h"

namespace depute {
namespace {

constexpr std::size_t name_columns = 58;
constexpr double ticks_of_millisecond = 1e6;

double milliseconds(std::uint64_t ticks, std::uint64_t runs) {
  return static_cast<double>(ticks) / ticks_of_millisecond /
         static_cast<double>(std::max<std::uint64_t>(runs, 1));
}

double percent(std::uint64_t ticks, std::uint64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(ticks) / static_cast<double>(whole);
}

// Shortens a long text at its start: the file and line are at the end.
std::string fitting(std::string text, std::size_t columns) {
  text = printable(text);
  if (text.size() <= columns) return text;
  std::size_t start = text.size() - (columns - 3);
  // UTF-8 continuation bytes
  while (start < text.size() && (static_cast<unsigned char>(text[start]) & 0xC0U) == 0x80U) ++start;
  return "..." + text.substr(start);
}

std::string title_of(const MethodProfile& method) {
  std::string text = method.method.empty() ? "the method" : method.method;
  text += fmt::format(": {} {}, {:.3f} ms each", method.runs, method.runs == 1 ? "run" : "runs",
                      milliseconds(method.ticks, method.runs));
  if (method.runs > 1)
    text += fmt::format(" ({:.3f} to {:.3f})", milliseconds(method.least, 1), milliseconds(method.most, 1));
  return text;
}

// Notes about data that the dump lacks, and how to get them.
std::vector<std::string> notes_of(const Profile& profile) {
  std::vector<std::string> notes;
  if (!profile.has_lines)
    notes.emplace_back("no lines of the model: give --debug-map FILE, which lower writes");
  if (!profile.has_pieces) notes.emplace_back("no events from inside of delegates: the dump has none");
  return notes;
}

class ProfileTextWriter {
 public:
  ProfileTextWriter(const Profile& profile, std::size_t top, bool color)
      : profile_(profile), top_(top), colors_(color) {}

  std::string run() {
    out_ = printable(profile_.dump) + "\n";
    for (const MethodProfile& method : profile_.methods) add_method(method);
    if (!profile_.outside.empty()) {
      add_head("Outside of runs", "ms");
      for (const ProfileRow& row : profile_.outside) add_row("  " + row.name, milliseconds(row.ticks, 1), -1);
    }
    for (const std::string& note : notes_of(profile_)) out_ += fmt::format("note: {}\n", note);
    return std::move(out_);
  }

 private:
  void add_method(const MethodProfile& method) {
    out_ += fmt::format("\n{}\n", printable(title_of(method)));
    std::vector<const ProfiledInstruction*> instructions;
    for (const ProfiledInstruction& each : method.instructions) instructions.push_back(&each);
    std::ranges::stable_sort(instructions, std::ranges::greater(), &ProfiledInstruction::ticks);
    add_head("By instruction", "ms a run");
    const std::size_t shown = shown_of(instructions.size());
    for (std::size_t i = 0; i < shown; ++i) add_instruction(method, *instructions[i]);
    add_more(instructions.size() - shown);
    if (profile_.has_lines) {
      add_table("By source line", method, method.by_line);
      add_table("By module", method, method.by_module);
    }
    add_table("By kernel and delegate", method, method.by_kernel);
  }

  std::size_t shown_of(std::size_t count) const { return top_ == 0 ? count : std::min(count, top_); }

  void add_more(std::size_t count) {
    if (count > 0) out_ += fmt::format("  and {} more; --top 0 lists all\n", count);
  }

  void add_head(std::string_view title, std::string_view unit) {
    const std::string head =
        fmt::format("{:<{}}{:>12}{:>9}", title, name_columns, unit, unit == "ms" ? "" : "%");
    out_ += fmt::format("\n{}{}{}\n", colors_.bold, head.substr(0, head.find_last_not_of(' ') + 1),
                        colors_.plain);
  }

  // A negative share is not printed.
  void add_row(const std::string& name, double ms, double share) {
    out_ += fmt::format("{:<{}}{:>12.3f}", fitting(name, name_columns), name_columns, ms);
    if (share >= 0) out_ += fmt::format("{:>9.1f}", share);
    out_ += '\n';
  }

  void add_table(std::string_view title, const MethodProfile& method, const std::vector<ProfileRow>& rows) {
    add_head(title, "ms a run");
    const std::size_t shown = shown_of(rows.size());
    for (std::size_t i = 0; i < shown; ++i)
      add_row("  " + rows[i].name, milliseconds(rows[i].ticks, method.runs),
              percent(rows[i].ticks, method.ticks));
    add_more(rows.size() - shown);
  }

  void add_instruction(const MethodProfile& method, const ProfiledInstruction& each) {
    add_row(fmt::format("{:>5}  {}", each.index, each.name), milliseconds(each.ticks, method.runs),
            percent(each.ticks, method.ticks));
    if (!each.lines.empty()) out_ += fmt::format("         {}\n", fitting(each.lines, 70));
    for (const ProfiledPiece& piece : each.pieces) {
      add_row(fmt::format("         . {}", piece.identifier), milliseconds(piece.ticks, method.runs),
              percent(piece.ticks, method.ticks));
      if (!piece.lines.empty()) out_ += fmt::format("             {}\n", fitting(piece.lines, 66));
    }
  }

  const Profile& profile_;
  std::size_t top_;
  Colors colors_;
  std::string out_;
};

// A table with a bar for each row's share. Callers escape the text.
class ProfilePage {
 public:
  explicit ProfilePage(const Profile& profile) : profile_(profile) {}

  std::string run() {
    const std::string title = escape_html(file_name(profile_.dump));
    out_ = fmt::format(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
        "'unsafe-inline'; "
        "img-src data:\">\n<meta name=\"color-scheme\" content=\"light dark\">\n"
        "<link rel=\"icon\" href=\"data:,\">\n<title>{}: "
        "profile</title>\n<style>\n{}{}</style>\n</head>\n<body>\n"
        "<header><div class=\"name\"><p class=\"kicker\">Profile</p><h1>{}</h1></div></header>\n<main>\n",
        title, page_parts::style(), profile_style, title);
    for (const MethodProfile& method : profile_.methods) add_method(method);
    if (!profile_.outside.empty()) {
      std::uint64_t whole = 0;
      for (const ProfileRow& row : profile_.outside) whole += row.ticks;
      add_rows("Outside of runs", profile_.outside, whole, 1);
    }
    for (const std::string& note : notes_of(profile_))
      out_ += fmt::format("<p class=\"dim\">{}</p>\n", escape_html(note));
    return out_ + "</main>\n</body>\n</html>\n";
  }

 private:
  static constexpr std::string_view profile_style =
      "table.spent { width: 100%; border-collapse: collapse; }\n"
      ".spent td, .spent th { padding: .3rem .6rem .3rem 0; border-top: 1px solid var(--line); text-align: "
      "left; "
      "vertical-align: top; }\n"
      ".spent .number { text-align: right; }\n"
      ".spent .share { width: 26%; }\n"
      ".spent .share span { display: block; height: .7rem; margin-top: .4rem; min-width: 1px; border-radius: "
      "3px; "
      "background: var(--backend-0); print-color-adjust: exact; }\n"
      ".spent .piece td:first-child { padding-left: 1.5rem; }\n";

  void add_method(const MethodProfile& method) {
    out_ += fmt::format("<section><h2>{}</h2>\n<h3>By instruction</h3>\n", escape_html(title_of(method)));
    open_table();
    for (const ProfiledInstruction& each : method.instructions) {
      add_cells("", fmt::format("{} {}", each.index, each.name), each.lines, each.ticks, method);
      for (const ProfiledPiece& piece : each.pieces)
        add_cells(" class=\"piece\"", piece.identifier, piece.lines, piece.ticks, method);
    }
    out_ += "</table></section>\n";
    if (profile_.has_lines) {
      add_rows("By source line", method.by_line, method.ticks, method.runs);
      add_rows("By module", method.by_module, method.ticks, method.runs);
    }
    add_rows("By kernel and delegate", method.by_kernel, method.ticks, method.runs);
  }

  void open_table() {
    out_ +=
        "<table class=\"spent\">\n<tr><th>What</th><th class=\"number\">ms a run</th>"
        "<th class=\"number\">%</th><th class=\"share\"></th></tr>\n";
  }

  void add_cells(std::string_view attributes, std::string_view name, std::string_view lines,
                 std::uint64_t ticks, const MethodProfile& method) {
    const std::string where =
        lines.empty() ? "" : fmt::format("<br><code class=\"dim\">{}</code>", escape_html(lines));
    add_line(attributes, fmt::format("<code>{}</code>{}", escape_html(name), where),
             milliseconds(ticks, method.runs), percent(ticks, method.ticks));
  }

  void add_line(std::string_view attributes, std::string_view cell, double ms, double share) {
    out_ += fmt::format(
        "<tr{}><td>{}</td><td class=\"number\">{:.3f}</td><td class=\"number\">{:.1f}</td>"
        "<td class=\"share\"><span style=\"width:{:.1f}%\"></span></td></tr>\n",
        attributes, cell, ms, share, std::min(share, 100.0));
  }

  void add_rows(std::string_view title, const std::vector<ProfileRow>& rows, std::uint64_t whole,
                std::uint64_t runs) {
    out_ += fmt::format("<section><h2>{}</h2>\n", title);
    open_table();
    for (const ProfileRow& row : rows)
      add_line("", fmt::format("<code>{}</code>", escape_html(row.name)), milliseconds(row.ticks, runs),
               percent(row.ticks, whole));
    out_ += "</table></section>\n";
  }

  const Profile& profile_;
  std::string out_;
};

}  // namespace

std::string profile_text(const Profile& profile, std::size_t top, bool color) {
  return ProfileTextWriter(profile, top, color).run();
}

std::string profile_html(const Profile& profile) {
  return ProfilePage(profile).run();
}

}  // namespace depute
