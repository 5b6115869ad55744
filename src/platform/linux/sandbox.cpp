#include "platform/sandbox.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace depute::platform {
namespace {

// Kernel headers of Debian 12 lack what came after Linux 6.1.
constexpr std::uint64_t refer = std::uint64_t{1} << 13;
constexpr std::uint64_t truncate = std::uint64_t{1} << 14;

constexpr std::uint64_t write_file = LANDLOCK_ACCESS_FS_WRITE_FILE;
constexpr std::uint64_t change_names =
    LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
    LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK |
    LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM;

long landlock_version() {
  return syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
}

std::uint64_t writing_rights(long version) {
  std::uint64_t rights = write_file | change_names;
  if (version >= 2) rights |= refer;
  if (version >= 3) rights |= truncate;
  return rights;
}

void allow(int rules, const char* path, std::uint64_t rights) {
  const int folder = open(path, O_PATH | O_CLOEXEC);
  if (folder < 0) return;
  const landlock_path_beneath_attr rule{.allowed_access = rights, .parent_fd = folder};
  syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
  close(folder);
}

void take_file_system(const std::string& folder) {
  const long version = landlock_version();
  if (version < 1) return;
  landlock_ruleset_attr handled{};  // newer kernels have more fields
  handled.handled_access_fs = writing_rights(version);
  const auto rules = static_cast<int>(syscall(SYS_landlock_create_ruleset, &handled, sizeof(handled), 0));
  if (rules < 0) return;
  allow(rules, folder.c_str(), handled.handled_access_fs);
  allow(rules, "/dev", handled.handled_access_fs);  // the rights of its files are what they were
  syscall(SYS_landlock_restrict_self, rules, 0);
  close(rules);
}

#if defined(__x86_64__)
constexpr std::uint32_t own_architecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t own_architecture = AUDIT_ARCH_AARCH64;
#else
constexpr std::uint32_t own_architecture = 0;  // no filter
#endif

constexpr std::uint32_t first_x32_call = 0x40000000;  // calls of x86-64's third set of numbers

// Denies the calls that open sockets, and all calls of other architectures, which have other numbers.
void take_network() {
  if (own_architecture == 0) return;
  const auto field = [](std::size_t offset) {
    return sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset));
  };
  const auto equal = [](std::uint32_t value, std::uint8_t yes, std::uint8_t no) {
    return sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, yes, no);
  };
  const auto answer = [](std::uint32_t what) { return sock_filter BPF_STMT(BPF_RET | BPF_K, what); };
  std::array program = {
      field(offsetof(seccomp_data, arch)),
      equal(own_architecture, 0, 8),  // -> ENOSYS
      field(offsetof(seccomp_data, nr)),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, first_x32_call, 6, 0),  // -> ENOSYS
      equal(SYS_io_uring_setup, 5, 0),      // -> ENOSYS: it opens sockets, too
      equal(SYS_socket, 0, 2),              // -> allowed
      field(offsetof(seccomp_data, args)),  // the low half, little-endian
      equal(AF_UNIX, 0, 1),                 // -> EACCES
      answer(SECCOMP_RET_ALLOW),
      answer(SECCOMP_RET_ERRNO | EACCES),
      answer(SECCOMP_RET_ERRNO | ENOSYS),
  };
  const sock_fprog filter{.len = static_cast<unsigned short>(program.size()), .filter = program.data()};
  prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

}  // namespace

void enter_sandbox(const std::string& folder) {
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return;
  take_file_system(folder);
  take_network();
}

}  // namespace depute::platform
