#include "find_converter.h"

#include <array>

#include "backends/tosa/find_tool.h"

namespace depute::vgf {
namespace {

constexpr std::array variables = {"DEPUTE_MODEL_CONVERTER", "MODEL_CONVERTER_PATH"};
constexpr std::array names = {"model-converter", "model_converter"};
constexpr tosa::ToolKind model_converter = {
    .backend = "vgf",
    .what = "Arm's model-converter, which makes VGF files,",
    .option = "converter",
    .variables = variables,
    .names = names,
    .in_packages = "model_converter/binaries/bin/model-converter",
    .hint =
        "pip install ai-ml-sdk-model-converter, or name the program in the option converter or in "
        "DEPUTE_MODEL_CONVERTER"};

}  // namespace

Result<std::string> find_converter(std::string_view chosen) {
  return tosa::find_tool(model_converter, chosen);
}

}  // namespace depute::vgf
