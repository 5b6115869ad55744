// The files that one run writes: they appear together, or none of them does.
//
//   OutputSet outputs;
//   TRY_STATUS(outputs.add_input("model.pt2"));
//   TRY_STATUS(outputs.reserve("-o", "model.pte"));       // before any work: refuses what cannot be written
//   TRY(std::unique_ptr<Output> out, outputs.open("model.pte"));
//   TRY_STATUS(out->write(bytes));
//   TRY_STATUS(out->commit());                            // the file is whole, and still aside
//   TRY_STATUS(outputs.put_in_place());                   // now it appears
//
// Files are written beside their places and renamed at the end. When a rename fails, those before it are
// undone; a power cut in between can leave some files new and others old, each of them whole. Streams ("-"
// for standard output, pipes, devices) get their bytes before the first rename, and cannot be undone.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "depute/result.h"
#include "support/output.h"
#include "support/output_file.h"

namespace depute {

// The path is "-" or another name of standard output.
bool is_standard_output(std::string_view path);

class OutputSet {
 public:
  OutputSet();
  ~OutputSet();  // nothing is left of what was not put in place
  OutputSet(const OutputSet&) = delete;
  OutputSet& operator=(const OutputSet&) = delete;

  // No output may take the place of this file, under whatever name. "-" is standard input.
  void add_input(const std::string& path);
  // The same when outputs were reserved already: fails when one of them has the place.
  Status add_late_input(const std::string& path);

  // Takes the path for an output; `option` is where the user named it, for messages. Fails with the code
  // "usage" when an input or another output has the place already, with "write" when no file can be there.
  Status reserve(const std::string& option, const std::string& path);

  // Opens an output; one that was not reserved is reserved now.
  Result<std::unique_ptr<Output>> open(const std::string& path);

  // What is whole and still aside. The set must outlive it for an output that goes to a stream.
  Result<std::shared_ptr<const MappedFile>> written(const std::string& path) const;

  // Forgets what was written so far: its places stay as they are.
  void drop_written();

  Status put_in_place();

 private:
  struct Entry;
  Entry* find(const std::string& path);  // one that was not opened yet
  Status check_inputs(const Entry& entry) const;
  Status check_place(const Entry& entry) const;
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
