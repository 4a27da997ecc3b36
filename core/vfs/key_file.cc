// SPDX-License-Identifier: Apache-2.0
#include "core/vfs/key_file.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>

#include "core/io/fd.h"
#include "core/io/transfer.h"

namespace ctxfs {
namespace {

constexpr size_t kHexBytes = 2 * MasterKey::kBytes;

Error Unreadable() {
  return {Code::kIo,
          std::string("key file cannot be read: ") + std::strerror(errno)};
}

/// Decodes the hex digits in `text`, in place.
bool FromHex(MutableBytes text) {
  constexpr int kBase = 16;
  for (size_t i = 0; i < MasterKey::kBytes; ++i) {
    const auto* digits = reinterpret_cast<const char*>(&text[2 * i]);
    uint8_t byte = 0;
    const auto read = std::from_chars(digits, digits + 2, byte, kBase);
    if (read.ptr != digits + 2) return false;
    text[i] = std::byte{byte};
  }
  return true;
}

}  // namespace

Result<std::shared_ptr<const MasterKey>> ReadKeyFile(const std::string& path,
                                                     bool insecure) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.ok()) return Unreadable();
  // One byte more than the longest key with a newline, to detect longer files.
  Buffer text = SecretBuffer(kHexBytes + 2, /*locked=*/true);
  struct stat st {};
  if (::fstat(fd.get(), &st) != 0) return Unreadable();
  const Transferred read =
      Transfer(text.span(), [&](MutableBytes left, size_t) {
        return ::read(fd.get(), left.data(), left.size());
      });
  if (read.failed) return Unreadable();
  constexpr mode_t kOthers = S_IRWXG | S_IRWXO;
  if ((st.st_mode & kOthers) != 0 && !insecure) {
    return Error{Code::kIo,
                 "key file is accessible to other users: expected mode 600 "
                 "('chmod 600'), or accept it with 'insecure_keyfile'"};
  }
  size_t size = read.bytes;
  if (size == kHexBytes + 1 && text.data()[kHexBytes] == std::byte{'\n'}) {
    --size;
  }
  const bool key =
      size == MasterKey::kBytes || (size == kHexBytes && FromHex(text.span()));
  if (!key) {
    return Error{Code::kCorrupt,
                 "key file is invalid: expected 32 bytes or 64 hex digits"};
  }
  (void)::prctl(PR_SET_DUMPABLE, 0);
  return std::make_shared<const MasterKey>(
      text.span().first(MasterKey::kBytes));
}

}  // namespace ctxfs
