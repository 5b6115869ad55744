// Name: an interned string (op names, value names, tags, keys). Equal texts are the same pointer, so
// comparing and hashing are cheap.
//
//   Name relu("aten.relu.default");
//   bool found = node.op() == relu;
//
// Name(text) stays until the process ends: it is for the words of code. Texts of a model are Name::scoped(text), and
// go with its programs (name_scope.h). Thread-safe. Never order output by pointer: compare str().
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "depute/api.h"

namespace depute {

class DEPUTE_API Name {
 public:
  constexpr Name() = default;  // the empty text
  explicit Name(std::string_view text);
  // Valid as long as the scope in use, if there is one.
  static Name scoped(std::string_view text);

  std::string_view str() const { return text_ ? std::string_view(*text_) : std::string_view(); }
  bool empty() const { return text_ == nullptr; }

  // Address of the interned text, for cells that store a symbol in a union; from_id() is the inverse.
  const void* id() const { return text_; }
  static Name from_id(const void* id) {
    Name symbol;
    symbol.text_ = static_cast<const std::string*>(id);
    return symbol;
  }

  friend bool operator==(Name, Name) = default;
  friend bool operator==(Name a, std::string_view b) { return a.str() == b; }

 private:
  const std::string* text_ = nullptr;
};

}  // namespace depute

template <>
struct std::hash<depute::Name> {
  std::size_t operator()(depute::Name symbol) const noexcept {
    auto bits = reinterpret_cast<std::size_t>(symbol.id());
    return (bits >> 4) * 0x9E3779B97F4A7C15ULL;
  }
};
