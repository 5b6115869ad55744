// Recipes: options under the names of ExecuTorch's recipes. Backends list theirs (BackendEntry::recipes).
//
//   --recipe xnnpack_pt2e_int8_static_per_channel    ->    --backend xnnpack --quantize static
#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "depute/compiler/compiler.h"
#include "support/try.h"

namespace depute {

Result<std::pair<const BackendEntry*, const BackendRecipe*>> Registry::find_recipe(
    std::string_view name) const {
  std::vector<std::string> names;
  for (const BackendEntry& entry : entries_) {
    const auto found = std::ranges::find(entry.recipes, name, &BackendRecipe::name);
    if (found != entry.recipes.end()) return std::pair(&entry, &*found);
    std::ranges::transform(entry.recipes, std::back_inserter(names), &BackendRecipe::name);
  }
  return failure("usage", "--recipe", fmt::format("there is no recipe '{}'", name),
                 did_you_mean(name, names, "`depute backends --recipes` lists them"));
}

std::string options_text(const BackendEntry& entry, const BackendRecipe& recipe) {
  std::string text = "--backend " + entry.name;
  for (const std::string& rule : recipe.quantize) text += " --quantize " + rule;
  return text;
}

Status add_recipe(const Registry& registry, std::string_view name, LowerOptions& options) {
  TRY(const auto found, registry.find_recipe(name));
  const auto& [entry, recipe] = found;
  if (std::ranges::find(options.backends, entry->name, &BackendRequest::name) == options.backends.end())
    options.backends.push_back({.name = entry->name});
  std::vector<QuantizeRule> added;
  for (const std::string& text : recipe->quantize) {
    TRY(QuantizeRule rule, parse_quantize_rule(text));
    rule.is_optional = true;
    const auto known = std::ranges::find(options.quantize, rule.target, &QuantizeRule::target);
    if (known == options.quantize.end()) {
      added.push_back(std::move(rule));
    } else if (known->is_optional && known->text != rule.text) {
      return failure("usage", "--recipe",
                     fmt::format("'{}' stands for --quantize {}, another recipe for --quantize {}", name,
                                 rule.text, known->text),
                     "give one of them, or the rule that is meant");
    }
  }
  options.quantize.insert(options.quantize.end(), added.begin(), added.end());
  return {};
}

}  // namespace depute
