#include "regions/region_graph.h"

namespace depute {

Csr transposed(const Csr& rows) {
  const std::size_t count = rows.size();
  Csr result;
  result.start.assign(count + 1, 0);
  for (std::uint32_t item : rows.items) ++result.start[item + 1];
  for (std::size_t row = 0; row < count; ++row) result.start[row + 1] += result.start[row];

  result.items.resize(rows.items.size());
  std::vector<std::uint32_t> next(result.start.begin(), result.start.end() - 1);
  for (std::uint32_t row = 0; row < count; ++row) {
    for (std::uint32_t item : rows[row]) result.items[next[item]++] = row;
  }
  return result;
}

}  // namespace depute
