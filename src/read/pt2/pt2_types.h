// Reads the types of values in a .pt2 program: tensor metadata and symbolic expressions.
//
//   {"dtype": 7, "sizes": [{"as_expr": {"expr_str": "Symbol('s0', ...)"}}, {"as_int": 3}], ...}
//     ->  f32[s0, 3]
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "depute/program/result.h"
#include "depute/program/type.h"
#include "read/json.h"

namespace depute {

// Reads a size, a stride or an offset.
using ReadSize = std::function<Result<SymInt>(const Json&)>;

Result<TensorType> read_tensor_type(const Json& meta, const ReadSize& read_size);

// Reads a static size: always {"as_int": n}.
Result<SymInt> read_constant_size(const Json& json);

// Reads the symbols of one model. A symbol is shared by all graphs of a model, but not by other models. Names
// that an earlier model of the program uses get the prefix "<method>.".
class SymbolReader {
 public:
  // `ranges` (of the program) and `taken` (names that earlier models use) must outlive the reader.
  SymbolReader(Ranges& ranges, const std::unordered_set<std::string>& taken, std::string prefix);

  // Reads {"s0": {"min_val": 2, "max_val": null}, "2*s0": ...}. Keys that are not expressions are ignored.
  Status read_ranges(const Json& constraints);
  // Reads {"as_int": 3}, {"as_float": 0.5}, {"as_bool": true} or {"as_expr": {"expr_str": ...}}.
  Result<const SymExpr*> expression(const Json& json);
  Result<SymInt> size(const Json& json);

  // Returns the names in the program of all symbols read so far.
  const std::unordered_set<std::string>& used() const { return used_; }

 private:
  const SymExpr* symbol(std::string_view name, std::int64_t least);

  Ranges& ranges_;
  const std::unordered_set<std::string>& taken_;
  std::string prefix_;
  std::unordered_set<std::string> used_;
  // The texts point into the model's JSON document.
  std::unordered_map<std::string_view, const SymExpr*> by_text_;
};

}  // namespace depute
