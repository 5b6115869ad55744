#include "quantize/choose_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "depute/program/interpret.h"
#include "depute/program/text.h"
#include "kernels/tensors.h"
#include "ops/control/control_flow.h"
#include "quantize/calibration_samples.h"
#include "quantize/layers.h"
#include "support/number_text.h"
#include "support/parallel_for.h"
#include "support/try.h"

namespace depute {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

// Rules for all kinds of layers, without selectors, the smallest integers first.
constexpr std::array<std::array<std::string_view, 3>, 2> levels = {
    {{"linear=8da4w:group=32", "embedding=4w:group=32", "conv=8da8w"},
     {"linear=8da8w", "embedding=8w", "conv=8da8w"}}};

// Names of nodes, by the rule that selects them.
using NodesOfRules = std::map<std::string, std::set<std::string>>;

// A way to store a unit, and the noise that it alone adds: of the outputs' energy, the part that is wrong.
struct LayerForm {
  NodesOfRules nodes;  // empty: floats
  std::uint64_t bytes = 0;
  double noise = 0;
};

// Layers that change together, because they share a weight or a name.
struct Unit {
  std::set<std::string> nodes;
  std::map<std::string, std::uint64_t> weights;  // bytes as floats, by name
  std::vector<LayerForm> forms;                  // from the smallest to floats
};

std::string with_nodes(const std::string& rule, const std::set<std::string>& nodes) {
  std::string text = rule;
  char separator = rule.find(':') == rule.npos ? ':' : ',';
  for (const std::string& node : nodes) {
    text += fmt::format("{}only=node:{}", separator, node);
    separator = ',';
  }
  return text;
}

std::vector<std::string> texts_of(const NodesOfRules& all) {
  std::vector<std::string> texts;
  for (const auto& [rule, nodes] : all) texts.push_back(with_nodes(rule, nodes));
  return texts;
}

Result<std::vector<QuantizeRule>> rules_of(const NodesOfRules& all) {
  std::vector<QuantizeRule> rules;
  for (const std::string& text : texts_of(all)) {
    TRY(rules.emplace_back(), parse_quantize_rule(text));
  }
  return rules;
}

// Results of nodes, by the name of the first one.
using KnownResults = std::unordered_map<Name, std::vector<RuntimeValue>>;

// Samples of a method, what it returns for them, and results of its nodes, which nodes before a quantized layer need not compute again.
struct Reference {
  const Method* method;
  std::vector<std::vector<RuntimeValue>> samples;
  std::vector<std::vector<RuntimeValue>> outputs;
  std::vector<KnownResults> known;
};

constexpr std::uint64_t max_known_bytes = std::uint64_t{1} << 30;

bool changes_state(const Method& method) {
  return std::ranges::any_of(method.outputs, [](const OutputSpec& spec) { return spec.mutates_data(); });
}

// Nodes of the method's copy that compute what the nodes of this name compute.
class UnchangedNodes {
 public:
  UnchangedNodes(const Program& program, const Method& method, const Program& copy, const Method& copied)
      : program_(program), copy_(copy) {
    if (changes_state(method)) return;
    for (const Node& node : method.graph->nodes())
      if (!node.results().empty()) nodes_.emplace(node.result(0)->name(), &node);
    std::unordered_set<Name> inputs;
    for (const Value* input : method.graph->inputs()) inputs.insert(input->name());
    for (std::size_t i = 0; i < copied.graph->inputs().size(); ++i) {
      const Value* input = copied.graph->inputs()[i];
      if (inputs.contains(input->name()) && is_same_input(copied.inputs[i])) values_.insert(input);
    }
    for (const Node& node : copied.graph->nodes()) {
      if (!is_same(node)) continue;
      same_.insert(&node);
      for (const Value* result : node.results()) values_.insert(result);
    }
  }

  bool contains(const Node& node) const { return same_.contains(&node); }

 private:
  bool is_same_input(const InputSpec& spec) const {
    if (!spec.has_data()) return true;
    const TensorData* before = program_.find_data(spec.target);
    const TensorData* after = copy_.find_data(spec.target);
    return before != nullptr && after != nullptr && before->storage == after->storage &&
           before->offset == after->offset;
  }

  bool is_same(const Node& node) const {
    if (node.results().empty() || control_flow_kind(node)) return false;
    for (std::size_t i = 0; i < node.operand_count(); ++i)
      if (!values_.contains(node.operand(i))) return false;
    const auto before = nodes_.find(node.result(0)->name());
    return before != nodes_.end() && print(*before->second) == print(node);
  }

  const Program& program_;
  const Program& copy_;
  std::unordered_map<Name, const Node*> nodes_;
  std::unordered_set<const Value*> values_;
  std::unordered_set<const Node*> same_;
};

// `hooks_of` makes the hooks for a sample.
Result<std::vector<std::vector<RuntimeValue>>> outputs_of(const Program& program, const Reference& reference,
                                                          auto&& hooks_of) {
  ProgramState state;
  std::vector<std::vector<RuntimeValue>> all;
  const Method& method = *program.find_method(reference.method->name.str());
  for (std::size_t i = 0; i < reference.samples.size(); ++i) {
    TRY(all.emplace_back(), interpret(program, method, reference.samples[i], state, hooks_of(i)));
  }
  return all;
}

struct Energy {
  double signal = 0;
  double error = 0;
};

void add_energy(Energy& energy, const TensorData& expected, const TensorData& actual) {
  if (!std::ranges::equal(internal::sizes_of(expected), internal::sizes_of(actual))) {
    energy.error = infinite;
    return;
  }
  const internal::Elements<double> right(expected);
  const internal::Elements<double> got(actual);
  auto other = got.begin();
  for (const double element : right) {
    const double error = *other - element;
    ++other;
    if (!std::isfinite(element)) continue;
    energy.signal += element * element;
    energy.error += error * error;
  }
}

// Where each unit is: an index of its forms.
using Choice = std::vector<std::size_t>;

class RuleChooser {
 public:
  RuleChooser(const Program& program, const QuantizeRule& rule, int jobs, const CalibrationProgress& progress)
      : program_(program), rule_(rule), jobs_(jobs), progress_(progress) {}

  Result<AutoRules> run(std::span<const Calibration> calibrations) {
    TRY_STATUS(find_units());
    if (units_.empty())
      return failure("quantize", "", fmt::format("{} selects no layer that can be quantized", rule_.text));
    TRY_STATUS(check_smallest());
    TRY_STATUS(run_reference(calibrations));
    TRY_STATUS(measure_units());
    make_path();
    TRY(const Choice best, rule_.goal->is_size ? best_of_size() : best_of_noise());
    return rules_at(best);
  }

 private:
  // --- layers

  Status find_units() {
    name_weights();
    std::map<std::string_view, std::vector<QuantizedLayer>> found;
    for (const auto& level : levels) {
      for (const std::string_view text : level) {
        if (found.contains(text)) continue;
        Program copy = clone(program_);
        TRY(QuantizeRule rule, parse_quantize_rule(text));
        rule.pins = rule_.pins;
        rule.is_optional = true;
        TRY(QuantizeResult result, quantize(copy, std::span(&rule, 1), jobs_));
        for (const QuantizedLayer& layer : result.layers) join(layer);
        found.emplace(text, std::move(result.layers));
      }
    }
    for (Unit& unit : units_) {
      for (const auto& level : levels) add_form(unit, level, found);
      LayerForm floats;
      for (const auto& [weight, bytes] : unit.weights) floats.bytes += bytes;
      std::erase_if(unit.forms, [&](const LayerForm& form) { return form.bytes >= floats.bytes; });
      std::ranges::stable_sort(unit.forms, {}, &LayerForm::bytes);
      if (unit.forms.empty()) continue;
      other_bytes_ -= std::min(other_bytes_, floats.bytes);
      unit.forms.push_back(std::move(floats));
    }
    std::erase_if(units_, [](const Unit& unit) { return unit.forms.empty(); });
    return {};
  }

  // Tied weights may have several names. The first one counts.
  void name_weights() {
    std::map<const void*, std::string> names;
    for (const auto& [key, data] : program_.data) {
      const Storage& storage = *data.storage;
      const void* place = storage.is_lazy() ? static_cast<const void*>(&storage) : storage.bytes().data();
      const auto [named, is_new] = names.emplace(place, key.str());
      first_names_.emplace(key.str(), named->second);
      if (is_new) other_bytes_ += data.byte_size();
    }
    for (const auto& method : program_.methods) {
      for (const Node& node : method->graph->nodes()) {
        const std::optional<Layer> layer = layer_of(node);
        const InputSpec* spec = layer ? input_spec(*method, *layer->weight) : nullptr;
        const auto named =
            first_names_.find(spec == nullptr ? std::string() : std::string(spec->target.str()));
        if (named != first_names_.end()) users_[named->second].emplace(node.display_symbol().str());
      }
    }
  }

  std::string weight_of(const QuantizedLayer& layer) const {
    const std::string name(layer.weight.str());
    const auto found = first_names_.find(name);
    return found == first_names_.end() ? name : found->second;
  }

  // Adds a layer to the unit that has its name or weight. Units that both have become one.
  void join(const QuantizedLayer& layer) {
    Unit joined;
    joined.nodes.emplace(layer.node.str());
    joined.weights.emplace(weight_of(layer), layer.float_bytes);
    const auto is_apart = [&](const Unit& unit) {
      return !unit.nodes.contains(*joined.nodes.begin()) &&
             !unit.weights.contains(joined.weights.begin()->first);
    };
    const auto same = std::stable_partition(units_.begin(), units_.end(), is_apart);
    for (auto unit = same; unit != units_.end(); ++unit) {
      joined.nodes.merge(unit->nodes);
      joined.weights.merge(unit->weights);
    }
    units_.erase(same, units_.end());
    units_.push_back(std::move(joined));
  }

  // Adds the form that the rules of a level give the unit, if they quantize any of it.
  void add_form(Unit& unit, std::span<const std::string_view> level,
                const std::map<std::string_view, std::vector<QuantizedLayer>>& found) const {
    LayerForm form;
    std::set<std::string> nodes;
    std::set<std::string> weights;
    std::set<std::pair<std::string, std::uint64_t>> stored;  // layers of one weight share its integers
    for (const std::string_view rule : level) {
      for (const QuantizedLayer& layer : found.at(rule)) {
        const std::string node(layer.node.str());
        if (!unit.nodes.contains(node)) continue;
        nodes.insert(node);
        weights.insert(weight_of(layer));
        form.nodes[std::string(rule)].insert(node);
        if (stored.emplace(weight_of(layer), layer.integer_bytes).second) form.bytes += layer.integer_bytes;
      }
    }
    // Layers that the rules leave out keep the floats.
    for (const auto& [weight, bytes] : unit.weights) {
      const auto users = users_.find(weight);
      const bool has_others = users != users_.end() && !std::ranges::includes(nodes, users->second);
      if (has_others || !weights.contains(weight)) form.bytes += bytes;
    }
    const bool is_known = !unit.forms.empty() && unit.forms.back().nodes == form.nodes;
    if (!nodes.empty() && !is_known) unit.forms.push_back(std::move(form));
  }

  // Fails if no form of the layers is small enough.
  Status check_smallest() const {
    std::uint64_t smallest = other_bytes_;
    for (const Unit& unit : units_) smallest += unit.forms.front().bytes;
    if (!rule_.goal->is_size || is_small(smallest)) return {};
    return failure("quantize", "",
                   fmt::format("{}: with all layers in their smallest form, the weights take {}", rule_.text,
                               plural(smallest, "byte")),
                   "accept more bytes");
  }

  // --- noise

  Status run_reference(std::span<const Calibration> calibrations) {
    TRY_STATUS(check_calibrated_methods(program_, calibrations));
    for (const auto& method : program_.methods) {
      if (method->graph->outputs().empty()) continue;
      TRY(const Calibration* calibration, calibration_of(*method, calibrations, "auto"));
      Reference reference{.method = method.get(), .samples = {}, .outputs = {}};
      TRY(reference.samples, calibration_samples(*method, *calibration));
      reference.known.resize(reference.samples.size());
      TRY(reference.outputs, outputs_of(program_, reference, [&](std::size_t sample) {
            return NodeHooks{.known = {}, .observe = [&, sample](const Node& node, auto results) {
                               keep(reference.known[sample], node, results);
                             }};
          }));
      references_.push_back(std::move(reference));
    }
    return {};
  }

  void keep(KnownResults& known, const Node& node, std::span<const RuntimeValue> results) {
    if (results.empty()) return;
    for (const RuntimeValue& result : results)
      if (const auto* data = std::get_if<TensorData>(&result)) known_bytes_ += data->byte_size();
    if (known_bytes_ <= max_known_bytes)
      known.emplace(node.result(0)->name(), std::vector(results.begin(), results.end()));
  }

  // The largest part of an output's energy that is wrong, over all samples.
  Result<double> noise_of(const NodesOfRules& nodes) const {
    Program copy = clone(program_);
    TRY(const std::vector<QuantizeRule> rules, rules_of(nodes));
    TRY(const QuantizeResult ignored, quantize(copy, rules));
    double largest = 0;
    for (const Reference& reference : references_) {
      const UnchangedNodes unchanged(program_, *reference.method, copy,
                                     *copy.find_method(reference.method->name.str()));
      TRY(const auto outputs, outputs_of(copy, reference, [&](std::size_t sample) {
            const auto known = [&, sample](const Node& node) -> const std::vector<RuntimeValue>* {
              if (!unchanged.contains(node)) return nullptr;
              const auto found = reference.known[sample].find(node.result(0)->name());
              return found == reference.known[sample].end() ? nullptr : &found->second;
            };
            return NodeHooks{.known = known, .observe = {}};
          }));
      std::vector<Energy> energies(reference.outputs.empty() ? 0 : reference.outputs[0].size());
      for (std::size_t sample = 0; sample < outputs.size(); ++sample) {
        for (std::size_t i = 0; i < energies.size(); ++i) {
          const auto* expected = std::get_if<TensorData>(&reference.outputs[sample][i]);
          const auto* actual = std::get_if<TensorData>(&outputs[sample][i]);
          if (expected != nullptr && actual != nullptr && is_floating(expected->type.dtype))
            add_energy(energies[i], *expected, *actual);
        }
      }
      for (const Energy& energy : energies) {
        if (energy.error == 0) continue;
        largest =
            std::max(largest, std::isfinite(energy.error) && energy.signal > 0 ? energy.error / energy.signal
                                                                               : infinite);
      }
    }
    return largest;
  }

  Status tell() const {
    return progress_ ? call_foreign("callback", "progress", [&] { progress_(done_, total_); }) : Status();
  }

  Status measure_units() {
    std::vector<LayerForm*> work;
    for (Unit& unit : units_) {
      for (LayerForm& form : unit.forms) {
        if (!form.nodes.empty()) work.push_back(&form);
      }
    }
    total_ = work.size();
    TRY_STATUS(tell());
    const auto at_once = static_cast<std::size_t>(std::max(jobs_, 1));
    for (std::size_t first = 0; first < work.size(); first += at_once) {
      std::vector<Result<double>> noises(std::min(at_once, work.size() - first));
      parallel_for(noises.size(), jobs_,
                   [&](std::size_t i) { noises[i] = noise_of(work[first + i]->nodes); });
      for (std::size_t i = 0; i < noises.size(); ++i) {
        TRY(work[first + i]->noise, std::move(noises[i]));
      }
      done_ = first + noises.size();
      TRY_STATUS(tell());
    }
    return {};
  }

  // --- the path

  void make_path() {
    Choice choice(units_.size(), 0);
    path_.push_back(choice);
    while (true) {
      std::size_t best = units_.size();
      std::size_t best_form = 0;
      double most = -infinite;
      for (std::size_t i = 0; i < units_.size(); ++i) {
        const std::vector<LayerForm>& forms_of_unit = units_[i].forms;
        for (std::size_t to = choice[i] + 1; to < forms_of_unit.size(); ++to) {
          const LayerForm& from = forms_of_unit[choice[i]];
          const double gain = std::isinf(from.noise) ? infinite : from.noise - forms_of_unit[to].noise;
          const double cost =
              std::max(1.0, static_cast<double>(forms_of_unit[to].bytes) - static_cast<double>(from.bytes));
          if (best < units_.size() && gain / cost <= most) continue;
          best = i;
          best_form = to;
          most = gain / cost;
        }
      }
      if (best == units_.size()) return;
      choice[best] = best_form;
      path_.push_back(choice);
    }
  }

  std::uint64_t bytes_at(const Choice& choice) const {
    std::uint64_t bytes = other_bytes_;
    for (std::size_t i = 0; i < units_.size(); ++i) bytes += units_[i].forms[choice[i]].bytes;
    return bytes;
  }

  NodesOfRules nodes_at(const Choice& choice) const {
    NodesOfRules all;
    for (std::size_t i = 0; i < units_.size(); ++i) {
      for (const auto& [rule, nodes] : units_[i].forms[choice[i]].nodes)
        all[rule].insert(nodes.begin(), nodes.end());
    }
    return all;
  }

  static double sqnr_of(double noise) { return noise == 0 ? infinite : -10 * std::log10(noise); }

  // Measured, or the sum of what each unit adds alone.
  AutoPoint point_at(const Choice& choice) const {
    const auto measured = measured_.find(choice);
    double noise = 0;
    for (std::size_t i = 0; i < units_.size(); ++i) noise += units_[i].forms[choice[i]].noise;
    if (measured != measured_.end()) noise = measured->second;
    return {.bytes = bytes_at(choice), .sqnr = sqnr_of(noise), .is_measured = measured != measured_.end()};
  }

  Result<AutoRules> rules_at(const Choice& choice) {
    AutoRules chosen{.texts = texts_of(nodes_at(choice)),
                     .bytes = bytes_at(choice),
                     .float_bytes = bytes_at(path_.back())};
    TRY(const double noise, noise_at(choice));
    chosen.sqnr = sqnr_of(noise);
    for (const Choice& place : path_) chosen.curve.push_back(point_at(place));
    if (std::ranges::find(path_, choice) == path_.end()) chosen.curve.push_back(point_at(choice));
    std::ranges::stable_sort(chosen.curve, {}, &AutoPoint::bytes);
    return chosen;
  }

  Result<double> noise_at(const Choice& choice) {
    const auto known = measured_.find(choice);
    if (known != measured_.end()) return known->second;
    TRY(const double noise, noise_of(nodes_at(choice)));
    measured_.emplace(choice, noise);
    return noise;
  }

  // One level for all units; floats where it has no form.
  std::vector<Choice> uniform_choices() const {
    std::vector<Choice> choices;
    for (const auto& level : levels) {
      Choice& choice = choices.emplace_back();
      for (const Unit& unit : units_) {
        const auto is_of_level = [&](const LayerForm& form) {
          return std::ranges::all_of(form.nodes, [&](const auto& of_rule) {
            return std::ranges::find(level, of_rule.first) != level.end();
          });
        };
        choice.push_back(
            static_cast<std::size_t>(std::ranges::find_if(unit.forms, is_of_level) - unit.forms.begin()));
      }
    }
    return choices;
  }

  // The first place with little enough noise, by halving: the noise falls along the path, but for what cancels out. One level for all
  // units may be smaller.
  Result<Choice> best_of_noise() {
    constexpr double decibels = 10;
    const double limit = std::pow(10, -rule_.goal->bound / decibels);
    std::size_t low = 0;
    std::size_t high = path_.size() - 1;  // all floats
    while (low < high) {
      const std::size_t middle = (low + high) / 2;
      TRY(const double noise, noise_at(path_[middle]));
      if (noise <= limit) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    Choice best = path_[high];
    for (Choice& choice : uniform_choices()) {
      if (bytes_at(choice) >= bytes_at(best)) continue;
      TRY(const double noise, noise_at(choice));
      if (noise <= limit) best = std::move(choice);
    }
    if (best != path_.back()) return best;
    return failure("quantize", "",
                   fmt::format("{}: no layer can be quantized with so little noise", rule_.text),
                   "accept fewer decibels");
  }

  // The steps of the path that fit, in its order, or one level for all units if that makes less noise.
  Result<Choice> best_of_size() {
    Choice best = path_.front();
    for (const Choice& place : path_) {
      for (std::size_t i = 0; i < units_.size(); ++i) {
        if (place[i] <= best[i]) continue;
        Choice next = best;
        next[i] = place[i];
        if (is_small(bytes_at(next))) best = std::move(next);
      }
    }
    for (Choice& choice : uniform_choices()) {
      if (!is_small(bytes_at(choice))) continue;
      TRY(const double noise, noise_at(choice));
      TRY(const double least, noise_at(best));
      if (noise < least) best = std::move(choice);
    }
    return best;
  }

  bool is_small(std::uint64_t bytes) const { return static_cast<double>(bytes) <= rule_.goal->bound; }

  const Program& program_;
  const QuantizeRule& rule_;
  int jobs_;
  const CalibrationProgress& progress_;
  std::map<std::string, std::string> first_names_;      // by the names of weights
  std::map<std::string, std::set<std::string>> users_;  // layers by their weight's first name
  std::vector<Unit> units_;
  std::uint64_t other_bytes_ = 0;  // of what is no layer's weight
  std::vector<Reference> references_;
  std::uint64_t known_bytes_ = 0;      // of all Reference::known
  std::vector<Choice> path_;           // from the smallest program to floats
  std::map<Choice, double> measured_;  // noise
  std::size_t done_ = 0;
  std::size_t total_ = 0;
};

}  // namespace

Result<AutoRules> choose_rules(const Program& program, const QuantizeRule& rule,
                               std::span<const Calibration> calibrations, int jobs,
                               const CalibrationProgress& progress) {
  if (calibrations.empty())
    return failure("usage", "--quantize", "auto requires calibration inputs", "--calibrate FILE.npz");
  return RuleChooser(program, rule, jobs, progress).run(calibrations);
}

}  // namespace depute
