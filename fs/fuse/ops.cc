// SPDX-License-Identifier: Apache-2.0
#include "fs/fuse/ops.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/caught.h"
#include "core/base/error_number.h"
#include "core/base/limits.h"
#include "core/content/read_context.h"
#include "core/vfs/log.h"
#include "core/vfs/xattr.h"
#include "fs/fuse/fuse_request.h"
#include "fs/fuse/ops_internal.h"
#include "fs/kernel/inode_files.h"

namespace ctxfs::ops {
namespace {

// The caching time, in seconds, of answers that stay true as long as the mount
// exists, or until the kernel is told of a change (Lifetime).
constexpr double kForever = std::numeric_limits<double>::max();
constexpr uint32_t kBlockSize = 512;  // the unit of st_blocks and statfs
// The st_blksize of files.
constexpr uint32_t kPreferredIo = 128 * 1024;
// The st_blksize of directories. glibc lists as much at a time, but at least 32
// KiB, so this value gives 32 KiB. More would be slower, because the kernel
// creates an inode for each name in the first answer of a listing.
constexpr uint32_t kListingIo = 4 * 1024;

}  // namespace

mode_t TypeBits(bool directory, bool link) {
  return directory ? S_IFDIR : link ? S_IFLNK : S_IFREG;
}

struct stat StatOf(const Server& server, Inode inode,
                   const Attributes& attributes) {
  struct stat st {};
  st.st_ino = inode;
  const Permissions shown = server.Show(attributes);
  st.st_mode = TypeBits(attributes.directory, attributes.link) | shown.bits;
  st.st_nlink = attributes.names;
  st.st_uid = shown.uid;
  st.st_gid = shown.gid;
  st.st_size = static_cast<off_t>(attributes.size);
  st.st_blocks =
      static_cast<blkcnt_t>((attributes.size + kBlockSize - 1) / kBlockSize);
  st.st_blksize = attributes.directory ? kListingIo : kPreferredIo;
  st.st_mtim.tv_sec = attributes.mtime.seconds;
  st.st_mtim.tv_nsec = attributes.mtime.nanoseconds;
  st.st_atim = st.st_mtim;
  st.st_ctim = st.st_mtim;
  return st;
}

double Seconds(const Server& server, Lifetime lifetime) {
  switch (lifetime) {
    case Lifetime::kForever:
    case Lifetime::kUntilChange:
      return kForever;
    case Lifetime::kMoment:
      return server.options().timeout;
    case Lifetime::kNone:
      break;
  }
  return 0;
}

double AttributeSeconds(const Server& server, const Attributes& attributes) {
  if (!server.opens_without_handles() || attributes.directory ||
      attributes.lifetime != Lifetime::kForever) {
    return Seconds(server, attributes.lifetime);
  }
  // The kernel sends no READ for an empty file. If its attributes have expired,
  // the kernel sends a GETATTR instead, whose answer can report why the file is
  // unreadable.
  return attributes.size == 0 ? 0 : server.options().revalidate;
}

double NameSeconds(const Server& server, const Attributes& attributes,
                   Lifetime names) {
  // The kernel must look up a text that differs at each open before each open,
  // because it does not report opens.
  const bool anew =
      server.opens_without_handles() && attributes.lifetime == Lifetime::kNone;
  return anew ? 0 : Seconds(server, names);
}

namespace {

void Init(void* userdata, fuse_conn_info* conn) {
  Server& server = *static_cast<Server*>(userdata);
  constexpr unsigned kBackgroundReads = 64;
  conn->max_background = kBackgroundReads;
  conn->congestion_threshold = kBackgroundReads * 3 / 4;
  conn->time_gran = 1;
#ifdef FUSE_CAP_DIRECT_IO_ALLOW_MMAP
  if ((conn->capable & FUSE_CAP_DIRECT_IO_ALLOW_MMAP) != 0) {
    conn->want |= FUSE_CAP_DIRECT_IO_ALLOW_MMAP;
    server.set_maps_direct_io();
  }
#endif
#ifdef FUSE_CAP_PASSTHROUGH
  if ((conn->capable & FUSE_CAP_PASSTHROUGH) != 0 &&
      server.backing_files() != nullptr) {
    conn->want |= FUSE_CAP_PASSTHROUGH;
    server.backing_files()->set_offered();
  }
#endif
  if ((conn->capable & FUSE_CAP_NO_OPENDIR_SUPPORT) != 0 &&
      server.files().NamesLast(kRootInode) == Lifetime::kForever) {
    server.set_lists_without_handles();
  }
  if (server.files().NamesLast(kRootInode) == Lifetime::kForever) {
    // An NFS handle must find its file after the kernel has forgotten the
    // inode. A mirrored directory cannot promise that.
    conn->want |= conn->capable & FUSE_CAP_EXPORT_SUPPORT;
  }
  constexpr unsigned kNeeded =
      FUSE_CAP_NO_OPEN_SUPPORT | FUSE_CAP_AUTO_INVAL_DATA;
  if (server.options().revalidate == 0) return;
  if ((conn->capable & kNeeded) == kNeeded) {
    server.set_opens_without_handles();
  } else {
    Log(LogLevel::kWarning, "revalidate=: the kernel cannot open files itself");
  }
}

/// An inode in an answer to the kernel. The destructor forgets it unless the
/// answer was sent.
class LookedUp {
 public:
  LookedUp(Namespace& files, Inode inode) : files_(&files), inode_(inode) {}
  ~LookedUp() {
    if (inode_ != 0) files_->Forget(inode_, 1);
  }
  LookedUp(LookedUp&& other) noexcept
      : entry(other.entry),
        files_(other.files_),
        inode_(std::exchange(other.inode_, 0)) {}
  LookedUp& operator=(LookedUp&&) = delete;

  void Send(Reply& to) {
    if (fuse_reply_entry(to.Take(), &entry) == 0) inode_ = 0;
  }

  fuse_entry_param entry = {};

 private:
  Namespace* files_;
  Inode inode_;  // 0: none, or sent
};

/// Must run before attributes are sent: they let the kernel use cached pages.
Status CheckPages(Server& server, Inode inode, Attributes& attributes,
                  const ReadContext& context) {
  if (!server.opens_without_handles()) return {};
  return server.inode_files().Check(inode, attributes, context);
}

/// Like CheckPages, for the answer to a look-up.
Status CheckNamed(Server& server, Inode inode, Attributes& attributes,
                  const ReadContext& context) {
  if (!server.opens_without_handles()) return {};
  return server.inode_files().CheckNamed(inode, attributes, context);
}

Result<Attributes> Examine(Server& server, Inode inode,
                           const ReadContext& context) {
  Attributes attributes = CTXFS_TRY(server.files().Examine(inode, context));
  CTXFS_TRY(CheckPages(server, inode, attributes, context));
  return attributes;
}

/// Looks up `name` in `parent`. For an NFS handle the kernel looks up "." and
/// "..", and `parent` may be a file.
Maybe<FoundNode> Find(Server& server, Inode parent, const std::string& name,
                      const ReadContext& context) {
  if (name != "." && name != "..") {
    return server.files().Lookup(parent, name, context);
  }
  const Inode inode =
      name == "." ? parent : server.files().Parent(parent, context);
  Attributes attributes = CTXFS_TRY(server.files().Examine(inode, context));
  return std::optional(FoundNode{inode, attributes});
}

Result<LookedUp> LookUp(Server& server, Inode parent, const std::string& name,
                        const ReadContext& context) {
  const std::optional<FoundNode> found =
      CTXFS_TRY(Find(server, parent, name, context));
  // Inode 0: the name does not exist. The kernel may cache that, too.
  LookedUp answer(server.files(), found ? found->inode : 0);
  const Lifetime names = server.files().NamesLast(parent);
  answer.entry.entry_timeout = Seconds(server, names);
  if (found) {
    answer.entry.entry_timeout = NameSeconds(server, found->attributes, names);
    Attributes attributes = found->attributes;
    // If the check fails, the look-up still succeeds; GETATTR, which follows,
    // reports the error.
    const Status good = CheckNamed(server, found->inode, attributes, context);
    answer.entry.ino = found->inode;
    answer.entry.generation = server.GenerationOf(found->inode);
    answer.entry.attr = StatOf(server, answer.entry.ino, attributes);
    answer.entry.attr_timeout = good ? AttributeSeconds(server, attributes) : 0;
  }
  return answer;
}

void Lookup(fuse_req_t req, fuse_ino_t parent, const char* name) {
  if (std::strlen(name) > limits::kComponentBytes) {
    fuse_reply_err(req, ENAMETOOLONG);
    return;
  }
  Serve(
      req, parent,
      [&server = ServerOf(req), parent,
       name = std::string(name)](const ReadContext& context) {
        return LookUp(server, parent, name, context);
      },
      [](Reply& to, LookedUp answer) { answer.Send(to); });
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

/// Like Examine, for a read of a file that the kernel opened without an OPEN
/// request.
Result<Attributes> ExamineToRead(Server& server, Inode inode,
                                 const ReadContext& context) {
  const Attributes attributes = CTXFS_TRY(Examine(server, inode, context));
  if (attributes.size == 0) {
    CTXFS_TRY(server.inode_files().VerifyEmpty(inode, context));
  }
  return attributes;
}

void GetAttr(fuse_req_t req, fuse_ino_t inode, fuse_file_info* fi) {
  Server& server = ServerOf(req);
  // With a GETATTR, the kernel names an open file only when it reads that file.
  const bool read = fi != nullptr && server.opens_without_handles();
  Serve(
      req, inode,
      [&server, inode, read](const ReadContext& context) {
        return read ? ExamineToRead(server, inode, context)
                    : Examine(server, inode, context);
      },
      [&server, inode](Reply& to, const Attributes& attributes) {
        const struct stat st = StatOf(server, inode, attributes);
        fuse_reply_attr(to.Take(), &st, AttributeSeconds(server, attributes));
      });
}

void ReadLink(fuse_req_t req, fuse_ino_t inode) {
  Serve(
      req, inode,
      [&server = ServerOf(req), inode](const ReadContext& context) {
        return server.files().ReadLink(inode, context);
      },
      [](Reply& to, const std::string& target) {
        fuse_reply_readlink(to.Take(), target.c_str());
      });
}

// The kernel checks permission bits (default_permissions).
void Access(fuse_req_t req, fuse_ino_t /*inode*/, int mask) {
  fuse_reply_err(req, (mask & W_OK) != 0 ? EROFS : 0);
}

struct statvfs StateOf(const MountedContainers::Totals& totals) {
  struct statvfs st {};
  st.f_bsize = kBlockSize;
  st.f_frsize = kBlockSize;
  st.f_blocks =
      totals.bytes / kBlockSize + (totals.bytes % kBlockSize != 0 ? 1 : 0);
  st.f_files = totals.files;
  st.f_namemax = limits::kComponentBytes;
  st.f_flag = ST_RDONLY;
  return st;
}

/// Returns the answer to statfs; for a mirrored directory, the answer of the
/// underlying file system.
Result<struct statvfs> StateOfFileSystem(Server& server, Inode inode,
                                         const ReadContext& context) {
  if (const auto below = server.files().FileSystemOf(inode)) return *below;
  return StateOf(CTXFS_TRY(server.files().MeasuredTotals(context)));
}

void StatFs(fuse_req_t req, fuse_ino_t inode) {
  Serve(
      req, inode,
      [&server = ServerOf(req), inode](const ReadContext& context) {
        return StateOfFileSystem(server, inode, context);
      },
      [](Reply& to, const struct statvfs& st) {
        fuse_reply_statfs(to.Take(), &st);
      });
}

using Xattrs = std::vector<std::pair<std::string, std::string>>;

Result<Xattrs> XattrsOf(Server& server, Inode inode,
                        const ReadContext& context) {
  const std::optional<EntryInfo> info =
      CTXFS_TRY(server.files().Describe(inode, context));
  if (!info) return Xattrs();
  return EntryXattrs(*info, server.files().PathInContainer(inode, context));
}

/// Returns the value of an extended attribute; nullopt if it does not exist.
Result<std::optional<std::string>> XattrOf(Server& server, Inode inode,
                                           const std::string& name,
                                           const ReadContext& context) {
  Xattrs xattrs = CTXFS_TRY(XattrsOf(server, inode, context));
  std::optional<std::string> found;
  for (auto& [key, value] : xattrs) {
    if (key == name) found = std::move(value);
  }
  return found;
}

Result<std::string> XattrNames(Server& server, Inode inode,
                               const ReadContext& context) {
  const Xattrs xattrs = CTXFS_TRY(XattrsOf(server, inode, context));
  std::string names;
  for (const auto& [key, value] : xattrs) {
    names += key;
    names += '\0';
  }
  return names;
}

/// Replies with `value`; if `size` is 0, with the size of `value`. Replies
/// ERANGE if `value` has more than `size` bytes.
void ReplyXattr(fuse_req_t req, const std::string& value, size_t size) {
  if (size == 0) {
    fuse_reply_xattr(req, value.size());
  } else if (value.size() > size) {
    fuse_reply_err(req, ERANGE);
  } else {
    fuse_reply_buf(req, value.data(), value.size());
  }
}

/// With -o noxattrs, replies ENOSYS; the kernel then sends no further request
/// for extended attributes.
bool RefuseXattrs(fuse_req_t req) {
  if (ServerOf(req).options().xattrs) return false;
  fuse_reply_err(req, ENOSYS);
  return true;
}

void GetXattr(fuse_req_t req, fuse_ino_t inode, const char* name, size_t size) {
  if (RefuseXattrs(req)) return;
  // The kernel queries capabilities, ACLs and security labels all the time, so
  // these get their answer without any work.
  if (!std::string_view(name).starts_with("user.ctxfs.")) {
    fuse_reply_err(req, ENODATA);
    return;
  }
  Serve(
      req, inode,
      [&server = ServerOf(req), inode,
       name = std::string(name)](const ReadContext& context) {
        return XattrOf(server, inode, name, context);
      },
      [size](Reply& to, const std::optional<std::string>& value) {
        if (value) return ReplyXattr(to.Take(), *value, size);
        fuse_reply_err(to.Take(), ENODATA);
      });
}

void ListXattr(fuse_req_t req, fuse_ino_t inode, size_t size) {
  if (RefuseXattrs(req)) return;
  Serve(
      req, inode,
      [&server = ServerOf(req), inode](const ReadContext& context) {
        return XattrNames(server, inode, context);
      },
      [size](Reply& to, const std::string& names) {
        ReplyXattr(to.Take(), names, size);
      });
}

/// Wraps `callback` for libfuse, which is C: no exception may pass through it.
/// An exception means that the request has no answer yet, because Serve does
/// not throw.
template <auto callback>
struct Guarded;
template <typename... Arguments, void (*callback)(fuse_req_t, Arguments...)>
struct Guarded<callback> {
  static void Call(fuse_req_t req, Arguments... arguments) {
    const Status done = CatchAll<Status>([&] {
      callback(req, arguments...);
      return Status();
    });
    if (!done) fuse_reply_err(req, ErrnoOf(done.error()));
  }
};

}  // namespace

const fuse_lowlevel_ops& Operations() {
  static const fuse_lowlevel_ops ops = [] {
    fuse_lowlevel_ops table{};
    table.init = &Init;
    table.lookup = &Guarded<&Lookup>::Call;
    table.forget = &Forget;
    table.forget_multi = &ForgetMulti;
    table.getattr = &Guarded<&GetAttr>::Call;
    table.readlink = &Guarded<&ReadLink>::Call;
    table.access = &Access;
    table.open = &Guarded<&Open>::Call;
    table.read = &Guarded<&Read>::Call;
    table.flush = &Guarded<&Flush>::Call;
    table.release = &Release;
    table.opendir = &Guarded<&OpenDir>::Call;
    table.releasedir = &ReleaseDir;
    table.readdir = &Guarded<&ReadDir>::Call;
    table.readdirplus = &Guarded<&ReadDirPlus>::Call;
    table.statfs = &Guarded<&StatFs>::Call;
    table.getxattr = &Guarded<&GetXattr>::Call;
    table.listxattr = &Guarded<&ListXattr>::Call;
    return table;
  }();
  return ops;
}

}  // namespace ctxfs::ops
