// SPDX-License-Identifier: Apache-2.0
//
// null_fs MOUNTPOINT COUNT SIZE: the yardstick. COUNT files of SIZE bytes, all
// of them one buffer in memory, mounted the way ctxfs mounts and served until
// unmounted. What a reader of it waits for is FUSE and nothing else.
#include <fuse_lowlevel.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include <algorithm>
#include <charconv>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

// As in fs/fuse/ops.cc.
constexpr double kForever = std::numeric_limits<double>::max();
constexpr fuse_ino_t kFirstFile = FUSE_ROOT_ID + 1;

struct NullFs {
  uint64_t count = 0;
  std::vector<char> bytes;
};

const NullFs& FsOf(fuse_req_t req) {
  return *static_cast<const NullFs*>(fuse_req_userdata(req));
}

/// "e0000012": file 12.
std::string NameOf(uint64_t file) {
  char name[32];
  std::snprintf(name, sizeof(name), "e%07" PRIu64, file);
  return name;
}

struct stat Attributes(const NullFs& fs, fuse_ino_t inode) {
  constexpr size_t kBlockSize = 512;
  const bool directory = inode == FUSE_ROOT_ID;
  struct stat st {};
  st.st_ino = inode;
  st.st_mode = directory ? S_IFDIR | 0555 : S_IFREG | 0444;
  st.st_nlink = 1;
  const size_t size = directory ? 0 : fs.bytes.size();
  st.st_size = static_cast<off_t>(size);
  st.st_blocks = static_cast<blkcnt_t>((size + kBlockSize - 1) / kBlockSize);
  return st;
}

fuse_entry_param EntryOf(const NullFs& fs, fuse_ino_t inode) {
  fuse_entry_param entry{};
  entry.ino = inode;
  entry.attr = Attributes(fs, inode);
  entry.attr_timeout = kForever;
  entry.entry_timeout = kForever;
  return entry;
}

void Init(void* /*userdata*/, fuse_conn_info* conn) {
  constexpr unsigned kBackgroundReads = 64;  // as in fs/fuse/ops.cc
  conn->max_background = kBackgroundReads;
  conn->congestion_threshold = kBackgroundReads * 3 / 4;
  conn->time_gran = 1;
}

void Lookup(fuse_req_t req, fuse_ino_t /*parent*/, const char* name) {
  const NullFs& fs = FsOf(req);
  const std::string_view digits = std::string_view(name).substr(1);
  uint64_t file = fs.count;
  std::from_chars(digits.data(), digits.data() + digits.size(), file);
  fuse_entry_param entry{};
  entry.entry_timeout = kForever;
  if (file < fs.count && NameOf(file) == name) {
    entry = EntryOf(fs, kFirstFile + file);
  }
  fuse_reply_entry(req, &entry);
}

void Forget(fuse_req_t req, fuse_ino_t /*inode*/, uint64_t /*count*/) {
  fuse_reply_none(req);
}

void ForgetMulti(fuse_req_t req, size_t /*count*/,
                 fuse_forget_data* /*forgets*/) {
  fuse_reply_none(req);
}

void GetAttr(fuse_req_t req, fuse_ino_t inode, fuse_file_info* /*fi*/) {
  const struct stat st = Attributes(FsOf(req), inode);
  fuse_reply_attr(req, &st, kForever);
}

void Open(fuse_req_t req, fuse_ino_t /*inode*/, fuse_file_info* fi) {
  fi->keep_cache = 1;
  fi->noflush = 1;
  fuse_reply_open(req, fi);
}

void Read(fuse_req_t req, fuse_ino_t /*inode*/, size_t size, off_t offset,
          fuse_file_info* /*fi*/) {
  const std::vector<char>& bytes = FsOf(req).bytes;
  const size_t from = std::min(static_cast<size_t>(offset), bytes.size());
  const iovec slice{const_cast<char*>(bytes.data()) + from,
                    std::min(size, bytes.size() - from)};
  fuse_reply_iov(req, &slice, 1);
}

void Release(fuse_req_t req, fuse_ino_t /*inode*/, fuse_file_info* /*fi*/) {
  fuse_reply_err(req, 0);
}

void OpenDir(fuse_req_t req, fuse_ino_t /*inode*/, fuse_file_info* fi) {
  fi->keep_cache = 1;
  fi->cache_readdir = 1;
  fuse_reply_open(req, fi);
}

void List(fuse_req_t req, size_t size, off_t offset, bool plus) {
  const NullFs& fs = FsOf(req);
  std::vector<char> buffer(size);
  size_t used = 0;
  for (auto at = static_cast<uint64_t>(offset); at < fs.count; ++at) {
    const fuse_entry_param entry = EntryOf(fs, kFirstFile + at);
    const std::string name = NameOf(at);
    const auto next = static_cast<off_t>(at + 1);
    char* to = buffer.data() + used;
    const size_t room = size - used;
    const size_t length =
        plus
            ? fuse_add_direntry_plus(req, to, room, name.c_str(), &entry, next)
            : fuse_add_direntry(req, to, room, name.c_str(), &entry.attr, next);
    if (length > room) break;
    used += length;
  }
  fuse_reply_buf(req, buffer.data(), used);
}

void ReadDir(fuse_req_t req, fuse_ino_t /*inode*/, size_t size, off_t offset,
             fuse_file_info* /*fi*/) {
  List(req, size, offset, /*plus=*/false);
}

void ReadDirPlus(fuse_req_t req, fuse_ino_t /*inode*/, size_t size,
                 off_t offset, fuse_file_info* /*fi*/) {
  List(req, size, offset, /*plus=*/true);
}

fuse_lowlevel_ops Operations() {
  fuse_lowlevel_ops ops{};
  ops.init = &Init;
  ops.lookup = &Lookup;
  ops.forget = &Forget;
  ops.forget_multi = &ForgetMulti;
  ops.getattr = &GetAttr;
  ops.open = &Open;
  ops.read = &Read;
  ops.release = &Release;
  ops.opendir = &OpenDir;
  ops.readdir = &ReadDir;
  ops.readdirplus = &ReadDirPlus;
  return ops;
}

/// As fs/fuse/session.cc loops.
int Loop(fuse_session* session) {
  constexpr unsigned kLeastThreads = 4;
  const unsigned threads =
      std::max(std::thread::hardware_concurrency(), kLeastThreads);
  fuse_loop_config* config = fuse_loop_cfg_create();
  fuse_loop_cfg_set_clone_fd(config, 1);
  fuse_loop_cfg_set_max_threads(config, threads);
  fuse_loop_cfg_set_idle_threads(config, threads);
  const int ended = fuse_session_loop_mt(session, config);
  fuse_loop_cfg_destroy(config);
  return ended >= 0 ? 0 : 1;
}

int Serve(NullFs& fs, const char* mount_point) {
  fuse_args args = FUSE_ARGS_INIT(0, nullptr);
  for (const char* arg :
       {"null_fs", "-oro,nosuid,nodev,default_permissions,subtype=null_fs"}) {
    if (fuse_opt_add_arg(&args, arg) != 0) return 1;
  }
  const fuse_lowlevel_ops ops = Operations();
  fuse_session* session = fuse_session_new(&args, &ops, sizeof(ops), &fs);
  fuse_opt_free_args(&args);
  if (session == nullptr) return 1;
  int code = 1;
  if (fuse_set_signal_handlers(session) == 0) {
    if (fuse_session_mount(session, mount_point) == 0) {
      code = Loop(session);
      fuse_session_unmount(session);
    }
    fuse_remove_signal_handlers(session);
  }
  fuse_session_destroy(session);
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fputs("usage: null_fs MOUNTPOINT COUNT SIZE\n", stderr);
    return 1;
  }
  NullFs fs;
  fs.count = std::stoull(argv[2]);
  fs.bytes.resize(std::stoull(argv[3]));
  // Pages that were never written to are all one page of zeros.
  std::fill(fs.bytes.begin(), fs.bytes.end(), 'x');
  return Serve(fs, argv[1]);
}
