// SPDX-License-Identifier: Apache-2.0
//
// Requests about open directories.
#include <cerrno>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/base/mutex.h"
#include "core/content/read_context.h"
#include "core/vfs/listing.h"
#include "fs/fuse/fuse_request.h"
#include "fs/fuse/ops_internal.h"
#include "fs/kernel/inode_files.h"

namespace ctxfs::ops {
namespace {

/// An open directory. Its fuse_file_info::fh points to a DirectoryHandle, a
/// shared pointer, because abandoned requests may still use the directory when
/// the kernel closes it.
struct OpenDirectory {
  explicit OpenDirectory(std::unique_ptr<Listing> names)
      : listing(std::move(names)) {}

  const std::unique_ptr<Listing> listing;
  bool rewound = false;  // since the open
  Mutex mutex;           // for `listing`, which several requests may use
};
using DirectoryHandle = std::shared_ptr<OpenDirectory>;

Result<DirectoryHandle> OpenDirectoryAt(Server& server, Inode inode,
                                        const ReadContext& context) {
  std::unique_ptr<Listing> listing =
      CTXFS_TRY(server.files().OpenDirectory(inode, context));
  return std::make_shared<OpenDirectory>(std::move(listing));
}

}  // namespace

void OpenDir(fuse_req_t req, fuse_ino_t inode, fuse_file_info* fi) {
  Server& server = ServerOf(req);
  if (server.lists_without_handles()) {
    // After ENOSYS, the kernel opens directories without OPENDIR requests and
    // caches listings.
    fuse_reply_err(req, ENOSYS);
    return;
  }
  Serve(
      req, inode,
      [&server, inode](const ReadContext& context)
          -> Result<std::unique_ptr<DirectoryHandle>> {
        DirectoryHandle directory =
            CTXFS_TRY(OpenDirectoryAt(server, inode, context));
        return std::make_unique<DirectoryHandle>(std::move(directory));
      },
      [info = *fi](Reply& to, std::unique_ptr<DirectoryHandle> handle) mutable {
        info.keep_cache = (*handle)->listing->immutable() ? 1 : 0;
        info.cache_readdir = info.keep_cache;
        info.fh = reinterpret_cast<uint64_t>(handle.get());
        if (fuse_reply_open(to.Take(), &info) == 0) (void)handle.release();
      });
}

void ReleaseDir(fuse_req_t req, fuse_ino_t /*inode*/, fuse_file_info* fi) {
  delete reinterpret_cast<DirectoryHandle*>(fi->fh);
  fuse_reply_err(req, 0);
}

namespace {

/// Returns one name of a listing. Position 0 is ".", 1 is "..", then the names.
std::optional<Listing::Name> NameAt(const Namespace& files,
                                    const Listing& listing, Inode directory,
                                    uint64_t position, bool attributes,
                                    const ReadContext& context) {
  if (position == 0) return Listing::Name{directory, ".", true};
  if (position == 1) {
    return Listing::Name{files.Parent(directory, context), "..", true};
  }
  return listing.At(position - 2, attributes, context);
}

/// Returns the readdirplus entry of a name. If the listing does not have the
/// attributes, the entry has only the inode number and the type, and the kernel
/// looks up the rest on demand.
fuse_entry_param EntryOf(const Server& server, const Listing::Name& name) {
  fuse_entry_param entry{};
  entry.attr.st_ino = name.inode;
  if (name.type_known) {
    entry.attr.st_mode = TypeBits(name.directory, name.link);
  }
  if (name.attributes) {
    entry.ino = name.inode;
    entry.generation = server.GenerationOf(name.inode);
    entry.attr = StatOf(server, name.inode, *name.attributes);
    entry.attr_timeout = server.inode_files().HasPages(name.inode)
                             ? 0  // InodeFiles::Check must run first
                             : AttributeSeconds(server, *name.attributes);
    entry.entry_timeout =
        NameSeconds(server, *name.attributes, Lifetime::kForever);
  }
  return entry;
}

/// The requested part of a directory.
struct ListingPart {
  uint64_t offset;  // position of the first name
  size_t size;      // maximum, in bytes
  bool plus;        // with attributes
};

/// Encodes the names from part.offset on, as readdir expects them. The thread's
/// next call overwrites the result.
Result<std::span<const char>> ListPart(Server& server, OpenDirectory& directory,
                                       Inode inode, const ListingPart& part,
                                       const ReadContext& context) {
  const MutexLock lock(directory.mutex);
  Listing& listing = *directory.listing;
  // Rewinds a new handle even if the part is not the first: a reader may
  // continue where another handle stopped.
  if (part.offset == 0 || !directory.rewound) {
    CTXFS_TRY(listing.Rewind(context));
    directory.rewound = true;
  }
  thread_local std::vector<char> buffer;  // reused; at most 1 MiB
  if (buffer.size() < part.size) buffer.resize(part.size);
  size_t used = 0;
  const uint64_t end = listing.count() + 2;
  for (uint64_t at = part.offset; at < end; ++at) {
    const std::optional<Listing::Name> name =
        NameAt(server.files(), listing, inode, at, part.plus, context);
    // Runs after NameAt, because the result of an interrupted NameAt is
    // invalid.
    CTXFS_TRY(context.Check());
    if (!name) continue;
    const fuse_entry_param entry = EntryOf(server, *name);
    const auto next = static_cast<off_t>(at + 1);
    char* to = buffer.data() + used;
    const size_t room = part.size - used;
    // libfuse ignores the request argument.
    const size_t length =
        part.plus ? fuse_add_direntry_plus(nullptr, to, room,
                                           name->name.c_str(), &entry, next)
                  : fuse_add_direntry(nullptr, to, room, name->name.c_str(),
                                      &entry.attr, next);
    if (length > room) break;
    used += length;
  }
  return std::span<const char>(buffer.data(), used);
}

void List(fuse_req_t req, fuse_ino_t inode, const ListingPart& part,
          const fuse_file_info* fi) {
  const DirectoryHandle handle =
      fi->fh == 0 ? nullptr : *reinterpret_cast<const DirectoryHandle*>(fi->fh);
  Serve(
      req, inode,
      [&server = ServerOf(req), inode, part,
       handle](const ReadContext& context) -> Result<std::span<const char>> {
        if (handle) return ListPart(server, *handle, inode, part, context);
        const DirectoryHandle directory =
            CTXFS_TRY(OpenDirectoryAt(server, inode, context));
        return ListPart(server, *directory, inode, part, context);
      },
      [](Reply& to, std::span<const char> names) {
        fuse_reply_buf(to.Take(), names.data(), names.size());
      });
}

}  // namespace

void ReadDir(fuse_req_t req, fuse_ino_t inode, size_t size, off_t offset,
             fuse_file_info* fi) {
  List(req, inode, {static_cast<uint64_t>(offset), size, /*plus=*/false}, fi);
}

void ReadDirPlus(fuse_req_t req, fuse_ino_t inode, size_t size, off_t offset,
                 fuse_file_info* fi) {
  List(req, inode, {static_cast<uint64_t>(offset), size, /*plus=*/true}, fi);
}

}  // namespace ctxfs::ops
