// A worker that runs, and the folder that it is spoken with through: what is too long for a line goes there,
// programs as text, and results come back as files.
//
//   /tmp/depute-worker-k3Jd2f/
//     in/     what we write: 1.ir, and 1.bin for data that lie in no file
//     work/   the worker's own, where it runs and may write
//
// After a failure the folder stays with in/ and replay.json: what it was asked, for `depute replay`.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "depute/print.h"
#include "depute/program.h"
#include "depute/result.h"
#include "depute/worker.h"
#include "support/output_file.h"
#include "support/temporary_folder.h"
#include "worker/messages.h"
#include "worker/worker_process.h"

namespace depute {

class WorkerConnection {
 public:
  // Starts the program and asks what it is, without its support matrix.
  static Result<std::unique_ptr<WorkerConnection>> open(const std::string& program,
                                                        const WorkerOptions& options);

  const WorkerDescription& description() const { return description_; }

  // Its support matrix, which takes longer to tell than all else.
  Result<std::vector<SupportRow>> support();

  // The program for the next request: in the compact form for a worker that reads it, else {"text": ..}, or
  // {"file": ..} of a longer one. Files are gone with the next call of forget_input().
  Result<Message> program_place(const Program& program);
  void forget_input();

  // What the worker answers; an error of its own is one of ours.
  Result<Message> ask(const Message& request);
  // A further line of the same answer.
  Result<Message> next_line();
  // Whether it answers with an error.
  Result<bool> is_refused(const Message& request);

  // The bytes that an answer names: {"text": ..}, {"hex": ..} or {"file": .., "at": .., "size": ..}, a file
  // in the worker's folder, which is mapped.
  Result<std::shared_ptr<const Storage>> bytes(const Message& place);

  // The folder that stays after a failure; empty when none does.
  const std::string& kept_folder() const { return kept_folder_; }

  // A failure with the place where its input is kept.
  Failure fail(WorkerFault fault, std::string message);
  // An error about an answer, as a failure of the worker.
  Failure bad_answer(const Diagnostic& fault);

 private:
  WorkerConnection(TemporaryFolder folder, std::string program, const WorkerOptions& options)
      : folder_(std::move(folder)), program_(std::move(program)), options_(options) {}
  Result<WorkerDescription> describe(bool with_support);
  Result<Message> compact_place(std::string_view compact);
  Status close_programs();
  Result<Message> read(Result<std::string> line);
  Failure keep_input(Failure failure);
  Status open_result(const std::string& name);
  void close_result();
  Result<std::shared_ptr<const Storage>> result_bytes(std::size_t at, std::size_t size);

  TemporaryFolder folder_;
  std::string program_;
  WorkerOptions options_;
  std::unique_ptr<WorkerProcess> process_;
  WorkerDescription description_;
  Message request_;  // the last one
  int inputs_ = 0;
  bool has_input_ = false;  // the last request tells of a program
  std::vector<std::string> written_;
  std::optional<OutputFile> programs_;  // of the next request, in the compact form
  std::string programs_path_;
  std::string result_name_;
  int result_descriptor_ = -1;
  std::shared_ptr<const MappedFile> result_;  // what of it is mapped
  std::string kept_folder_;
  int work_ = -1;  // the worker's folder, as it was when it was empty

 public:
  ~WorkerConnection();
  WorkerConnection(const WorkerConnection&) = delete;
  WorkerConnection& operator=(const WorkerConnection&) = delete;
};

}  // namespace depute
