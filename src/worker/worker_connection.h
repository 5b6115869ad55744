// A running worker and the folder for exchanging files with it. Programs that are too long for a line are
// written there as text, and results come back as files.
//
//   /tmp/depute-worker-k3Jd2f/
//     in/     written by the compiler: 1.ir, and 1.bin with data that are in no other file
//     work/   the worker's working directory, which it may write to
//
// After a failure the folder is kept, with in/ and replay.json (the request), for `depute replay`.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "depute/compiler/worker.h"
#include "depute/program/program.h"
#include "depute/program/result.h"
#include "depute/program/text.h"
#include "platform/file.h"
#include "support/output_file.h"
#include "support/temporary_folder.h"
#include "worker/messages.h"
#include "worker/worker_process.h"

namespace depute {

class WorkerConnection {
 public:
  // Starts the program and asks for its description without the support matrix.
  static Result<std::unique_ptr<WorkerConnection>> open(const std::string& program,
                                                        const WorkerOptions& options);

  const WorkerDescription& description() const { return description_; }

  // Returns the support matrix, which takes longer than the rest of the description.
  Result<std::vector<SupportRow>> support();

  // Prepares the program for the next request. Uses the compact form if the worker reads it, else {"text":
  // ..}, or {"file": ..} for a longer program. forget_input() removes the files.
  Result<StoredBytes> program_place(const Program& program);
  void forget_input();

  // Returns the worker's answer, a JSON object. If the answer is an error, returns that error.
  Result<JsonDocument> ask(const Request& request);
  // Returns a further line of the same answer.
  Result<JsonDocument> next_line();
  // True if the worker answers with an error.
  Result<bool> is_refused(const Request& request);

  // Returns the bytes that an answer names: {"text": ..}, {"hex": ..} or {"file": .., "at": .., "size": ..}.
  // The file is in the worker's folder.
  Result<std::shared_ptr<const Storage>> bytes(const StoredBytes& place);

  // The folder that is kept after a failure, or "".
  const std::string& kept_folder() const { return kept_folder_; }

  // Returns a failure that names the kept input.
  Failure fail(WorkerFault fault, std::string message);
  // Turns an error of reading an answer into a failure of the worker.
  template <typename T>
  Result<T> checked(Result<T> read) {
    if (read) return read;
    return bad_answer(read.error());
  }

 private:
  WorkerConnection(TemporaryFolder folder, std::string program, const WorkerOptions& options)
      : folder_(std::move(folder)), program_(std::move(program)), options_(options) {}
  Result<WorkerDescription> describe(bool with_support);
  Result<StoredBytes> compact_place(std::string_view compact);
  Status close_programs();
  Result<JsonDocument> read(Result<std::string> line);
  Failure bad_answer(const Diagnostic& fault);
  Failure keep_input(Failure failure);
  Status open_result(const std::string& name);
  void close_result();
  Result<std::shared_ptr<const Storage>> result_bytes(std::size_t at, std::size_t size);

  TemporaryFolder folder_;
  std::string program_;
  WorkerOptions options_;
  std::unique_ptr<WorkerProcess> process_;
  WorkerDescription description_;
  Request request_;  // the last request
  int inputs_ = 0;
  bool has_input_ = false;  // the last request contains a program
  std::vector<std::string> written_;
  std::optional<OutputFile> programs_;  // programs of the next request in the compact form
  std::string programs_path_;
  std::string result_name_;
  platform::File result_file_;
  std::shared_ptr<const MappedFile> result_;  // the mapped part of the result file
  std::string kept_folder_;
  platform::File work_;  // the worker's folder, opened while it was empty

 public:
  ~WorkerConnection();
  WorkerConnection(const WorkerConnection&) = delete;
  WorkerConnection& operator=(const WorkerConnection&) = delete;
};

// Content of replay.json. Names of files are relative to the folder.
struct Replay {
  std::string program;
  Request request;
};

void fields(auto& visit, Replay& replay) {
  visit("program", replay.program, "request", replay.request);
}

}  // namespace depute
