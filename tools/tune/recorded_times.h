// Times of kernels and delegates from ETDumps of programs of one model, for plans that nobody has run.
//
//   TRY(const RecordedTimes times, RecordedTimes::read({{"plain.etdp", "plain.json"}}));
//   TRY(const std::uint64_t ns, times.of(executable));      fails for what no dump has
//
// A debug handle names the same node of the model in all of its programs. An instruction takes the time of one
// that executes the same nodes in the same kernel or backend. A delegate that no dump has as a whole takes the
// sum of its parts, if its backend traced them, and what a delegate of this backend takes besides them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "depute/compiler/compiler.h"
#include "depute/program/result.h"
#include "depute/tools/profile.h"
#include "depute/tools/tuned_plan.h"
#include "read/read_debug_map.h"

namespace depute {

struct RecordedFiles {
  std::string dump;  // ETDump
  std::string map;   // what `depute lower --debug-map` wrote with the program
};

class RecordedTimes {
 public:
  static Result<RecordedTimes> read(const std::vector<RecordedFiles>& files);

  void add(const Profile& profile);

  // Nanoseconds of one run of each method that a dump has.
  Result<std::uint64_t> of(const Executable& executable) const;

  // Nodes that a delegate executed, with the time of each backend and of kernels for them, the slowest first.
  std::vector<TunedRegion> regions() const;

 private:
  // A kernel or backend, and the handles of the nodes that it executes.
  using Work = std::pair<std::string, std::vector<std::uint32_t>>;

  struct Mean {
    double sum = 0;
    std::uint64_t count = 0;

    void add(double value) {
      sum += value;
      ++count;
    }
    double value() const { return sum / static_cast<double>(count); }
  };

  void add(const ProfiledInstruction& instruction, double runs);
  Result<double> of(const MappedInstruction& instruction) const;
  Result<double> of_parts(const MappedInstruction& delegate) const;

  struct Place {
    std::string lines;
    std::string module;
  };

  std::optional<double> of_kernels(const std::vector<std::uint32_t>& handles) const;

  std::set<std::string> methods_;
  std::map<std::vector<std::uint32_t>, Place> delegates_;  // by their nodes
  std::map<Work, Mean> instructions_;
  std::map<Work, Mean> parts_;           // of delegates: all with the same nodes
  std::map<std::string, Mean> besides_;  // per call of a delegate, by backend
};

}  // namespace depute
