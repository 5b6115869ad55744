// A .pt2 file of a chain of linear and relu nodes, as torch.export.save would write it: with a stack trace
// and a module stack at every node, and a zip entry for every weight.
//
//   MlpFile file({.layers = 1000, .width = 64});
//   auto mapped = MappedFile::open(file.path());
#pragma once

#include <string>

namespace depute {

struct MlpShape {
  int layers = 1;  // two nodes and two weights each
  int width = 1;   // f32[width, width] weights, f32[width] biases
};

class MlpFile {
 public:
  explicit MlpFile(const MlpShape& shape);
  ~MlpFile();
  MlpFile(const MlpFile&) = delete;
  MlpFile& operator=(const MlpFile&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace depute
