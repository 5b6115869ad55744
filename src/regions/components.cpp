#include "regions/components.h"

#include <algorithm>

namespace depute {
namespace {

class Tarjan {
 public:
  explicit Tarjan(const Csr& preds)
      : preds_(preds),
        next_edge_(preds.start.begin(), preds.start.end() - 1),
        visited_(preds.size(), 0),
        lowest_(preds.size(), 0) {
    result_.of.assign(preds.size(), still_open);
  }

  Components run() {
    for (std::uint32_t vertex = 0; vertex < preds_.size(); ++vertex) {
      if (visited_[vertex] == 0) search(vertex);
    }
    return std::move(result_);
  }

 private:
  static constexpr std::uint32_t still_open = 0xFFFFFFFF;

  void enter(std::uint32_t vertex) {
    visited_[vertex] = lowest_[vertex] = ++clock_;
    path_.push_back(vertex);
    open_.push_back(vertex);
  }

  void search(std::uint32_t root) {
    enter(root);
    while (!path_.empty()) {
      const std::uint32_t vertex = path_.back();
      if (next_edge_[vertex] < preds_.start[vertex + 1]) {
        const std::uint32_t pred = preds_.items[next_edge_[vertex]++];
        if (visited_[pred] == 0) {
          enter(pred);
        } else if (result_.of[pred] == still_open) {
          lowest_[vertex] = std::min(lowest_[vertex], visited_[pred]);
        }
        continue;
      }
      path_.pop_back();
      if (!path_.empty()) lowest_[path_.back()] = std::min(lowest_[path_.back()], lowest_[vertex]);
      if (lowest_[vertex] == visited_[vertex]) close(vertex);
    }
  }

  // The vertices opened since `first` are one component; components that it depends on are closed already.
  void close(std::uint32_t first) {
    std::uint32_t vertex;
    do {
      vertex = open_.back();
      open_.pop_back();
      result_.of[vertex] = result_.count;
    } while (vertex != first);
    ++result_.count;
  }

  const Csr& preds_;
  std::vector<std::uint32_t> next_edge_;
  std::vector<std::uint32_t> visited_;  // time of the visit, 0 before
  std::vector<std::uint32_t> lowest_;   // earliest open vertex that it reaches
  std::vector<std::uint32_t> path_;     // from the root to the current vertex
  std::vector<std::uint32_t> open_;     // visited, not yet in a component
  std::uint32_t clock_ = 0;
  Components result_;
};

}  // namespace

Components strongly_connected(const Csr& preds) {
  return Tarjan(preds).run();
}

}  // namespace depute
