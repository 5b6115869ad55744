// to_backend: hands the parts of a program that partitioners chose to their backends. ExecuTorch's three
// forms:
//
//   DEPUTE_TRY(Delegate delegate, to_backend("MyBackend", program, specs, registry));  // all of it as one delegate
//   DEPUTE_TRY(Lowered lowered, to_backend(program, partitioner, registry));  // methods through one partitioner
//   DEPUTE_TRY(Lowered parts, to_backend(program, {{"encode", &a}, {"decode", &b}}, registry));  // through their own
//
// The input program is not changed: the result is a new program that shares its data, with one delegate.call
// per partition and one Delegate per call. A failed call leaves no trace. All forms are one code path: all
// methods are carved, then each backend gets all its partitions in one preprocess_multimethod.
//
// Order, which is stable: methods as in the program; in a method its own graph, then control-flow bodies in
// node order, depth first; in a graph the order of the calls. Delegates are named after their tags, with _1,
// _2, ... where a name is taken; they get debug handles behind the largest one of the program, in that order.
// Backends are asked in the order of their first partition.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "depute/partitioner.h"
#include "depute/program.h"
#include "depute/registry.h"
#include "depute/result.h"
#include "depute/result_cache.h"
#include "depute/why_apart.h"

#pragma GCC visibility push(default)

namespace depute {

struct ToBackendOptions {
  int jobs = 1;
  // Calls each partitioner and each backend twice, and refuses one that gives two different answers.
  bool check_determinism = false;
  bool verified = false;        // verify_input() has passed the program
  bool tell_why_apart = false;  // fill Lowered::apart, which takes time
  CacheOptions cache = {};      // not used with check_determinism
  // Only to see who would take what: no backend is called, and delegates have no bytes.
  bool without_payloads = false;
};

// A node's verdict as data, so that it outlives the graph it was given on.
struct NodeVerdict {
  Symbol method;
  Symbol graph;  // the control-flow body it lies in; empty: the method's own graph
  Symbol node;   // its first result's name, as in the normalised program
  Symbol op;
  std::string source;  // "model.py:12 (features.0)"
  Symbol delegate;     // name of the delegate that took it; empty when none
  Verdict verdict;
  std::vector<std::uint32_t> replaced = {};  // debug handles of the nodes in whose place it stands
};

// Why two delegates of one backend are not one, as data: why_apart.h.
struct ApartDelegates {
  Symbol method;
  Symbol graph;  // as a node's verdict has it
  Symbol first;  // delegates
  Symbol second;
  WhyApart::Reason reason = WhyApart::Reason::Choice;
  std::vector<Symbol> path;  // nodes
  std::vector<Symbol> path_after;
  std::string text;
};

struct AllApart {
  std::vector<ApartDelegates> pairs;  // in method order
  std::size_t not_told = 0;           // pairs beside them
};

struct Lowered {
  Program program;
  std::vector<NodeVerdict> verdicts;  // of every node of methods with a partitioner, in method and node order
  AllApart apart;
  CacheUse cache;
};

// Errors carry an id of lowering_error.h and name method, tag, node, backend and the user's line, as far as
// they are known.
using MethodPartitioners = std::map<std::string, const Partitioner*, std::less<>>;
Result<Lowered> to_backend(const Program& program, const MethodPartitioners& partitioners,
                           const Registry& registry, const ToBackendOptions& options = {});
Result<Lowered> to_backend(const Program& program, const Partitioner& partitioner, const Registry& registry,
                           const ToBackendOptions& options = {});

// A whole program (of one method) as one delegate, without a partitioner: ExecuTorch's LoweredBackendModule.
Result<Delegate> to_backend(std::string_view backend_id, const Program& program,
                            const std::vector<CompileSpec>& compile_specs, const Registry& registry,
                            const ToBackendOptions& options = {});

// The delegate standing alone: a program of one method, `forward`, that calls it. Its inputs and results are
// the delegate's; constants and state lie inside. Fails for a delegate without its original program, which
// tells the types of inputs and results.
Result<Program> as_program(const Delegate& delegate);

}  // namespace depute

#pragma GCC visibility pop
