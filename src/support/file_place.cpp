#include "support/file_place.h"

#include <sys/stat.h>

#include <filesystem>

namespace depute {
namespace {

void set_identity(FilePlace& place, const struct stat& info) {
  place.exists = true;
  place.device = info.st_dev;
  place.inode = info.st_ino;
  place.mode = info.st_mode;
  place.owner = info.st_uid;
  place.group = info.st_gid;
  place.size = info.st_size;
  place.modified = std::int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec;
}

}  // namespace

bool FilePlace::is_directory() const {
  return exists && S_ISDIR(mode);
}

bool FilePlace::is_regular() const {
  return exists && S_ISREG(mode);
}

FilePlace place_of_path(const std::string& path) {
  namespace fs = std::filesystem;
  FilePlace place;
  std::error_code failure;
  fs::path clean = fs::absolute(path, failure);
  if (!failure) clean = fs::weakly_canonical(clean, failure);
  place.path = failure ? path : clean.string();
  struct stat info{};
  if (stat(path.c_str(), &info) == 0) set_identity(place, info);
  return place;
}

FilePlace place_of_descriptor(int descriptor) {
  FilePlace place;
  struct stat info{};
  if (fstat(descriptor, &info) == 0) set_identity(place, info);
  return place;
}

bool is_same_file(const FilePlace& a, const FilePlace& b) {
  if (a.exists != b.exists) return false;
  if (a.exists) return a.device == b.device && a.inode == b.inode;
  return a.path == b.path;
}

bool has_changed(const FilePlace& before, const FilePlace& after) {
  if (!before.is_regular()) return false;
  return !is_same_file(before, after) || before.size != after.size || before.modified != after.modified;
}

}  // namespace depute
