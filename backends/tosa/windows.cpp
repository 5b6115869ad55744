#include "windows.h"

namespace depute::tosa {

Tensor fit_window(Emitter& emit, const Tensor& x, std::size_t dim, Slide& slide, std::int64_t count) {
  const std::int64_t end = (count - 1) * slide.stride + (slide.kernel - 1) * slide.dilation + 1;
  slide.after = end - slide.before - x.shape[dim];
  if (slide.after >= 0) return x;
  const std::int64_t size = x.shape[dim] + slide.after;
  slide.after = 0;
  return emit.slice(x, dim, 0, size);
}

Window window_of(const std::vector<Slide>& slides) {
  Window window;
  for (const Slide& slide : slides) {
    window.kernel.push_back(static_cast<std::int32_t>(slide.kernel));
    window.stride.push_back(static_cast<std::int32_t>(slide.stride));
    window.dilation.push_back(static_cast<std::int32_t>(slide.dilation));
    window.pad.push_back(static_cast<std::int32_t>(slide.before));
    window.pad.push_back(static_cast<std::int32_t>(slide.after));
  }
  return window;
}

std::int64_t element(const std::vector<std::int64_t>& list, std::size_t i, std::int64_t otherwise) {
  if (list.empty()) return otherwise;
  return list.size() == 1 ? list[0] : list[i];
}

Order channels_last_order(std::size_t rank) {
  Order order = {0};
  for (std::size_t dim = 2; dim < rank; ++dim) order.push_back(static_cast<std::uint8_t>(dim));
  order.push_back(1);
  return order;
}

Tensor channels_last(Emitter& emit, const Tensor& x) {
  return emit.in_order(x, channels_last_order(x.rank()));
}

}  // namespace depute::tosa
