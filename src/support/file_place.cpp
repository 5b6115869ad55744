#include "support/file_place.h"

#include <filesystem>

#include "platform/file_system.h"

namespace depute {
namespace {

bool has_same_identity(const platform::FileInfo& a, const platform::FileInfo& b) {
  return a.device == b.device && a.index == b.index;
}

}  // namespace

FilePlace place_of_path(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code failure;
  fs::path clean = fs::absolute(path, failure);
  if (!failure) clean = fs::weakly_canonical(clean, failure);
  return {platform::info_of(path).value_or(platform::FileInfo()), failure ? path : clean.generic_string()};
}

FilePlace place_of_stream(int number) {
  return {platform::info_of_stream(number).value_or(platform::FileInfo()), {}};
}

bool is_same_file(const FilePlace& a, const FilePlace& b) {
  if (a.exists() != b.exists()) return false;
  return a.exists() ? has_same_identity(a, b) : a.path == b.path;
}

bool has_changed(const platform::FileInfo& before, const platform::FileInfo& after) {
  if (!before.is_regular()) return false;
  return !has_same_identity(before, after) || before.size != after.size || before.modified != after.modified;
}

}  // namespace depute
