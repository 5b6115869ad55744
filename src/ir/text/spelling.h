// Words of enumerations in the text form, shared by printer and parser.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "depute/program/argument.h"
#include "depute/program/program.h"

namespace depute::text {

template <typename Enum, std::size_t count>
using Spellings = std::array<std::pair<Enum, std::string_view>, count>;

inline constexpr Spellings<MemoryFormat, 4> memory_formats = {{
    {MemoryFormat::Contiguous, "contiguous"},
    {MemoryFormat::ChannelsLast, "channels_last"},
    {MemoryFormat::ChannelsLast3d, "channels_last_3d"},
    {MemoryFormat::Preserve, "preserve"},
}};

inline constexpr Spellings<Layout, 7> layouts = {{
    {Layout::SparseCoo, "sparse_coo"},
    {Layout::SparseCsr, "sparse_csr"},
    {Layout::SparseCsc, "sparse_csc"},
    {Layout::SparseBsr, "sparse_bsr"},
    {Layout::SparseBsc, "sparse_bsc"},
    {Layout::Mkldnn, "mkldnn"},
    {Layout::Strided, "strided"},
}};

inline constexpr Spellings<InputSpec::Kind, 6> input_roles = {{
    {InputSpec::Kind::UserInput, "input"},
    {InputSpec::Kind::Parameter, "param"},
    {InputSpec::Kind::Buffer, "buffer"},
    {InputSpec::Kind::Constant, "constant"},
    {InputSpec::Kind::CustomObj, "object"},
    {InputSpec::Kind::Token, "token"},
}};

// Targets of a `store` statement; user outputs are not stored.
inline constexpr Spellings<OutputSpec::Kind, 4> store_roles = {{
    {OutputSpec::Kind::BufferMutation, "buffer"},
    {OutputSpec::Kind::ParameterMutation, "param"},
    {OutputSpec::Kind::UserInputMutation, "input"},
    {OutputSpec::Kind::Token, "token"},
}};

// Types that are one word, or for symbolic types a word and an expression.
inline constexpr Spellings<Type::Kind, 9> type_words = {{
    {Type::Kind::SymInt, "sym_int"},
    {Type::Kind::SymFloat, "sym_float"},
    {Type::Kind::SymBool, "sym_bool"},
    {Type::Kind::None, "none"},
    {Type::Kind::Token, "token"},
    {Type::Kind::String, "string"},
    {Type::Kind::Int, "int"},
    {Type::Kind::Float, "float"},
    {Type::Kind::Bool, "bool"},
}};

template <typename Enum, std::size_t count>
constexpr std::string_view spelling(const Spellings<Enum, count>& table, Enum value) {
  for (const auto& [key, word] : table) {
    if (key == value) return word;
  }
  return {};
}

template <typename Enum, std::size_t count>
constexpr std::optional<Enum> meaning(const Spellings<Enum, count>& table, std::string_view word) {
  for (const auto& [key, text] : table) {
    if (text == word) return key;
  }
  return std::nullopt;
}

}  // namespace depute::text
