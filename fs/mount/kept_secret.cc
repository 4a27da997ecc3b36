// SPDX-License-Identifier: Apache-2.0
#include "fs/mount/kept_secret.h"

#include <fcntl.h>
#include <pwd.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>

#include "core/base/text/text.h"
#include "core/io/fd.h"
#include "core/io/io_error.h"

namespace ctxfs {
namespace {

constexpr size_t kBytes = 32;

Error Unusable(const std::string& path, const char* why) {
  return {Code::kIo, Quote(path) + " " + why};
}

/// Creates the directories above `path`, accessible only to the caller.
void MakeDirectories(const std::string& path) {
  for (size_t end = path.find('/', 1); end != std::string::npos;
       end = path.find('/', end + 1)) {
    (void)::mkdir(path.substr(0, end).c_str(), S_IRWXU);
  }
}

/// Creates the file atomically: another process may create it concurrently.
Status Make(const std::string& path) {
  std::array<char, kBytes> secret{};
  if (::getrandom(secret.data(), secret.size(), 0) !=
      static_cast<ssize_t>(secret.size())) {
    return IoError("no random bytes");
  }
  MakeDirectories(path);
  std::string temporary = path + ".XXXXXX";
  const Fd file(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!file.ok()) return IoError("cannot make " + Quote(path));
  const bool written = ::write(file.get(), secret.data(), secret.size()) ==
                           static_cast<ssize_t>(secret.size()) &&
                       ::fsync(file.get()) == 0;
  const bool linked =
      written &&
      (::link(temporary.c_str(), path.c_str()) == 0 || errno == EEXIST);
  const int error = errno;
  (void)::unlink(temporary.c_str());
  if (linked) return {};
  return SystemError("cannot make " + Quote(path), error);
}

Result<std::string> Read(const std::string& path, const Fd& file) {
  struct stat st {};
  if (::fstat(file.get(), &st) != 0)
    return IoError("cannot read " + Quote(path));
  if (!S_ISREG(st.st_mode)) return Unusable(path, "is not a regular file");
  if (st.st_uid != ::geteuid() || (st.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return Unusable(path, "may be read by other users, expected mode 0600");
  }
  std::string secret(kBytes + 1, '\0');
  const ssize_t size = ::read(file.get(), secret.data(), secret.size());
  if (size != static_cast<ssize_t>(kBytes)) {
    return Unusable(path, "is damaged, expected 32 bytes; remove it");
  }
  secret.resize(kBytes);
  return secret;
}

}  // namespace

Result<std::string> KeptSecretPath() {
  constexpr const char* kName = "/ctxfs/kept.key";
  if (::geteuid() == 0) return std::string("/var/lib") + kName;
  const char* const state = ::secure_getenv("XDG_STATE_HOME");
  if (state != nullptr && state[0] == '/') return std::string(state) + kName;
  const struct passwd* const user = ::getpwuid(::geteuid());
  const char* home = ::secure_getenv("HOME");
  if (home == nullptr && user != nullptr) home = user->pw_dir;
  if (home == nullptr || home[0] != '/') {
    return Error{Code::kIo, "the user has no home directory"};
  }
  return std::string(home) + "/.local/state" + kName;
}

Result<std::string> KeptSecret(const std::string& path) {
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  Fd file(::open(path.c_str(), kFlags));
  if (!file.ok() && errno == ENOENT) {
    CTXFS_TRY(Make(path));
    file = Fd(::open(path.c_str(), kFlags));
  }
  if (!file.ok()) return IoError("cannot open " + Quote(path));
  return Read(path, file);
}

}  // namespace ctxfs
