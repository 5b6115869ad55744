#include "platform/file.h"

#include <algorithm>
#include <cstdint>

#include "platform/file_system.h"
#include "platform/windows/system_parts.h"

namespace depute::platform {
namespace {

constexpr DWORD all_share = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
constexpr std::size_t max_step = std::size_t{1} << 30;  // of one call: its size has 32 bits
constexpr std::int64_t ticks_before_1970 = 116'444'736'000'000'000;

Expected<File> opened(const std::string& path, DWORD access, DWORD how, DWORD flags = 0) {
  const HANDLE handle =
      CreateFileW(path == "/dev/null" ? L"NUL" : wide(path).c_str(), access, all_share, nullptr, how,
                  FILE_FLAG_BACKUP_SEMANTICS | flags, nullptr);  // BACKUP: folders, too
  if (handle == INVALID_HANDLE_VALUE) return Unexpected{last_error()};
  return file_of(handle);
}

// A link or a mount point.
bool is_link(HANDLE handle) {
  FILE_ATTRIBUTE_TAG_INFO tag{};
  return GetFileInformationByHandleEx(handle, FileAttributeTagInfo, &tag, sizeof(tag)) != 0 &&
         (tag.FileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0 &&
         IsReparseTagNameSurrogate(tag.ReparseTag);
}

std::uint64_t joined(DWORD high, DWORD low) {
  return std::uint64_t{high} << 32 | low;
}

std::int64_t nanoseconds(const FILETIME& time) {
  return (static_cast<std::int64_t>(joined(time.dwHighDateTime, time.dwLowDateTime)) - ticks_before_1970) *
         100;
}

Expected<FileInfo> info_of_handle(HANDLE handle) {
  FileInfo info;
  SetLastError(NO_ERROR);
  const DWORD type = GetFileType(handle);
  if (type == FILE_TYPE_UNKNOWN && GetLastError() != NO_ERROR) return Unexpected{last_error()};
  info.kind = type == FILE_TYPE_CHAR ? FileKind::Device : FileKind::Other;
  if (type != FILE_TYPE_DISK) return info;
  BY_HANDLE_FILE_INFORMATION facts{};
  FILE_STANDARD_INFO sizes{};
  if (!GetFileInformationByHandle(handle, &facts) ||
      !GetFileInformationByHandleEx(handle, FileStandardInfo, &sizes, sizeof(sizes)))
    return Unexpected{last_error()};
  if (!is_link(handle)) info.kind = sizes.Directory ? FileKind::Folder : FileKind::Regular;
  info.device = facts.dwVolumeSerialNumber;
  info.index = joined(facts.nFileIndexHigh, facts.nFileIndexLow);
  info.permissions = (facts.dwFileAttributes & FILE_ATTRIBUTE_READONLY) != 0 ? 0444 : 0644;
  info.links = facts.nNumberOfLinks;
  info.size = joined(facts.nFileSizeHigh, facts.nFileSizeLow);
  info.bytes_on_disk = static_cast<std::uint64_t>(sizes.AllocationSize.QuadPart);
  info.modified = nanoseconds(facts.ftLastWriteTime);
  return info;
}

OVERLAPPED place_at(std::uint64_t offset) {
  OVERLAPPED place{};
  place.Offset = static_cast<DWORD>(offset);
  place.OffsetHigh = static_cast<DWORD>(offset >> 32);
  return place;
}

DWORD step_of(std::size_t size) {
  return static_cast<DWORD>(std::min(size, max_step));
}

Expected<std::size_t> read_some(HANDLE handle, std::span<std::byte> into, OVERLAPPED* place) {
  DWORD count = 0;
  if (ReadFile(handle, into.data(), step_of(into.size()), &count, place)) return count;
  const DWORD error = GetLastError();
  if (error == ERROR_BROKEN_PIPE || error == ERROR_HANDLE_EOF) return 0;
  if (error == ERROR_NO_DATA)  // of a pipe that does not wait
    return Unexpected{std::make_error_code(std::errc::operation_would_block)};
  return Unexpected{error_of(error)};
}

// Removes from `bytes` what is written.
std::error_code write_all(HANDLE handle, std::span<const std::byte>& bytes, std::uint64_t* offset) {
  while (!bytes.empty()) {
    OVERLAPPED place = place_at(offset == nullptr ? 0 : *offset);
    DWORD count = 0;
    if (!WriteFile(handle, bytes.data(), step_of(bytes.size()), &count, offset == nullptr ? nullptr : &place))
      return last_error();
    bytes = bytes.subspan(count);
    if (offset != nullptr) *offset += count;
  }
  return {};
}

Expected<File> copy_of(HANDLE handle) {
  HANDLE copy = nullptr;
  const HANDLE own = GetCurrentProcess();
  if (!DuplicateHandle(own, handle, own, &copy, 0, FALSE, DUPLICATE_SAME_ACCESS))
    return Unexpected{last_error()};
  return file_of(copy);
}

}  // namespace

Expected<FileInfo> info_of(const std::string& path) {
  const auto file = opened(path, FILE_READ_ATTRIBUTES, OPEN_EXISTING);
  return file ? file->info() : Unexpected{file.error()};
}

Expected<FileInfo> info_of_name(const std::string& path) {
  const auto file = opened(path, FILE_READ_ATTRIBUTES, OPEN_EXISTING, FILE_FLAG_OPEN_REPARSE_POINT);
  return file ? file->info() : Unexpected{file.error()};
}

Expected<FileInfo> info_of_stream(int number) {
  return info_of_handle(standard_handle(number));
}

File::~File() {
  if (is_open()) CloseHandle(handle_of(*this));
}

Expected<File> File::open(const std::string& path) {
  return opened(path, GENERIC_READ, OPEN_EXISTING);
}

Expected<File> File::open_to_write(const std::string& path) {
  return opened(path, GENERIC_WRITE, OPEN_EXISTING);
}

// A new file has the permissions that its folder gives.
Expected<File> File::create(const std::string& path, std::uint32_t) {
  return opened(path, GENERIC_WRITE, CREATE_NEW);
}

Expected<File> File::open_folder(const std::string& path) {
  auto file = opened(path, GENERIC_READ, OPEN_EXISTING);
  const bool is_other = file && !file->info().value_or(FileInfo()).is_folder();
  return is_other ? Unexpected{std::make_error_code(std::errc::not_a_directory)} : std::move(file);
}

Expected<File> File::open_in(const File& folder, const std::string& name) {
  if (name.find_first_of("\\/:") != name.npos)
    return Unexpected{std::make_error_code(std::errc::invalid_argument)};
  auto file = opened(path_of(folder) + '/' + name, GENERIC_READ, OPEN_EXISTING, FILE_FLAG_OPEN_REPARSE_POINT);
  const bool leads_away = file && is_link(handle_of(*file));
  return leads_away ? Unexpected{std::make_error_code(std::errc::too_many_symbolic_link_levels)}
                    : std::move(file);
}

Expected<File> File::of_stream(int number) {
  return copy_of(standard_handle(number));
}

Expected<File> File::duplicate() const {
  return copy_of(handle_of(*this));
}

Expected<FileInfo> File::info() const {
  return info_of_handle(handle_of(*this));
}

Expected<std::size_t> File::read(std::span<std::byte> into) const {
  return read_some(handle_of(*this), into, nullptr);
}

std::error_code File::read_at(std::uint64_t offset, std::span<std::byte> into) const {
  while (!into.empty()) {
    OVERLAPPED place = place_at(offset);
    const auto count = read_some(handle_of(*this), into, &place);
    if (!count) return count.error();
    if (*count == 0) return std::make_error_code(std::errc::io_error);
    into = into.subspan(*count);
    offset += *count;
  }
  return {};
}

std::error_code File::write(std::span<const std::byte> bytes) const {
  std::span<std::span<const std::byte>> parts(&bytes, 1);
  return write(parts);
}

std::error_code File::write(std::span<std::span<const std::byte>>& parts) const {
  for (; !parts.empty(); parts = parts.subspan(1)) {
    std::span<const std::byte>& part = parts[0];
    if (const auto error = write_all(handle_of(*this), part, nullptr)) return error;
  }
  return {};
}

std::error_code File::write_at(std::uint64_t offset, std::span<const std::byte> bytes) const {
  return write_all(handle_of(*this), bytes, &offset);
}

// Windows has no such call for most of its file systems.
std::size_t File::copy_from(const File&, std::uint64_t, std::size_t) const {
  return 0;
}

std::error_code File::seek(std::uint64_t offset) const {
  LARGE_INTEGER place{};
  place.QuadPart = static_cast<LONGLONG>(offset);
  return SetFilePointerEx(handle_of(*this), place, nullptr, FILE_BEGIN) ? std::error_code() : last_error();
}

std::error_code File::sync() const {
  const bool is_synced = FlushFileBuffers(handle_of(*this)) || GetLastError() == ERROR_INVALID_FUNCTION;
  return is_synced ? std::error_code() : last_error();
}

// A new file has the access rights that its folder gives.
void File::take_access_of(const FileInfo&) const {}

std::error_code File::close() {
  const auto handle = reinterpret_cast<HANDLE>(std::exchange(handle_, closed));
  return CloseHandle(handle) ? std::error_code() : last_error();
}

}  // namespace depute::platform
