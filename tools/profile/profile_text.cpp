// Writes a profile as text in 80 columns, and as a page. Ticks are nanoseconds.
//
//   By source line               ms a run      %
//     model.py:12, 14               0.400   78.4
//     between instructions          0.110   21.6
#include <fmt/format.h>

#include <algorithm>

#include "depute/program/result.h"
#include "depute/tools/profile.h"
#include "support/number_text.h"
#include "tools/document/document.h"
#include "tools/report/page_parts.h"
#include "tools/run/run.h"

namespace depute {
namespace {

double milliseconds(std::uint64_t ticks, std::uint64_t runs) {
  constexpr double ticks_of_millisecond = 1e6;
  return static_cast<double>(ticks) / ticks_of_millisecond /
         static_cast<double>(std::max<std::uint64_t>(runs, 1));
}

std::string title_of(const MethodProfile& method) {
  std::string text = method.method.empty() ? "the method" : method.method;
  text += fmt::format(": {}, {:.3f} ms each", plural(method.runs, "run"),
                      milliseconds(method.ticks, method.runs));
  if (method.runs > 1)
    text += fmt::format(" ({:.3f} to {:.3f})", milliseconds(method.least, 1), milliseconds(method.most, 1));
  return text;
}

doc::Row profile_row(doc::Cell name, std::uint64_t ticks, const MethodProfile& of) {
  return {{std::move(name), fmt::format("{:.3f}", milliseconds(ticks, of.runs)),
           fmt::format("{:.1f}", percent(ticks, of.ticks))}};
}

std::vector<doc::Row> instruction_rows(const MethodProfile& method) {
  std::vector<doc::Row> rows;
  for (const ProfiledInstruction& each : method.instructions) {
    rows.push_back(profile_row({doc::code(fmt::format("{:>5}  {}", each.index, each.name)), each.lines},
                               each.ticks, method));
    for (const ProfiledPiece& piece : each.pieces) {
      rows.push_back(profile_row({doc::code(piece.identifier), piece.lines}, piece.ticks, method));
      rows.back().is_part = true;
    }
  }
  return rows;
}

doc::Table profile_table(std::string title, std::vector<doc::Row> rows) {
  doc::Column ms = doc::number("ms a run", 12);
  ms.gap = "";
  return {.title = std::move(title),
          .columns = {{.name = "What", .min_width = 58, .max_width = 58, .is_cut = true},
                      ms,
                      {.name = "%", .kind = doc::Column::Kind::Percent, .min_width = 9, .gap = ""}},
          .rows = std::move(rows),
          .has_names = true,
          .indent = 0};
}

doc::Table profile_table(std::string title, const std::vector<ProfileRow>& rows, const MethodProfile& of) {
  return profile_table(std::move(title), doc::rows_of(rows, [&](const ProfileRow& row) {
                         return profile_row(doc::code("  " + row.name), row.ticks, of);
                       }));
}

void add_method(const Profile& profile, const MethodProfile& method, doc::Document& document) {
  document.heading(title_of(method));
  document.add(profile_table("By instruction", instruction_rows(method)));
  if (profile.has_lines) {
    document.add(profile_table("By source line", method.by_line, method));
    document.add(profile_table("By module", method.by_module, method));
  }
  document.add(profile_table("By kernel and delegate", method.by_kernel, method));
}

void add_outside(const std::vector<ProfileRow>& rows, doc::Document& document) {
  MethodProfile whole{.runs = 1};
  for (const ProfileRow& row : rows) whole.ticks += row.ticks;
  doc::Table table = profile_table("Outside of runs", rows, whole);
  table.columns[1].name = "ms";
  table.columns[2].is_in_text = false;
  document.add(std::move(table));
}

void add_tensors(const std::vector<ProfiledTensor>& tensors, doc::Document& document) {
  doc::Table table{
      .title = "Tensors",
      .columns = {{.name = "What", .min_width = 40, .max_width = 40, .is_cut = true}, {.name = "Elements"}},
      .has_names = true,
      .indent = 0};
  for (const ProfiledTensor& tensor : tensors) {
    const std::string number = tensor.instruction < 0 ? "" : std::to_string(tensor.instruction);
    table.rows.push_back({{{doc::code(fmt::format("{:>5}  {}", number, tensor.name)), tensor.lines},
                           statistics_text(tensor.data)}});
  }
  document.add(std::move(table));
}

doc::Document profile_document(const Profile& profile) {
  doc::Document document{.title = std::string(file_name(profile.dump)), .kicker = "Profile"};
  document.blocks = {doc::Line{profile.dump, false}};
  for (const MethodProfile& method : profile.methods) add_method(profile, method, document);
  add_outside(profile.outside, document);
  add_tensors(profile.tensors, document);
  if (!profile.has_lines)
    document.line("note: no lines of the model: give --debug-map FILE, which lower writes");
  if (!profile.has_pieces) document.line("note: no events from inside of delegates: the dump has none");
  return document;
}

}  // namespace

std::string profile_text(const Profile& profile, std::size_t top, bool color) {
  Profile slowest_first = profile;
  for (MethodProfile& method : slowest_first.methods)
    std::ranges::stable_sort(method.instructions, std::ranges::greater(), &ProfiledInstruction::ticks);
  return render_text(profile_document(slowest_first), {.top = top, .has_color = color});
}

std::string profile_html(const Profile& profile) {
  return render_html(profile_document(profile), page_parts::style());
}

}  // namespace depute
