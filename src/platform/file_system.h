// Names of files and folders, as far as std::filesystem has no function for them.
//
//   const platform::FileInfo info = platform::info_of("model.pt2").value_or(platform::FileInfo());
//   if (const auto error = platform::exchange_files("model.pte.new", "model.pte")) return error;
#pragma once

#include <string>

#include "platform/error.h"
#include "platform/file.h"

namespace depute::platform {

Expected<FileInfo> info_of(const std::string& path);       // of the target of a symbolic link
Expected<FileInfo> info_of_name(const std::string& path);  // of the link itself
Expected<FileInfo> info_of_stream(int number);             // see File::of_stream()
bool is_open_for_writing(int number);                      // of a stream
std::error_code check_writable(const std::string& path);   // without an error, the user may write to the file
std::error_code check_room_for_files(const std::string& folder);  // likewise: create files in it

// Renames a file, over an existing one if there is one.
std::error_code replace_file(const std::string& from, const std::string& to);
// Exchanges the names of two files in one step. Fails with not_supported or a similar error if the system cannot.
std::error_code exchange_files(const std::string& a, const std::string& b);
// Removes a file, or nothing if it cannot. Takes no memory: it cleans up when there is none.
void remove_file(const std::string& path);
std::error_code remove_in(const File& folder, const std::string& name);
// Waits until the names in a folder are on the disk.
std::error_code sync_folder(const std::string& path);
// Sets the file's time to now.
void mark_as_used(const std::string& path);

// Creates a folder that only this user can access.
std::error_code create_private_folder(const std::string& path);
// Likewise, with six characters in place of the "XXXXXX" at the end of `path`, so that the name is new.
std::error_code create_unique_folder(std::string& path);
// The current path of an open folder, which may have been renamed; empty if unknown.
std::string path_of(const File& folder);

// A number that no other running process has.
std::uint64_t process_number();

}  // namespace depute::platform
