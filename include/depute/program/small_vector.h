// SmallVector: stores its first N elements inline, for lists that are nearly always short (sizes of tensors,
// arguments of calls). For trivially copyable elements only. It has the interface of std::vector, but
// operator[], front() and back() throw std::out_of_range for a missing element.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace depute {

template <typename T, std::size_t N>
class SmallVector {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T> && N > 0);

 public:
  using value_type = T;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using reference = T&;
  using const_reference = const T&;
  using iterator = T*;
  using const_iterator = const T*;

  SmallVector() = default;
  explicit SmallVector(std::size_t count, const T& value = T()) { resize(count, value); }
  SmallVector(std::initializer_list<T> values) { append(values.begin(), values.end()); }
  template <std::forward_iterator Iterator>
  SmallVector(Iterator first, Iterator last) {
    append(first, last);
  }
  SmallVector(const SmallVector& other) { append(other.begin(), other.end()); }
  SmallVector(SmallVector&& other) noexcept { take(other); }
  SmallVector& operator=(const SmallVector& other) {
    if (this != &other) assign(other.begin(), other.end());
    return *this;
  }
  SmallVector& operator=(SmallVector&& other) noexcept {
    if (this != &other) {
      release();
      take(other);
    }
    return *this;
  }
  SmallVector& operator=(std::initializer_list<T> values) {
    assign(values.begin(), values.end());
    return *this;
  }
  ~SmallVector() { release(); }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::size_t capacity() const { return heap_ == nullptr ? N : capacity_; }
  T* data() { return heap_ == nullptr ? reinterpret_cast<T*>(own_) : heap_; }
  const T* data() const { return heap_ == nullptr ? reinterpret_cast<const T*>(own_) : heap_; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  std::reverse_iterator<T*> rbegin() { return std::reverse_iterator<T*>(end()); }
  std::reverse_iterator<T*> rend() { return std::reverse_iterator<T*>(begin()); }
  std::reverse_iterator<const T*> rbegin() const { return std::reverse_iterator<const T*>(end()); }
  std::reverse_iterator<const T*> rend() const { return std::reverse_iterator<const T*>(begin()); }
  T& operator[](std::size_t i) { return data()[checked(i)]; }
  const T& operator[](std::size_t i) const { return data()[checked(i)]; }
  T& front() { return (*this)[0]; }
  const T& front() const { return (*this)[0]; }
  T& back() { return (*this)[std::size_t{size_} - 1]; }
  const T& back() const { return (*this)[std::size_t{size_} - 1]; }

  void clear() { size_ = 0; }
  void reserve(std::size_t count) {
    if (count > capacity()) grow(count);
  }
  void push_back(const T& value) { emplace_back(value); }
  template <typename... Args>
  T& emplace_back(Args&&... args) {
    T value(std::forward<Args>(args)...);  // made before reallocation, because `args` may refer to an element
    if (size_ == capacity()) grow(size_ + 1);
    return *new (data() + size_++) T(value);
  }
  void pop_back() { --size_; }
  void resize(std::size_t count, const T& value = T()) {
    T filler = value;
    reserve(count);
    if (count > size_) std::uninitialized_fill(end(), data() + count, filler);
    size_ = static_cast<std::uint32_t>(count);
  }
  template <std::forward_iterator Iterator>
  void assign(Iterator first, Iterator last) {
    clear();
    append(first, last);
  }
  void assign(std::size_t count, const T& value) {
    T filler = value;
    clear();
    resize(count, filler);
  }
  T* insert(const T* place, const T& value) {
    T copy = value;
    return insert(place, &copy, &copy + 1);
  }
  T* insert(const T* place, std::initializer_list<T> values) {
    return insert(place, values.begin(), values.end());
  }
  T* insert(const T* place, std::size_t count, const T& value) {
    const T copy = value;
    const auto index = place - begin();
    const auto old_size = static_cast<std::ptrdiff_t>(size_);
    resize(size_ + count, copy);
    std::rotate(begin() + index, begin() + old_size, end());
    return begin() + index;
  }
  // The range must not lie in this vector.
  template <std::forward_iterator Iterator>
  T* insert(const T* place, Iterator first, Iterator last) {
    const auto index = place - begin();
    const auto old_size = static_cast<std::ptrdiff_t>(size_);
    append(first, last);
    std::rotate(begin() + index, begin() + old_size, end());
    return begin() + index;
  }
  T* erase(const T* place) { return erase(place, place + 1); }
  T* erase(const T* first, const T* last) {
    T* to = begin() + (first - begin());
    std::copy(last, static_cast<const T*>(end()), to);
    size_ -= static_cast<std::uint32_t>(last - first);
    return to;
  }

  friend bool operator==(const SmallVector& a, const SmallVector& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }
  friend auto operator<=>(const SmallVector& a, const SmallVector& b) {
    const auto [left, right] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
    using Order = decltype(*left <=> *right);
    return left == a.end() || right == b.end() ? Order(a.size_ <=> b.size_) : *left <=> *right;
  }

 private:
  std::size_t checked(std::size_t i) const {
    if (i >= size_) [[unlikely]]
      throw_out_of_range();
    return i;
  }
  [[noreturn, gnu::cold, gnu::noinline]] static void throw_out_of_range() {
    throw std::out_of_range("an element behind the end of a SmallVector");
  }
  template <typename Iterator>
  void append(Iterator first, Iterator last) {
    const auto count = static_cast<std::size_t>(std::distance(first, last));
    reserve(size_ + count);
    std::uninitialized_copy(first, last, end());
    size_ += static_cast<std::uint32_t>(count);
  }
  void take(SmallVector& other) {
    if (other.heap_ == nullptr) {
      std::uninitialized_copy(other.begin(), other.end(), reinterpret_cast<T*>(own_));
    }
    heap_ = std::exchange(other.heap_, nullptr);
    capacity_ = other.capacity_;
    size_ = std::exchange(other.size_, 0);
  }
  void grow(std::size_t count) {
    if (count > std::numeric_limits<std::uint32_t>::max()) throw std::bad_alloc();
    const std::size_t wanted = std::max(count, std::min<std::size_t>(2 * capacity(), UINT32_MAX));
    T* larger = std::allocator<T>().allocate(wanted);
    std::uninitialized_copy(begin(), end(), larger);
    release();
    heap_ = larger;
    capacity_ = static_cast<std::uint32_t>(wanted);
  }
  void release() {
    if (heap_ != nullptr) std::allocator<T>().deallocate(std::exchange(heap_, nullptr), capacity_);
  }

  T* heap_ = nullptr;  // null: elements are in own_
  std::uint32_t size_ = 0;
  std::uint32_t capacity_ = 0;  // capacity of heap_
  alignas(T) std::byte own_[N * sizeof(T)];
};

}  // namespace depute
