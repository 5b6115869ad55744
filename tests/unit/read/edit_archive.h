// Archives for tests: a sample with some of its entries changed, or one made from scratch, in a temporary
// file.
//
//   EditedArchive archive("tests/models/samples/mlp.pt2");
//   archive.json("models/model.json")["/graph_module/graph/nodes/0/target"_json_pointer] = "";
//   auto program = archive.read();
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "read/pt2/read_pt2.h"
#include "zip_writer.h"

namespace depute {

class EditedArchive {
 public:
  EditedArchive() = default;
  explicit EditedArchive(const std::string& path);  // entries without their common prefix
  ~EditedArchive();
  EditedArchive(const EditedArchive&) = delete;
  EditedArchive& operator=(const EditedArchive&) = delete;

  // The entry as JSON to be edited; written back by read().
  nlohmann::ordered_json& json(const std::string& entry);
  nlohmann::ordered_json& program() { return json("models/model.json"); }
  nlohmann::ordered_json& graph() { return program()["graph_module"]["graph"]; }
  nlohmann::ordered_json& signature() { return program()["graph_module"]["signature"]; }

  std::map<std::string, std::string> entries;
  bool deflate = false;
  std::string prefix = "sample/";

  Result<Program> read(const ReadOptions& options = {});
  // The error's text, or "no error".
  std::string message(const ReadOptions& options = {});

 private:
  std::map<std::string, nlohmann::ordered_json> edited_;
  std::string path_;
};

Result<Program> read_file(const std::string& path, const ReadOptions& options = {});

}  // namespace depute
