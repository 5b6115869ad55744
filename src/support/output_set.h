// OutputSet: the output files of one run, which appear together or not at all.
//
//   OutputSet outputs;
//   outputs.add_input("model.pt2");
//   TRY_STATUS(outputs.reserve("-o", "model.pte"));   // before any work: fails if it cannot be written
//   TRY(auto out, outputs.open("model.pte"));         // a temporary file
//   TRY_STATUS(out->write(bytes));
//   TRY_STATUS(out->commit());                        // complete, in the temporary file
//   TRY_STATUS(outputs.put_in_place());               // renamed to model.pte
//
// Files are written beside their destinations and renamed at the end. If a rename fails, earlier ones are
// undone. After a power failure during renaming, some files may be new and others old, but each file is
// complete. Streams ("-" for standard output, pipes, devices) get their bytes before the first rename and
// cannot be undone.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "depute/program/result.h"
#include "support/output.h"
#include "support/output_file.h"

namespace depute {

// True if the path is "-" or another name of standard output.
bool is_standard_output(std::string_view path);

class OutputSet {
 public:
  OutputSet();
  ~OutputSet();  // removes every file that is not in place yet
  OutputSet(const OutputSet&) = delete;
  OutputSet& operator=(const OutputSet&) = delete;

  // Declares an input file, which no output may overwrite, under any name. "-" is standard input.
  void add_input(const std::string& path);
  // Like add_input(), after outputs were reserved: fails if an output would overwrite this file.
  Status add_late_input(const std::string& path);

  // Reserves a path for an output; `option` is the user's option, for messages. Fails with code "usage" if an
  // input or another output has this path, and with code "write" if no file can be created there.
  Status reserve(const std::string& option, const std::string& path);

  // Opens an output, and reserves the path if necessary.
  Result<std::unique_ptr<Output>> open(const std::string& path);

  // Opens, writes and commits a whole output.
  Status write(const std::string& path, std::string_view text);

  // Maps a committed output before it appears. For an output to a stream, the set must outlive the mapping.
  Result<std::shared_ptr<const MappedFile>> written(const std::string& path) const;

  // Discards all outputs opened so far; their destinations remain unchanged.
  void drop_written();

  // Fails if an input file has changed since it was declared: the outputs may mix its old and new content.
  Status put_in_place();

 private:
  struct Entry;
  Entry* find(const std::string& path);  // an entry that is not open yet
  Status check_inputs(const Entry& entry) const;
  Status check_place(const Entry& entry) const;
  Status check_unchanged_inputs() const;
  Status write_streams();
  Status put_files_in_place();

  struct Input {
    std::string path;
    FilePlace place;
  };
  std::vector<Input> inputs_;
  std::vector<std::unique_ptr<Entry>> entries_;
};

}  // namespace depute
