// Runs a program three times in ExecuTorch's runtime and writes an ETDump, which `depute profile` reads:
//
//   depute lower MODEL.pt2 --backend xnnpack --debug-map model.json -o model.pte
//   ./profile model.pte model.etdp 1 3 224 224
//   depute profile model.etdp --debug-map model.json
//
// Links what the wheel of ExecuTorch 1.5 has: README.md in this folder has the command.
#include <executorch/devtools/etdump/etdump_flatcc.h>
#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <numeric>
#include <vector>

using executorch::etdump::ETDumpGen;
using executorch::extension::Module;

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: profile MODEL.pte OUT.etdp SIZE...\n");
    return 2;
  }
  std::vector<executorch::aten::SizesType> sizes;
  for (int i = 3; i < argc; ++i) sizes.push_back(std::atoi(argv[i]));
  std::vector<float> data(std::accumulate(sizes.begin(), sizes.end(), std::size_t{1}, std::multiplies<>()), 0.5f);

  Module module(argv[1], Module::LoadMode::MmapUseMlockIgnoreErrors, std::make_unique<ETDumpGen>());
  for (int run = 0; run < 3; ++run) {
    const auto outputs = module.forward(executorch::extension::from_blob(data.data(), sizes));
    if (!outputs.ok()) {
      std::fprintf(stderr, "%s: error %#x\n", argv[1], static_cast<unsigned>(outputs.error()));
      return 1;
    }
  }
  const auto dump = static_cast<ETDumpGen*>(module.event_tracer())->get_etdump_data();
  std::ofstream file(argv[2], std::ios::binary);
  file.write(static_cast<const char*>(dump.buf), static_cast<std::streamsize>(dump.size));
  std::free(dump.buf);
  return file.good() ? 0 : 1;
}
