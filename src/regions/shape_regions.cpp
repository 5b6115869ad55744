#include "regions/shape_regions.h"

#include <algorithm>
#include <numeric>
#include <span>

#include "regions/disjoint_sets.h"
#include "support/check.h"

namespace depute {
namespace {

class NeutralTrimmer {
 public:
  NeutralTrimmer(const AtomGraph& graph, std::vector<std::uint32_t>& region)
      : graph_(graph), region_(region) {}

  void run() {
    for (std::uint32_t atom = 0; atom < graph_.size(); ++atom) {
      if (is_candidate(atom) && hangs_at_entry(atom)) region_[atom] = no_region;
    }
    for (std::uint32_t atom = graph_.size(); atom-- > 0;) {
      if (is_candidate(atom) && hangs_at_exit(atom)) region_[atom] = no_region;
    }
  }

 private:
  bool is_candidate(std::uint32_t atom) const {
    return graph_.support[atom] == Support::Neutral && region_[atom] != no_region;
  }

  // True if an atom of the region other than `except` reads `value`.
  bool has_reader_inside(std::uint32_t value, std::uint32_t region, std::uint32_t except) const {
    return std::ranges::any_of(graph_.succs[value], [&](std::uint32_t reader) {
      return reader != except && region_[reader] == region;
    });
  }

  bool has_reader_outside(std::uint32_t value, std::uint32_t region, std::uint32_t except) const {
    return graph_.returned[value] != 0 || std::ranges::any_of(graph_.succs[value], [&](std::uint32_t reader) {
             return reader != except && region_[reader] != region;
           });
  }

  // Number of different atoms of the row in the region; counts up to 2.
  int neighbors_inside(std::span<const std::uint32_t> row, std::uint32_t region) const {
    std::uint32_t first = no_region;
    for (std::uint32_t other : row) {
      if (region_[other] != region || other == first) continue;
      if (first != no_region) return 2;
      first = other;
    }
    return first == no_region ? 0 : 1;
  }

  // Size of the values that the region imports for `atom` alone.
  std::uint64_t own_imports(std::uint32_t atom) const {
    std::uint64_t total = 0;
    for (std::uint32_t pred : graph_.preds[atom]) {
      if (region_[pred] == region_[atom] || has_reader_inside(pred, region_[atom], atom)) continue;
      total += graph_.weight_of(pred);
    }
    return total;
  }

  bool hangs_at_entry(std::uint32_t atom) const {
    const std::uint32_t region = region_[atom];
    if (neighbors_inside(graph_.preds[atom], region) > 0) return false;
    const int readers = neighbors_inside(graph_.succs[atom], region);
    if (readers > 1) return false;
    const std::uint64_t inside =
        own_imports(atom) + (has_reader_outside(atom, region, atom) ? graph_.weight_of(atom) : 0);
    const std::uint64_t outside = readers == 1 ? graph_.weight_of(atom) : 0;
    return outside <= inside;
  }

  bool hangs_at_exit(std::uint32_t atom) const {
    const std::uint32_t region = region_[atom];
    if (neighbors_inside(graph_.succs[atom], region) > 0) return false;
    if (neighbors_inside(graph_.preds[atom], region) > 1) return false;
    std::uint64_t inside =
        own_imports(atom) + (has_reader_outside(atom, region, atom) ? graph_.weight_of(atom) : 0);
    std::uint64_t outside = 0;
    for (std::uint32_t pred : graph_.preds[atom]) {
      if (region_[pred] != region) continue;
      if (!has_reader_outside(pred, region, atom)) outside = graph_.weight_of(pred);
    }
    return outside <= inside;
  }

  const AtomGraph& graph_;
  std::vector<std::uint32_t>& region_;
};

void drop_without_supported(const AtomGraph& graph, std::vector<std::uint32_t>& region) {
  const std::vector<std::uint32_t> island = islands_of(graph, region);
  std::vector<std::uint8_t> filled(graph.size(), 0);
  for (std::uint32_t atom = 0; atom < graph.size(); ++atom) {
    if (island[atom] != no_region && graph.support[atom] == Support::Supported) filled[island[atom]] = 1;
  }
  for (std::uint32_t atom = 0; atom < graph.size(); ++atom) {
    if (island[atom] != no_region && !filled[island[atom]]) region[atom] = no_region;
  }
}

// Finds the cut points of a region.
class RegionCutter {
 public:
  explicit RegionCutter(const AtomGraph& graph)
      : graph_(graph), region_(graph.size(), no_region), place_(graph.size(), 0) {}

  // Omits runs that contain only neutral atoms.
  void cut(std::span<const std::uint32_t> atoms, std::uint32_t max_nodes, Csr& result) {
    std::size_t nodes = 0;
    for (std::uint32_t atom : atoms) nodes += graph_.nodes[atom].size();
    if (nodes <= max_nodes) {
      result.add_row(atoms);
      return;
    }
    measure_alive(atoms);
    for (std::size_t begin = 0; begin < atoms.size();) {
      const std::size_t end = run_end(atoms, begin, max_nodes);
      const std::span<const std::uint32_t> run = atoms.subspan(begin, end - begin);
      if (std::ranges::any_of(
              run, [&](std::uint32_t atom) { return graph_.support[atom] == Support::Supported; })) {
        result.add_row(run);
      }
      begin = end;
    }
  }

 private:
  // alive_[i]: size of the values computed up to place i and read after it, in this region.
  void measure_alive(std::span<const std::uint32_t> atoms) {
    const std::uint32_t region = atoms.front();
    for (std::uint32_t i = 0; i < atoms.size(); ++i) {
      region_[atoms[i]] = region;
      place_[atoms[i]] = i;
    }
    alive_.assign(atoms.size() + 1, 0);
    for (std::uint32_t i = 0; i < atoms.size(); ++i) {
      std::uint32_t last = i;
      for (std::uint32_t reader : graph_.succs[atoms[i]]) {
        if (region_[reader] == region) last = std::max(last, place_[reader]);
      }
      alive_[i] += graph_.weight_of(atoms[i]);
      alive_[last] -= graph_.weight_of(atoms[i]);
    }
    std::partial_sum(alive_.begin(), alive_.end(), alive_.begin());
  }

  std::size_t run_end(std::span<const std::uint32_t> atoms, std::size_t begin, std::size_t max_nodes) const {
    std::size_t nodes = 0;
    std::size_t best = begin + 1;
    bool in_last_quarter = false;
    for (std::size_t i = begin; i < atoms.size(); ++i) {
      nodes += graph_.nodes[atoms[i]].size();
      if (nodes > max_nodes) return best;
      if (!in_last_quarter || alive_[i] <= alive_[best - 1]) best = i + 1;
      in_last_quarter = nodes >= max_nodes - max_nodes / 4;
    }
    return atoms.size();
  }

  const AtomGraph& graph_;
  std::vector<std::uint32_t> region_;
  std::vector<std::uint32_t> place_;
  std::vector<std::uint64_t> alive_;  // unsigned differences wrap around and cancel
};

}  // namespace

AtomRegions regions_from_labels(const std::vector<std::int32_t>& label) {
  AtomRegions regions;
  regions.region.resize(label.size());
  regions.order.resize(label.size());
  for (std::size_t atom = 0; atom < label.size(); ++atom) {
    const bool inside = (label[atom] & 1) == 0;
    regions.region[atom] = inside ? static_cast<std::uint32_t>(label[atom] / 2) : no_region;
    regions.order[atom] = static_cast<std::uint32_t>(label[atom] + 1);
  }
  return regions;
}

std::vector<std::uint32_t> islands_of(const AtomGraph& graph, const std::vector<std::uint32_t>& region) {
  DisjointSets sets(graph.size());
  for (std::uint32_t atom = 0; atom < graph.size(); ++atom) {
    if (region[atom] == no_region) continue;
    for (std::uint32_t pred : graph.preds[atom]) {
      if (region[pred] == region[atom]) sets.join(pred, atom);
    }
  }
  std::vector<std::uint32_t> island(graph.size(), no_region);
  for (std::uint32_t atom = 0; atom < graph.size(); ++atom) {
    if (region[atom] != no_region) island[atom] = sets.find(atom);
  }
  return island;
}

void trim_neutral(const AtomGraph& graph, std::vector<std::uint32_t>& region) {
  if (std::ranges::find(graph.support, Support::Neutral) == graph.support.end()) return;
  NeutralTrimmer(graph, region).run();
  drop_without_supported(graph, region);
}

void check_order(const AtomGraph& graph, const AtomRegions& regions) {
  for (std::uint32_t atom = 0; atom < graph.size(); ++atom) {
    for (std::uint32_t pred : graph.preds[atom]) {
      CHECK(regions.order[pred] < regions.order[atom] ||
            (regions.order[pred] == regions.order[atom] && regions.region[pred] == regions.region[atom]))
          << "edge " << pred << " -> " << atom << " between regions " << regions.region[pred] << " and "
          << regions.region[atom];
    }
  }
}

Csr collect_regions(const AtomRegions& regions) {
  const std::uint32_t count = static_cast<std::uint32_t>(regions.region.size());
  std::vector<std::uint32_t> first;  // first atom of each region, in order of discovery
  std::vector<std::uint32_t> size;
  std::vector<std::uint32_t> found(count, no_region);
  for (std::uint32_t atom = 0; atom < count; ++atom) {
    if (regions.region[atom] == no_region) continue;
    std::uint32_t& index = found[regions.region[atom]];
    if (index == no_region) {
      index = static_cast<std::uint32_t>(first.size());
      first.push_back(atom);
      size.push_back(0);
    }
    ++size[index];
  }
  std::vector<std::uint32_t> sorted(first.size());
  std::iota(sorted.begin(), sorted.end(), 0U);
  std::ranges::stable_sort(sorted, {}, [&](std::uint32_t index) { return regions.order[first[index]]; });

  Csr rows;
  std::vector<std::uint32_t> next(first.size());
  for (std::uint32_t index : sorted) {
    next[index] = rows.start.back();
    rows.start.push_back(rows.start.back() + size[index]);
  }
  rows.items.resize(rows.start.back());
  for (std::uint32_t atom = 0; atom < count; ++atom) {
    if (regions.region[atom] != no_region) rows.items[next[found[regions.region[atom]]]++] = atom;
  }
  return rows;
}

Csr cut_regions(const AtomGraph& graph, const Csr& regions, std::span<const std::uint32_t> max_nodes) {
  RegionCutter cutter(graph);
  Csr result;
  for (std::size_t region = 0; region < regions.size(); ++region)
    cutter.cut(regions[region], max_nodes[region], result);
  return result;
}

}  // namespace depute
