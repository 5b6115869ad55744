// What cores can compute at most: GFLOP/s of fused multiply-adds of f32 in registers, on so many threads at
// once. bench/compare_engines.py compiles it for the machine it runs on, and tells what share models reach.
//
//   c++ -std=c++20 -O3 -march=native bench/peak_flops.cpp -o peak_flops && ./peak_flops 2
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

#if defined(__AVX512F__)
constexpr std::size_t vector_bytes = 64;
#elif defined(__AVX__)
constexpr std::size_t vector_bytes = 32;
#else
constexpr std::size_t vector_bytes = 16;
#endif

using Vector [[gnu::vector_size(vector_bytes)]] = float;
constexpr std::size_t chains = 12;  // more than the latency of one times those that begin in a cycle
constexpr int steps = 1'000'000;
constexpr int trials = 50;

void compute(Vector& result) {
  std::array<Vector, chains> sums{};
  for (std::size_t i = 0; i < chains; ++i)
    sums[i] += static_cast<float>(i);  // equal ones would be computed once
  const Vector factor = Vector{} + 0.999F;
  const Vector summand = Vector{} + 0.001F;
  for (int step = 0; step < steps; ++step)
    for (Vector& sum : sums) sum = sum * factor + summand;
  for (const Vector& sum : sums) result += sum;
}

double seconds_of(std::size_t threads) {
  const auto start = std::chrono::steady_clock::now();
  std::vector<Vector> results(threads);
  std::vector<std::thread> others;
  for (std::size_t i = 1; i < threads; ++i) others.emplace_back(compute, std::ref(results[i]));
  compute(results[0]);
  for (std::thread& other : others) other.join();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  volatile float kept = results[0][0];
  static_cast<void>(kept);
  return took.count();
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t threads = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1;
  double least = 1e9;
  for (int trial = 0; trial < trials; ++trial) least = std::min(least, seconds_of(threads));
  constexpr double operations = 2.0 * steps * chains * vector_bytes / sizeof(float);
  std::printf("%.1f\n", static_cast<double>(threads) * operations / least / 1e9);
}
