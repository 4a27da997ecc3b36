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
#include "core/content/read_context.h"
#include "core/content/window.h"
#include "core/vfs/file_handle.h"
#include "core/vfs/xattr.h"
#include "fs/exit_code.h"
#include "fs/server.h"

namespace ctxfs {
namespace {

// The kernel may keep what it is told of a container: that never changes.
constexpr double kForever = std::numeric_limits<double>::max();
constexpr uint32_t kBlockSize = 512;  // what st_blocks and statfs count in
constexpr uint32_t kPreferredIo = 128 * 1024;

Server& ServerOf(fuse_req_t req) {
  return *static_cast<Server*>(fuse_req_userdata(req));
}

/// Whether the kernel has told us that the caller of a request got a signal.
class RequestInterrupt final : public Interrupt {
 public:
  explicit RequestInterrupt(fuse_req_t req) : req_(req) {}
  bool interrupted() const override { return fuse_req_interrupted(req_) != 0; }

 private:
  fuse_req_t req_;  // not to be asked once it has been answered
};

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

struct stat StatOf(const Server& server, Inode inode,
                   const Attributes& attributes) {
  constexpr int64_t kNsPerSecond = 1'000'000'000;
  struct stat st {};
  st.st_ino = inode;
  const Permissions shown = server.Show(attributes);
  st.st_mode = (attributes.directory ? S_IFDIR : S_IFREG) | shown.bits;
  st.st_nlink = 1;
  st.st_uid = shown.uid;
  st.st_gid = shown.gid;
  st.st_size = static_cast<off_t>(attributes.size);
  st.st_blocks =
      static_cast<blkcnt_t>((attributes.size + kBlockSize - 1) / kBlockSize);
  st.st_blksize = kPreferredIo;
  st.st_mtim.tv_sec = attributes.mtime_ns / kNsPerSecond;
  st.st_mtim.tv_nsec = attributes.mtime_ns % kNsPerSecond;
  st.st_atim = st.st_mtim;
  st.st_ctim = st.st_mtim;
  return st;
}

double Seconds(Lifetime lifetime) {
  switch (lifetime) {
    case Lifetime::kForever:
      return kForever;
    case Lifetime::kMoment:
      return 1;
    case Lifetime::kNone:
      break;
  }
  return 0;
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
    const RequestInterrupt interrupt(req);
    const ReadContext context(server.cache(), interrupt);
    Result<std::optional<Namespace::Found>> found =
        server.files().Lookup(parent, name, context);
    if (!found) {
      server.LogFailure(parent, found.error());
      return ErrnoOf(found.error());
    }
    // Inode 0 says that there is nothing, and may be remembered too.
    fuse_entry_param entry{};
    entry.entry_timeout = Seconds(server.files().NamesLast(parent));
    if (*found) {
      entry.ino = (*found)->inode;
      entry.attr = StatOf(server, entry.ino, (*found)->attributes);
      entry.attr_timeout = Seconds((*found)->attributes.lifetime);
    }
    const bool told = fuse_reply_entry(req, &entry) == 0;
    if (!told && entry.ino != 0) server.files().Forget(entry.ino, 1);
    return 0;
  });
}

void Forget(fuse_req_t req, fuse_ino_t inode, uint64_t count) {
  ServerOf(req).files().Forget(inode, count);
  fuse_reply_none(req);
}

void ForgetMulti(fuse_req_t req, size_t count, fuse_forget_data* forgets) {
  for (size_t i = 0; i < count; ++i) {
    ServerOf(req).files().Forget(forgets[i].ino, forgets[i].nlookup);
  }
  fuse_reply_none(req);
}

void GetAttr(fuse_req_t req, fuse_ino_t inode, fuse_file_info* /*fi*/) {
  Reply(req, [&] {
    Server& server = ServerOf(req);
    const RequestInterrupt interrupt(req);
    const ReadContext context(server.cache(), interrupt);
    const Result<Attributes> attributes =
        server.files().Examine(inode, context);
    if (!attributes) {
      server.LogFailure(inode, attributes.error());
      return ErrnoOf(attributes.error());
    }
    const struct stat st = StatOf(server, inode, *attributes);
    fuse_reply_attr(req, &st, Seconds(attributes->lifetime));
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
    const RequestInterrupt interrupt(req);
    const ReadContext context(server.cache(), interrupt);
    Result<Namespace::OpenFile> opened = server.files().Open(inode, context);
    // No READ ever comes for an empty file, so this is when to find out
    // whether it should be one.
    if (!opened) {
      server.LogFailure(inode, opened.error());
      return ErrnoOf(opened.error());
    }
    fi->keep_cache = opened->same_pages ? 1 : 0;
    fi->direct_io = opened->lifetime == Lifetime::kNone ? 1 : 0;
    fi->noflush = 1;
    const bool verify = server.verify_at_open() || opened->content.size() == 0;
    auto handle =
        std::make_unique<FileHandle>(server.files(), inode, std::move(*opened));
    if (verify) {
      if (const Status verified = handle->Verify(context); !verified) {
        server.LogFailure(inode, verified.error());
        return ErrnoOf(verified.error());
      }
    }
    fi->fh = reinterpret_cast<uint64_t>(handle.get());
    // When the open was interrupted there will be no release.
    if (fuse_reply_open(req, fi) == 0) (void)handle.release();
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
    const RequestInterrupt interrupt(req);
    const ReadContext context(server.cache(), interrupt);
    auto& handle = *reinterpret_cast<FileHandle*>(fi->fh);
    std::shared_ptr<const Namespace::OpenFile> file = handle.file();
    const auto from = static_cast<uint64_t>(offset);
    const bool counted = file->lifetime != Lifetime::kNone;
    if (counted) server.stats().CountRequest();
    server.ahead().Note(*file, from, from + size);
    const Status read = handle.Read(from, size, context, window);
    if (!read) {
      server.stats().CountError();
      server.LogFailure(inode, read.error());
      return ErrnoOf(read.error());
    }
    file = handle.file();
    // Not after the reply: a release may follow that at once.
    if (from + size >= file->content.size()) file->content.Spend(context);
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
  delete reinterpret_cast<FileHandle*>(fi->fh);
  fuse_reply_err(req, 0);
}

void OpenDir(fuse_req_t req, fuse_ino_t inode, fuse_file_info* fi) {
  Reply(req, [&] {
    Server& server = ServerOf(req);
    const RequestInterrupt interrupt(req);
    const ReadContext context(server.cache(), interrupt);
    Result<std::unique_ptr<Listing>> listing =
        server.files().OpenDirectory(inode, context);
    if (!listing) {
      server.LogFailure(inode, listing.error());
      return ErrnoOf(listing.error());
    }
    fi->keep_cache = (*listing)->immutable() ? 1 : 0;
    fi->cache_readdir = fi->keep_cache;
    fi->fh = reinterpret_cast<uint64_t>(listing->get());
    if (fuse_reply_open(req, fi) == 0) (void)listing->release();
    return 0;
  });
}

void ReleaseDir(fuse_req_t req, fuse_ino_t /*inode*/, fuse_file_info* fi) {
  delete reinterpret_cast<Listing*>(fi->fh);
  fuse_reply_err(req, 0);
}

/// One name of a listing. Positions: 0 is ".", 1 is "..", then the names.
std::optional<Listing::Name> NameAt(const Namespace& files,
                                    const Listing& listing, Inode directory,
                                    uint64_t position, bool attributes,
                                    const ReadContext& context) {
  if (position == 0) return Listing::Name{directory, ".", true};
  if (position == 1)
    return Listing::Name{files.Parent(directory, context), "..", true};
  return listing.At(position - 2, attributes, context);
}

/// Returns what readdirplus answers for a name: where attributes cost much, the
/// name alone, and the kernel looks up what it needs.
fuse_entry_param EntryOf(const Server& server, const Listing::Name& name) {
  fuse_entry_param entry{};
  entry.attr.st_ino = name.inode;
  if (name.type_known) entry.attr.st_mode = name.directory ? S_IFDIR : S_IFREG;
  if (name.attributes) {
    entry.ino = name.inode;
    entry.attr = StatOf(server, name.inode, *name.attributes);
    entry.attr_timeout = Seconds(name.attributes->lifetime);
    entry.entry_timeout = kForever;
  }
  return entry;
}

void List(fuse_req_t req, fuse_ino_t inode, size_t size, off_t offset,
          const fuse_file_info* fi, bool plus) {
  Reply(req, [&] {
    Server& server = ServerOf(req);
    const RequestInterrupt interrupt(req);
    const ReadContext context(server.cache(), interrupt);
    auto& listing = *reinterpret_cast<Listing*>(fi->fh);
    if (offset == 0) {
      if (Status listed = listing.Rewind(context); !listed) {
        server.LogFailure(inode, listed.error());
        return ErrnoOf(listed.error());
      }
    }
    std::vector<char> buffer(size);
    size_t used = 0;
    const uint64_t end = listing.count() + 2;
    for (auto at = static_cast<uint64_t>(offset); at < end; ++at) {
      const std::optional<Listing::Name> name =
          NameAt(server.files(), listing, inode, at, plus, context);
      if (!context.Check()) return EINTR;
      if (!name) continue;
      const fuse_entry_param entry = EntryOf(server, *name);
      const auto next = static_cast<off_t>(at + 1);
      char* to = buffer.data() + used;
      const size_t room = size - used;
      const size_t length =
          plus ? fuse_add_direntry_plus(req, to, room, name->name.c_str(),
                                        &entry, next)
               : fuse_add_direntry(req, to, room, name->name.c_str(),
                                   &entry.attr, next);
      if (length > room) break;
      used += length;
    }
    fuse_reply_buf(req, buffer.data(), used);
    return 0;
  });
}

void ReadDir(fuse_req_t req, fuse_ino_t inode, size_t size, off_t offset,
             fuse_file_info* fi) {
  List(req, inode, size, offset, fi, /*plus=*/false);
}

void ReadDirPlus(fuse_req_t req, fuse_ino_t inode, size_t size, off_t offset,
                 fuse_file_info* fi) {
  List(req, inode, size, offset, fi, /*plus=*/true);
}

void StatFs(fuse_req_t req, fuse_ino_t /*inode*/) {
  Reply(req, [&] {
    const MountedContainers::Totals totals = ServerOf(req).files().Totals();
    struct statvfs st {};
    st.f_bsize = kBlockSize;
    st.f_frsize = kBlockSize;
    st.f_blocks =
        totals.bytes / kBlockSize + (totals.bytes % kBlockSize != 0 ? 1 : 0);
    st.f_files = totals.nodes;
    st.f_namemax = limits::kComponentBytes;
    st.f_flag = ST_RDONLY;
    fuse_reply_statfs(req, &st);
    return 0;
  });
}

using Xattrs = std::vector<std::pair<std::string, std::string>>;

Result<Xattrs> XattrsOf(Server& server, Inode inode) {
  const ReadContext context(server.cache());
  Result<std::optional<EntryInfo>> info =
      server.files().Describe(inode, context);
  if (!info) return std::move(info).error();
  if (!*info) return Xattrs();
  return EntryXattrs(**info, server.files().PathInContainer(inode, context));
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
    const Result<Xattrs> xattrs = XattrsOf(ServerOf(req), inode);
    if (!xattrs) return ErrnoOf(xattrs.error());
    for (const auto& [key, value] : *xattrs) {
      if (key == name) return ReplyXattr(req, value, size);
    }
    return ENODATA;
  });
}

void ListXattr(fuse_req_t req, fuse_ino_t inode, size_t size) {
  Reply(req, [&] {
    const Result<Xattrs> xattrs = XattrsOf(ServerOf(req), inode);
    if (!xattrs) return ErrnoOf(xattrs.error());
    std::string names;
    for (const auto& [key, value] : *xattrs) {
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
    table.releasedir = &ReleaseDir;
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
