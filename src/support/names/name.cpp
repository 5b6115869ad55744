#include "depute/program/name.h"

#include "support/names/interned.h"

namespace depute {
namespace {

struct TextRules {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  bool operator()(std::string_view a, std::string_view b) const { return a == b; }
  // The last character tells, because consecutive generated names differ there.
  static std::size_t shard(std::string_view text) {
    return (text.size() + static_cast<unsigned char>(text.back())) % internal::shard_count;
  }
  static void keep_parts(std::string_view, internal::Scope*) {}
};

using NameTable = internal::Table<std::string, TextRules, internal::TableKind::Names>;

NameTable& name_table() {
  static auto* table = new NameTable;  // never destroyed: names outlive every static
  return *table;
}

}  // namespace

Name::Name(std::string_view text) {
  if (!text.empty()) text_ = name_table().intern(text, nullptr);
}

Name Name::scoped(std::string_view text) {
  Name name;
  if (!text.empty()) name.text_ = name_table().intern(text, internal::scope_in_use());
  return name;
}

void internal::keep_name(Name name, Scope* scope) {
  if (name.empty()) return;
  const auto* text = static_cast<const std::string*>(name.id());
  name_table().keep(static_cast<const Entry<std::string>&>(*text), scope);
}

std::size_t count_names() {
  return name_table().size();
}

}  // namespace depute
