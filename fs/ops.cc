// SPDX-License-Identifier: Apache-2.0
#include "fs/ops.h"

#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <limits>
#include <new>
#include <string>
#include <vector>

#include "core/base/limits.h"
#include "core/content/content.h"
#include "core/content/window.h"
#include "fs/exit_code.h"
#include "fs/server.h"
#include "fs/xattr.h"

namespace ctxfs {
namespace {

// Nothing changes while mounted, so the kernel may keep what it is told.
constexpr double kForever = std::numeric_limits<double>::max();
constexpr uint32_t kBlockSize = 512;  // what st_blocks and statfs count in
constexpr uint32_t kPreferredIo = 128 * 1024;

Server& ServerOf(fuse_req_t req) {
  return *static_cast<Server*>(fuse_req_userdata(req));
}

/// Runs `answer`, which replies itself and returns 0, or returns a positive
/// errno to reply with. The one place where an exception is caught: nothing
/// here throws on purpose, but memory can run out.
template <typename Answer>
void Reply(fuse_req_t req, const Answer& answer) {
  int error = EIO;
  try {
    error = answer();
  } catch (const std::bad_alloc&) {
    error = ENOMEM;
  } catch (const std::exception&) {
    error = EIO;
  }
  if (error != 0) fuse_reply_err(req, error);
}

struct stat Attributes(const Server& server, Inode inode, bool directory,
                       uint64_t size) {
  constexpr int64_t kNsPerSecond = 1'000'000'000;
  struct stat st {};
  st.st_ino = inode;
  st.st_mode = directory ? S_IFDIR | (0555 & ~server.umask())
                         : S_IFREG | (0444 & ~server.umask());
  if (!directory && server.files().IsLocked(inode)) st.st_mode = S_IFREG;
  st.st_nlink = 1;
  st.st_uid = server.uid();
  st.st_gid = server.gid();
  st.st_size = static_cast<off_t>(size);
  st.st_blocks = static_cast<blkcnt_t>((size + kBlockSize - 1) / kBlockSize);
  st.st_blksize = kPreferredIo;
  const int64_t mtime = server.files().container().source()->mtime_ns();
  st.st_mtim.tv_sec = mtime / kNsPerSecond;
  st.st_mtim.tv_nsec = mtime % kNsPerSecond;
  st.st_atim = st.st_mtim;
  st.st_ctim = st.st_mtim;
  return st;
}

/// The attributes of any file; measuring an own file may mean making it.
Result<struct stat> Examine(Server& server, Inode inode) {
  const bool directory = server.files().IsDirectory(inode);
  if (directory) return Attributes(server, inode, true, 0);
  Result<uint64_t> size = server.files().Size(inode, server.cache());
  if (!size) {
    server.LogFailure(inode, size.error());
    return std::move(size).error();
  }
  return Attributes(server, inode, false, *size);
}

double Timeout(const Server& server, Inode inode) {
  return server.files().IsLive(inode) ? 0 : kForever;
}

void Init(void* /*userdata*/, fuse_conn_info* conn) {
  constexpr unsigned kBackgroundReads = 64;
  conn->max_background = kBackgroundReads;
  conn->congestion_threshold = kBackgroundReads * 3 / 4;
  conn->time_gran = 1;
}

void Lookup(fuse_req_t req, fuse_ino_t parent, const char* name) {
  Reply(req, [&] {
    if (std::strlen(name) > limits::kComponentBytes) return ENAMETOOLONG;
    Server& server = ServerOf(req);
    fuse_entry_param entry{};
    entry.entry_timeout = kForever;
    const std::optional<Inode> inode = server.files().Lookup(parent, name);
    const Result<bool> exists =
        inode ? server.files().Exists(*inode, /*listing=*/false, server.cache())
              : Result<bool>(false);
    if (!exists) {
      server.LogFailure(*inode, exists.error());
      return ErrnoOf(exists.error());
    }
    if (!*exists) {
      fuse_reply_entry(req, &entry);  // inode 0: remember that it is not there
      return 0;
    }
    Result<struct stat> st = Examine(server, *inode);
    if (!st) return ErrnoOf(st.error());
    entry.ino = *inode;
    entry.attr = *st;
    entry.attr_timeout = Timeout(server, *inode);
    fuse_reply_entry(req, &entry);
    return 0;
  });
}

// Inodes live as long as the mount: nothing is counted, nothing forgotten.
void Forget(fuse_req_t req, fuse_ino_t /*inode*/, uint64_t /*count*/) {
  fuse_reply_none(req);
}

void ForgetMulti(fuse_req_t req, size_t /*count*/,
                 fuse_forget_data* /*forgets*/) {
  fuse_reply_none(req);
}

void GetAttr(fuse_req_t req, fuse_ino_t inode, fuse_file_info* /*fi*/) {
  Reply(req, [&] {
    Server& server = ServerOf(req);
    Result<struct stat> st = Examine(server, inode);
    if (!st) return ErrnoOf(st.error());
    fuse_reply_attr(req, &*st, Timeout(server, inode));
    return 0;
  });
}

// Permission bits are the kernel's to check (default_permissions).
void Access(fuse_req_t req, fuse_ino_t /*inode*/, int mask) {
  fuse_reply_err(req, (mask & W_OK) != 0 ? EROFS : 0);
}

void Open(fuse_req_t req, fuse_ino_t inode, fuse_file_info* fi) {
  Reply(req, [&] {
    if ((fi->flags & O_ACCMODE) != O_RDONLY) return EROFS;
    Server& server = ServerOf(req);
    Result<Content> content = server.files().Open(inode, server.cache());
    // No READ ever comes for an empty file, so this is when to find out
    // whether it should be one.
    if (content && (server.verify_at_open() || content->size() == 0)) {
      if (Status verified = content->Verify(server.cache()); !verified) {
        content = std::move(verified).error();
      }
    }
    if (!content) {
      server.LogFailure(inode, content.error());
      return ErrnoOf(content.error());
    }
    auto file = std::make_unique<Content>(std::move(*content));
    const bool live = server.files().IsLive(inode);
    fi->keep_cache = live ? 0 : 1;
    fi->direct_io = live ? 1 : 0;
    fi->noflush = 1;
    fi->fh = reinterpret_cast<uint64_t>(file.get());
    // When the open was interrupted there will be no release.
    if (fuse_reply_open(req, fi) == 0) (void)file.release();
    return 0;
  });
}

void Read(fuse_req_t req, fuse_ino_t inode, size_t size, off_t offset,
          fuse_file_info* fi) {
  const auto start = std::chrono::steady_clock::now();
  // One scratch buffer a thread: a read is at most a megabyte.
  thread_local Window window;
  thread_local std::vector<iovec> slices;
  Reply(req, [&] {
    Server& server = ServerOf(req);
    const bool counted = !server.files().IsLive(inode);
    if (counted) server.stats().CountRequest();
    const auto* content = reinterpret_cast<const Content*>(fi->fh);
    if (const auto entry = server.files().Entry(inode)) {
      const auto from = static_cast<uint64_t>(offset);
      server.ahead().Note(*entry, from, from + size, content->size());
    }
    Status read = content->Read(static_cast<uint64_t>(offset), size,
                                server.cache(), window);
    if (!read) {
      server.stats().CountError();
      server.LogFailure(inode, read.error());
      return ErrnoOf(read.error());
    }
    // Not after the reply: a release may follow that at once.
    if (static_cast<uint64_t>(offset) + size >= content->size()) {
      content->Spend(server.cache());
    }
    slices.clear();
    uint64_t bytes = 0;
    for (const Bytes slice : window.slices()) {
      slices.push_back({const_cast<std::byte*>(slice.data()), slice.size()});
      bytes += slice.size();
    }
    fuse_reply_iov(req, slices.data(), static_cast<int>(slices.size()));
    window.Clear();
    if (counted) {
      server.stats().CountReply(bytes,
                                std::chrono::steady_clock::now() - start);
    }
    return 0;
  });
}

void Release(fuse_req_t req, fuse_ino_t /*inode*/, fuse_file_info* fi) {
  delete reinterpret_cast<Content*>(fi->fh);
  fuse_reply_err(req, 0);
}

void OpenDir(fuse_req_t req, fuse_ino_t /*inode*/, fuse_file_info* fi) {
  fi->keep_cache = 1;
  fi->cache_readdir = 1;
  fuse_reply_open(req, fi);
}

/// One name of a listing. Positions: 0 is ".", 1 is "..", then the children;
/// they never change, so a listing can go on from any of them.
struct Listed {
  Inode inode;
  std::string name;
  bool directory;
};

Listed ListedAt(const Namespace& files, Inode directory, uint64_t position) {
  if (position == 0) return {directory, ".", true};
  if (position == 1) return {files.Parent(directory), "..", true};
  const Namespace::Child child =
      files.ChildAt(directory, static_cast<uint32_t>(position - 2));
  return {child.inode, std::string(child.name), child.directory};
}

/// What readdirplus tells of a name. An own file's size may be costly: then
/// the kernel is told the name alone and looks up what it needs.
fuse_entry_param EntryOf(Server& server, const Listed& listed, bool dots) {
  const Namespace& files = server.files();
  fuse_entry_param entry{};
  entry.attr.st_ino = listed.inode;
  entry.attr.st_mode = listed.directory ? S_IFDIR : S_IFREG;
  if (dots || (!listed.directory && !files.SizeIsCheap(listed.inode))) {
    return entry;
  }
  if (Result<struct stat> st = Examine(server, listed.inode)) {
    entry.ino = listed.inode;
    entry.attr = *st;
    entry.attr_timeout = kForever;
    entry.entry_timeout = kForever;
  }
  return entry;
}

void List(fuse_req_t req, fuse_ino_t inode, size_t size, off_t offset,
          bool plus) {
  Reply(req, [&] {
    Server& server = ServerOf(req);
    const Namespace& files = server.files();
    const uint64_t end = uint64_t{files.ChildCount(inode)} + 2;
    std::vector<char> buffer(size);
    size_t used = 0;
    for (auto at = static_cast<uint64_t>(offset); at < end; ++at) {
      const Listed listed = ListedAt(files, inode, at);
      // What cannot be told, for an I/O error, is listed: to look it up tells.
      const Result<bool> exists =
          at < 2 ? Result<bool>(true)
                 : files.Exists(listed.inode, /*listing=*/true, server.cache());
      if (exists && !*exists) continue;
      const fuse_entry_param entry = EntryOf(server, listed, at < 2);
      const auto next = static_cast<off_t>(at + 1);
      char* to = buffer.data() + used;
      const size_t room = size - used;
      const size_t length =
          plus ? fuse_add_direntry_plus(req, to, room, listed.name.c_str(),
                                        &entry, next)
               : fuse_add_direntry(req, to, room, listed.name.c_str(),
                                   &entry.attr, next);
      if (length > room) break;
      used += length;
    }
    fuse_reply_buf(req, buffer.data(), used);
    return 0;
  });
}

void ReadDir(fuse_req_t req, fuse_ino_t inode, size_t size, off_t offset,
             fuse_file_info* /*fi*/) {
  List(req, inode, size, offset, /*plus=*/false);
}

void ReadDirPlus(fuse_req_t req, fuse_ino_t inode, size_t size, off_t offset,
                 fuse_file_info* /*fi*/) {
  List(req, inode, size, offset, /*plus=*/true);
}

void StatFs(fuse_req_t req, fuse_ino_t /*inode*/) {
  Reply(req, [&] {
    const Namespace& files = ServerOf(req).files();
    struct statvfs st {};
    st.f_bsize = kBlockSize;
    st.f_frsize = kBlockSize;
    st.f_blocks = files.TotalSize() / kBlockSize +
                  (files.TotalSize() % kBlockSize != 0 ? 1 : 0);
    st.f_files = files.NodeCount();
    st.f_namemax = limits::kComponentBytes;
    st.f_flag = ST_RDONLY;
    fuse_reply_statfs(req, &st);
    return 0;
  });
}

std::vector<std::pair<std::string, std::string>> XattrsOf(const Server& server,
                                                          Inode inode) {
  const Namespace& files = server.files();
  const std::optional<EntryInfo> info = files.Describe(inode);
  if (!info) return {};
  return EntryXattrs(*info, files.PathInContainer(inode));
}

/// A size of 0 asks how much there is.
int ReplyXattr(fuse_req_t req, const std::string& value, size_t size) {
  if (size == 0) {
    fuse_reply_xattr(req, value.size());
  } else if (value.size() > size) {
    return ERANGE;
  } else {
    fuse_reply_buf(req, value.data(), value.size());
  }
  return 0;
}

void GetXattr(fuse_req_t req, fuse_ino_t inode, const char* name, size_t size) {
  Reply(req, [&] {
    // Capabilities, ACLs and security labels are asked for all the time.
    if (!std::string_view(name).starts_with("user.ctxfs.")) return ENODATA;
    for (const auto& [key, value] : XattrsOf(ServerOf(req), inode)) {
      if (key == name) return ReplyXattr(req, value, size);
    }
    return ENODATA;
  });
}

void ListXattr(fuse_req_t req, fuse_ino_t inode, size_t size) {
  Reply(req, [&] {
    std::string names;
    for (const auto& [key, value] : XattrsOf(ServerOf(req), inode)) {
      names += key;
      names += '\0';
    }
    return ReplyXattr(req, names, size);
  });
}

}  // namespace

const fuse_lowlevel_ops& Operations() {
  static const fuse_lowlevel_ops ops = [] {
    fuse_lowlevel_ops table{};
    table.init = &Init;
    table.lookup = &Lookup;
    table.forget = &Forget;
    table.forget_multi = &ForgetMulti;
    table.getattr = &GetAttr;
    table.access = &Access;
    table.open = &Open;
    table.read = &Read;
    table.release = &Release;
    table.opendir = &OpenDir;
    table.readdir = &ReadDir;
    table.readdirplus = &ReadDirPlus;
    table.statfs = &StatFs;
    table.getxattr = &GetXattr;
    table.listxattr = &ListXattr;
    return table;
  }();
  return ops;
}

}  // namespace ctxfs
