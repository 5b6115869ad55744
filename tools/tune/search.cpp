#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <limits>
#include <optional>
#include <set>

#include "depute/tools/report.h"
#include "ir/program_names.h"
#include "plan/plan.h"
#include "support/guarded.h"
#include "support/hasher.h"
#include "support/mapped_file.h"
#include "support/temporary_folder.h"
#include "support/try.h"
#include "tools/tune/moves.h"
#include "tools/tune/tune.h"

namespace depute {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// A turn makes calls for about this time, which makes a start of a process worth it.
constexpr double turn_ns = 1.5e8;
constexpr std::uint64_t max_repeat = 200;
// A comparison runs both plans in turns, so many times. A change that loses two turns is not kept.
constexpr int turns = 5;
constexpr int turns_to_keep = 7;
constexpr int max_losses = 1;
// A change is kept if it takes at most this part of the time, and compared in more turns only if the first one says so, too.
constexpr double faster = 0.98;
constexpr int max_attempts = 3;
// Static plans within this factor of the fastest are compared in turns.
constexpr double near = 1.25;
// A plan that takes so many times as long as the fastest one need not end.
constexpr int hopeless = 3;
constexpr int part_to_predict = 4;
constexpr milliseconds first_limit = std::chrono::minutes(10);
constexpr milliseconds spare_time = std::chrono::seconds(3);  // a busy machine may start a process late

// Errors in what a command printed have a place in it.
std::string reason_of(const Diagnostic& error) {
  return error.code == "tune" ? error.message : fmt::format("{}: {}", error.where, error.message);
}

// A plan with its program.
struct Candidate {
  DelegationPlan plan;
  std::string file;                    // .pte
  std::size_t trial = 0;               // in Tuned::trials
  std::uint64_t ns = 0;                // the smallest of all turns; 0: not measured
  milliseconds process{};              // of the last turn
  std::string map;                     // debug map, of a plan that needs no measurement
  std::optional<Report> report;        // none: it is not tried again
  Result<std::uint64_t> recorded = 0;  // its time by TuneOptions::recorded
};

class PlanSearch {
 public:
  PlanSearch(const Compiler& compiler, const Exported& exported, const TuneOptions& options,
             TemporaryFolder folder)
      : compiler_(compiler),
        exported_(exported),
        options_(options),
        folder_(std::move(folder)),
        end_(steady_clock::now() + options.budget) {}

  Result<Tuned> run(const DelegationPlan& asked) {
    if (options_.recorded) times_ = *options_.recorded;
    TRY_STATUS(try_static_plans(asked));
    Candidate* best_static = best_;
    bool is_better = true;
    while (is_better && !is_over()) {
      TRY(is_better, try_changes());
    }
    tuned_.is_complete = !is_better && !is_over();
    if (best_ != best_static && !is_stopped()) {
      TRY(const double ratio, compare(*best_, *best_static, turns, turns));
      if (ratio >= 1 || best_->ns > best_static->ns) best_ = best_static;
    }
    tuned_.regions = times_.regions();
    tuned_.best = best_->plan;
    tuned_.ns = best_->ns;
    tuned_.best_static = best_static->plan;
    tuned_.static_ns = best_static->ns;
    return std::move(tuned_);
  }

 private:
  bool is_stopped() const { return options_.is_stopped && options_.is_stopped(); }
  bool is_over() const { return steady_clock::now() >= end_ || is_stopped(); }
  TunedTrial& trial_of(const Candidate& candidate) { return tuned_.trials[candidate.trial]; }

  // --- programs

  // Lowers a plan. Returns null if it does not lower, or gives a program that was tried.
  Result<Candidate*> add(DelegationPlan plan) {
    TunedTrial trial{.backends = plan.arguments(), .together = plan.is_joint};
    Candidate candidate{.plan = std::move(plan),
                        .file = fmt::format("{}/{}.pte", folder_.path(), tuned_.trials.size()),
                        .trial = tuned_.trials.size()};
    if (Status done = lower(candidate); !done) {
      const bool is_asked = tuned_.trials.empty();
      if (done.error().code == "write" || done.error().code == memory_code ||
          (is_asked && done.error().code == "usage"))
        return Failure(done.error());
      trial.left_out = fmt::format("does not lower: {}", done.error().message);
      tuned_.trials.push_back(std::move(trial));
      return nullptr;
    }
    TRY(const std::shared_ptr<const MappedFile> file, MappedFile::open(candidate.file));
    trial.program = sha256(file->bytes()).hex();
    if (!programs_.insert(trial.program).second) return nullptr;
    tuned_.trials.push_back(std::move(trial));
    return &candidates_.emplace_back(std::move(candidate));
  }

  Status lower(Candidate& candidate) {
    TRY(Delegated delegated, compiler_.lower(exported_, candidate.plan.applied_to(options_.lower)));
    candidate.report = make_report(delegated);
    TRY(const Executable executable, to_executorch(std::move(delegated), options_.write));
    if (static_ns_ == 0) candidate.map = debug_map(executable);
    if (options_.recorded) {
      candidate.recorded = options_.recorded->of(executable);
    } else if (meter_ == nullptr) {
      make_meter(executable.plan());
    }
    TRY(const PteFile file, write_file(executable, candidate.file));
    return {};
  }

  // Runs all methods that compute something, unless some were named.
  void make_meter(const Plan& plan) {
    MeterOptions options = options_.meter;
    std::vector<MeasuredMethod> all;
    for (const ExecutionPlan& method : plan.methods) {
      if (!method.instructions.empty()) all.push_back({.name = method.name, .inputs = {}});
    }
    for (MeasuredMethod& method : options.methods) {
      if (method.name.empty()) method.name = all.size() == 1 ? all[0].name : "forward";
    }
    if (options.methods.empty()) options.methods = std::move(all);
    meter_ = std::make_unique<Meter>(std::move(options));
  }

  // --- times

  milliseconds limit() const {
    return best_ == nullptr ? first_limit : best_->process * hopeless + spare_time;
  }

  Result<Turn> run(const Candidate& candidate) const {
    if (!options_.recorded) return meter_->run(candidate.file, repeat_, limit());
    TRY(const std::uint64_t ns, candidate.recorded);
    return Turn{.ns = ns, .outputs = {}};
  }

  // Runs a candidate once. Returns its time; 0 if it cannot be run, or computes something else.
  std::uint64_t take_turn(Candidate& candidate) {
    TunedTrial& trial = trial_of(candidate);
    const Result<Turn> turn = run(candidate);
    if (!turn) {
      if (!is_stopped()) trial.left_out = reason_of(turn.error());
      return 0;
    }
    if (outputs_.empty()) outputs_ = turn->outputs;
    const auto is_near = [](const OutputStatistics& a, const OutputStatistics& b) { return a.is_near(b); };
    if (!turn->outputs.empty() && !std::ranges::equal(turn->outputs, outputs_, is_near)) {
      trial.left_out = "its outputs differ from those of the plan that was asked for";
      return 0;
    }
    if (!options_.recorded || trial.ns.empty()) trial.ns.push_back(turn->ns);
    candidate.ns = candidate.ns == 0 ? turn->ns : std::min(candidate.ns, turn->ns);
    candidate.process = turn->process;
    report_progress();
    return turn->ns;
  }

  // Runs a candidate that ran before. A device may fail once; fails if it does so repeatedly. Returns 0 if the user stops it.
  Result<std::uint64_t> take_turn_again(Candidate& candidate) {
    for (int i = 0; i < max_attempts; ++i) {
      if (const std::uint64_t ns = take_turn(candidate); ns > 0) {
        trial_of(candidate).left_out.clear();
        return ns;
      }
      if (is_stopped()) return 0;
    }
    return failure("tune", candidate.plan.text(),
                   "it ran before, and fails now: " + trial_of(candidate).left_out);
  }

  // Runs both in turns. Returns the median of how long `a` takes in relation to `b`; infinity if `a` cannot be run or was slower more
  // than `losses` times.
  Result<double> compare(Candidate& a, Candidate& b, int count, int losses) {
    constexpr double never = std::numeric_limits<double>::infinity();
    if (options_.recorded) count = 1;  // the same in each turn
    std::vector<double> ratios;
    for (int i = 0; i < count; ++i) {
      const std::uint64_t ns_a = take_turn(a);
      if (ns_a == 0) return never;
      TRY(const std::uint64_t ns_b, take_turn_again(b));
      if (ns_b == 0) return never;
      ratios.push_back(static_cast<double>(ns_a) / static_cast<double>(ns_b));
      if (ratios.back() >= 1 && --losses < 0) return never;
    }
    const auto middle = ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2);
    std::ranges::nth_element(ratios, middle);
    return *middle;
  }

  void report_progress() const {
    if (!options_.progress || best_ == nullptr) return;
    options_.progress({.measured = programs_.size(),
                       .ns = best_->ns,
                       .gain = static_cast<double>(static_ns_) / static_cast<double>(best_->ns)});
  }

  // --- steps

  Status try_static_plans(const DelegationPlan& asked) {
    std::vector<Candidate*> measured;
    for (DelegationPlan& plan : static_plans(asked)) {
      if (best_ != nullptr && is_over()) break;
      TRY(Candidate * candidate, add(std::move(plan)));
      if (candidate == nullptr || take_turn(*candidate) == 0) continue;
      if (measured.empty()) {
        repeat_ = std::clamp<std::uint64_t>(
            static_cast<std::uint64_t>(turn_ns / static_cast<double>(candidate->ns)), repeat_, max_repeat);
      }
      measured.push_back(candidate);
      if (best_ == nullptr || candidate->ns < best_->ns) best_ = candidate;
    }
    if (best_ == nullptr) return nothing_runs();
    for (const Candidate* candidate : measured) trace(*candidate);
    for (Candidate* candidate : measured) {
      const bool is_near = static_cast<double>(candidate->ns) <= near * static_cast<double>(best_->ns);
      if (candidate == best_ || !is_near || is_over()) continue;
      TRY(const double ratio, compare(*candidate, *best_, turns, max_losses));
      if (ratio < 1) best_ = candidate;
    }
    static_ns_ = best_->ns;
    return {};
  }

  Failure nothing_runs() const {
    Diagnostic error{
        .code = "tune",
        .message = is_stopped() ? "stopped before a plan was measured" : "no plan can be measured"};
    for (const TunedTrial& trial : tuned_.trials)
      error.details.push_back(
          fmt::format("{}: {}", DelegationPlan::plan_text(trial.backends, trial.together), trial.left_out));
    return Failure(std::move(error));
  }

  // Traces a program that ran, to predict others. A runtime that cannot trace is none the worse.
  void trace(const Candidate& candidate) {
    if (options_.recorded || !options_.meter.is_traceable || is_over()) return;
    const auto dumps = meter_->trace(candidate.file, repeat_, limit(), folder_.path());
    if (!dumps) return;
    for (const std::string& name : *dumps) {
      const auto dump = MappedFile::open(name);
      if (!dump) return;
      const auto profile = profile_of({.dump = (*dump)->bytes(),
                                       .dump_name = name,
                                       .map = std::as_bytes(std::span(candidate.map)),
                                       .map_name = "map"});
      if (profile) times_.add(*profile);
    }
  }

  std::optional<std::uint64_t> predict(const DelegationPlan& plan) const {
    Result<Delegated> delegated = compiler_.lower(exported_, plan.applied_to(options_.lower));
    if (!delegated) return std::nullopt;
    const Result<Executable> executable = to_executorch(*std::move(delegated), options_.write);
    if (!executable) return std::nullopt;
    const Result<std::uint64_t> ns = times_.of(*executable);
    return ns ? std::optional(*ns) : std::nullopt;
  }

  // Changes that the traces say are faster come first, and those that they say are slower last. Predicting takes a part of the time that is left.
  std::vector<PlanChange> promising_first(std::vector<PlanChange> changes) const {
    const std::optional<std::uint64_t> base = options_.recorded ? std::nullopt : predict(best_->plan);
    if (!base) return changes;
    const auto last = steady_clock::now() + (end_ - steady_clock::now()) / part_to_predict;
    std::vector<std::pair<double, PlanChange>> ordered;
    for (PlanChange& change : changes) {
      double ratio = 1;
      if (steady_clock::now() < last && !is_stopped()) {
        if (const auto ns = predict(change.applied_to(best_->plan)))
          ratio = static_cast<double>(*ns) / static_cast<double>(*base);
      }
      const bool is_near = ratio > faster && ratio * faster < 1;
      ordered.emplace_back(is_near ? 1 : ratio, std::move(change));
    }
    std::ranges::stable_sort(ordered, {}, &std::pair<double, PlanChange>::first);
    changes.clear();
    for (auto& [ratio, change] : ordered) changes.push_back(std::move(change));
    return changes;
  }

  // Tries each change of the best plan in one turn, then the promising ones again, each on top of those that were kept. Returns true
  // if one was kept.
  Result<bool> try_changes() {
    struct Promise {
      double ratio;
      PlanChange change;
      Candidate* candidate;
    };
    std::vector<Promise> promises;
    Candidate* base = best_;
    for (PlanChange& change : promising_first(changes_of(base->plan, *base->report, compiler_.registry()))) {
      if (is_over()) break;
      TRY(Candidate * candidate, add(change.applied_to(base->plan)));
      if (candidate == nullptr) continue;
      TRY(const double ratio, compare(*candidate, *base, 1, 1));
      if (ratio <= faster) {
        promises.push_back({ratio, std::move(change), candidate});
      } else {
        forget(*candidate);
      }
    }
    std::ranges::stable_sort(promises, {}, &Promise::ratio);
    for (const auto& [ratio, change, alone] : promises) {
      if (is_over()) break;
      Candidate* candidate = alone;
      if (best_ != base) {
        TRY(candidate, add(change.applied_to(best_->plan)));
      }
      if (candidate != nullptr) TRY_STATUS(keep_if_faster(*candidate));
    }
    return best_ != base;
  }

  Status keep_if_faster(Candidate& candidate) {
    TRY(const double ratio, compare(candidate, *best_, turns_to_keep, max_losses));
    if (ratio <= faster) best_ = &candidate;
    return {};
  }

  // Frees the program of a candidate that is not tried again.
  void forget(Candidate& candidate) {
    std::error_code ignored;
    std::filesystem::remove(candidate.file, ignored);
    candidate.report.reset();
  }

  const Compiler& compiler_;
  const Exported& exported_;
  const TuneOptions& options_;
  TemporaryFolder folder_;
  steady_clock::time_point end_;
  std::unique_ptr<Meter> meter_;
  std::uint64_t repeat_ = 3;
  std::deque<Candidate> candidates_;  // their addresses stay
  std::set<std::string> programs_;
  std::vector<OutputStatistics> outputs_;
  Candidate* best_ = nullptr;
  std::uint64_t static_ns_ = 0;
  RecordedTimes times_;  // of programs that were traced
  Tuned tuned_;
};

}  // namespace

Result<Tuned> tune(const Compiler& compiler, const Exported& exported, const DelegationPlan& asked,
                   const TuneOptions& options) {
  return guarded([&]() -> Result<Tuned> {
    const NameScope::Use use(names_of(exported.program()));
    TRY(TemporaryFolder folder, TemporaryFolder::create("depute-tune"));
    return PlanSearch(compiler, exported, options, std::move(folder)).run(asked);
  });
}

}  // namespace depute
