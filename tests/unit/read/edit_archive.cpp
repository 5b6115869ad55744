#include "edit_archive.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "read/pt2/archive.h"
#include "support/try.h"

namespace depute {

EditedArchive::EditedArchive(const std::string& path) {
  auto file = MappedFile::open(path);
  EXPECT_TRUE(file) << path;
  if (!file) return;
  ReadLimits limits;
  ReadBudget budget(limits);
  auto archive = Archive::open({.bytes = (*file)->bytes(), .file = *file}, path, limits, budget);
  EXPECT_TRUE(archive) << path;
  if (!archive) return;
  std::string_view old_prefix = archive->prefix_of("archive_format").value_or("");
  for (const ArchiveEntry& entry : archive->entries()) {
    auto bytes = archive->read(entry);
    EXPECT_TRUE(bytes) << entry.name;
    if (!bytes) continue;
    entries[std::string(entry.name.substr(old_prefix.size()))] =
        std::string(reinterpret_cast<const char*>(bytes->bytes.data()), bytes->bytes.size());
  }
}

EditedArchive::~EditedArchive() {
  if (!path_.empty()) std::filesystem::remove(path_);
}

nlohmann::ordered_json& EditedArchive::json(const std::string& entry) {
  auto [found, is_new] = edited_.try_emplace(entry);
  if (is_new) found->second = nlohmann::ordered_json::parse(entries.at(entry));
  return found->second;
}

Result<Program> EditedArchive::read(const ReadOptions& options) {
  for (const auto& [entry, content] : edited_) entries[entry] = content.dump();
  std::vector<ZipEntry> zip;
  for (const auto& [name, content] : entries) {
    zip.push_back({.name = prefix + name, .content = content, .deflate = deflate});
  }
  if (path_.empty()) {
    static int count = 0;
    path_ = (std::filesystem::temp_directory_path() /
             ("depute_read_test_" + std::to_string(::getpid()) + "_" + std::to_string(count++) + ".pt2"))
                .string();
  }
  std::filesystem::remove(path_);  // an earlier program may still have it mapped
  std::ofstream(path_, std::ios::binary) << make_zip(zip);
  return read_file(path_, options);
}

std::string EditedArchive::message(const ReadOptions& options) {
  auto program = read(options);
  return program ? "no error" : program.error().str();
}

Result<Program> read_file(const std::string& path, const ReadOptions& options) {
  TRY(auto file, MappedFile::open(path));
  return read_pt2(std::move(file), options);
}

}  // namespace depute
