#include "kernels/spatial.h"

#include <fmt/format.h>

namespace depute::internal {

Triple last_dims(const Shape& sizes, std::size_t rank) {
  Triple last = {1, 1, 1};
  for (std::size_t i = 0; i < rank; ++i) last[spatial_rank - rank + i] = sizes[sizes.size() - rank + i];
  return last;
}

Result<Triple> window_numbers(const Shape& list, std::size_t rank, std::int64_t lead, std::int64_t least,
                              const Triple& otherwise) {
  constexpr std::int64_t limit = std::int64_t{1} << 20;
  if (list.empty()) return otherwise;
  if (list.size() != rank && list.size() != 1)
    return bad_arguments("expected one value per spatial dimension");
  Triple numbers = {lead, lead, lead};
  for (std::size_t i = 0; i < rank; ++i) {
    std::int64_t number = list[list.size() == 1 ? 0 : i];
    if (number < least || number > limit) {
      return bad_arguments(
          fmt::format("a window parameter of {} is out of range [{}, {}]", number, least, limit));
    }
    numbers[spatial_rank - rank + i] = number;
  }
  return numbers;
}

Result<Triple> window_moves(const Triple& sizes, const Window& window, Rounding rounding) {
  Triple moves{};
  for (std::size_t i = 0; i < spatial_rank; ++i) {
    std::int64_t reach = window.dilation[i] * (window.kernel[i] - 1) + 1;
    std::int64_t room = sizes[i] + 2 * window.padding[i] - reach;
    if (room < 0)
      return bad_arguments(
          fmt::format("a window of {} is larger than the {} padded elements", reach, sizes[i]));
    std::int64_t stride = window.stride[i];
    moves[i] = (room + (rounding == Rounding::Up ? stride - 1 : 0)) / stride + 1;
    // Drops a window that starts in the padding after the elements.
    if (rounding == Rounding::Up && (moves[i] - 1) * stride >= sizes[i] + window.padding[i]) --moves[i];
  }
  return moves;
}

}  // namespace depute::internal
