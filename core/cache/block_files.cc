// SPDX-License-Identifier: Apache-2.0
#include "core/cache/block_files.h"

#include <dirent.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <memory>

#include "core/base/text/text.h"
#include "core/cache/block_store.h"
#include "core/io/io_error.h"

namespace ctxfs::block_files {
namespace {

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

/// Parses "A-B": decimal digits without leading zeros.
std::optional<std::pair<uint64_t, uint64_t>> ParsePair(std::string_view text) {
  std::pair<uint64_t, uint64_t> parsed;
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, parsed.first);
  if (first.ec != std::errc() || first.ptr == end) return std::nullopt;
  const auto second = std::from_chars(first.ptr + 1, end, parsed.second);
  if (second.ec != std::errc()) return std::nullopt;
  const std::string again = fmt::format("{}-{}", parsed.first, parsed.second);
  return again == text ? std::optional(parsed) : std::nullopt;
}

bool IsHex(std::string_view text, size_t digits) {
  return text.size() == digits &&
         text.find_first_not_of("0123456789abcdef") == text.npos;
}

bool IsObjectName(std::string_view name) {
  constexpr size_t kDigits = 64;
  return IsHex(name, kDigits);
}

/// The number of blocks in a file of this name, 0 for any other file of a
/// store; nullopt if the name is foreign.
std::optional<uint32_t> BlocksOf(std::string_view name) {
  if (name.starts_with(kUnfinished)) {
    return ParsePair(name.substr(1)) ? std::optional(0U) : std::nullopt;
  }
  if (name == kRecord || DigestInName(name)) return 0;
  const auto run = ParseFileName(name);
  return run ? std::optional(run->second) : std::nullopt;
}

}  // namespace

Status CheckAbsolute(const std::string& directory) {
  if (directory.starts_with('/')) return {};
  return Error{Code::kIo, "the cache directory needs an absolute path"};
}

Result<Fd> OpenTop(const std::string& directory) {
  CTXFS_TRY(CheckAbsolute(directory));
  Fd top(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat st {};
  if (!top.ok() || ::fstat(top.get(), &st) != 0) {
    return IoError("cannot open the cache directory " + Quote(directory));
  }
  if (st.st_uid != ::geteuid() || (st.st_mode & 0022) != 0) {
    return Error{Code::kIo, "the cache directory " + Quote(directory) +
                                " must belong to you, and be writable for no "
                                "one else"};
  }
  return top;
}

int64_t Nanoseconds(const struct timespec& time) {
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

Fd OpenRegular(int directory, const char* name) {
  struct stat st {};
  // Checks the type first, because opening a device may have side effects. If
  // another file replaces `name` after this check, it is opened, but O_NONBLOCK
  // keeps that from blocking, and the second check rejects it.
  if (::fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) != 0) return Fd(-1);
  if (S_ISREG(st.st_mode)) {
    Fd file(
        ::openat(directory, name,
                 O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
    if (!file.ok()) return file;
    if (::fstat(file.get(), &st) == 0 && S_ISREG(st.st_mode)) return file;
  }
  errno = EINVAL;
  return Fd(-1);
}

bool RemoveForeign(int directory, const char* name) {
  struct stat st {};
  if (::fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
    return errno == ENOENT;
  }
  if (S_ISREG(st.st_mode)) return false;
  const int flags = S_ISDIR(st.st_mode) ? AT_REMOVEDIR : 0;
  return ::unlinkat(directory, name, flags) == 0;
}

std::optional<std::string> DigestInName(std::string_view name) {
  constexpr size_t kDigits = 32;
  if (!name.starts_with(kWhole)) return std::nullopt;
  name.remove_prefix(kWhole.size());
  return IsHex(name, kDigits) ? std::optional(std::string(name)) : std::nullopt;
}

std::string FileName(uint64_t first, uint32_t count) {
  return fmt::format("{}-{}", first, count);
}

std::optional<std::pair<uint64_t, uint32_t>> ParseFileName(
    std::string_view name) {
  const auto parsed = ParsePair(name);
  if (!parsed) return std::nullopt;
  const auto [first, count] = *parsed;
  if (count == 0 || count > BlockStore::kMaxBlocks ||
      first > UINT64_MAX / BlockStore::kBlockBytes - count) {
    return std::nullopt;
  }
  return std::pair(first, static_cast<uint32_t>(count));
}

void ForEachName(int directory,
                 const std::function<void(const std::string&)>& visit) {
  const int own = ::openat(directory, ".", kDirectoryFlags);
  if (own < 0) return;
  const std::unique_ptr<DIR, CloseDirectory> open(::fdopendir(own));
  if (open == nullptr) {
    ::close(own);
    return;
  }
  while (const dirent* const one = ::readdir(open.get())) {
    const std::string name = one->d_name;
    if (name != "." && name != "..") visit(name);
  }
}

void ForEachObject(
    int top,
    const std::function<void(const std::string& name, int directory)>& visit) {
  ForEachName(top, [&](const std::string& name) {
    if (!IsObjectName(name)) return;
    const Fd directory(::openat(top, name.c_str(), kDirectoryFlags));
    if (directory.ok()) visit(name, directory.get());
  });
}

bool HasObjects(int top) {
  bool found = false;
  ForEachName(top, [&](const std::string& name) {
    found = found || IsObjectName(name);
  });
  return found;
}

bool HasOtherFiles(int top) {
  bool found = false;
  ForEachName(top, [&](const std::string& name) {
    found = found || (!IsObjectName(name) && name != kLock);
  });
  return found;
}

bool File::abandoned() const {
  constexpr int64_t kHourNs = int64_t{3600} * 1'000'000'000;
  struct timespec now {};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return unfinished() && Nanoseconds(now) - used_ns > kHourNs;
}

void ForEachFile(int directory, const std::function<void(const File&)>& visit) {
  ForEachName(directory, [&](const std::string& name) {
    const auto blocks = BlocksOf(name);
    struct stat st {};
    if (!blocks ||
        ::fstatat(directory, name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(st.st_mode)) {
      return;
    }
    visit({name, *blocks, static_cast<uint64_t>(st.st_size),
           Nanoseconds(st.st_mtim)});
  });
}

}  // namespace ctxfs::block_files
