// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/base/limits.h"
#include "core/base/text/path_patterns.h"
#include "core/vfs/listing.h"
#include "core/vfs/log.h"
#include "core/views/list/views.h"

namespace ctxfs {

enum class VerifyMode { kRead, kOpen, kOff };

/// Whether the kernel itself reads plain files of mirrored directories and
/// files below cache_dir: where possible, always (otherwise the mount fails),
/// or never.
enum class Passthrough { kAuto, kOn, kOff };

struct MountOptions {
  std::vector<std::string> sources;  // at least one
  std::string mount_point;           // empty: NewMountPoint()
  bool flat = false;
  bool salvage = false;
  ViewSet views = AllViews();
  ListMode list = ListMode::kPrimary;
  std::string key_file;  // empty: none
  bool insecure_key_file = false;
  VerifyMode verify = VerifyMode::kRead;
  Passthrough passthrough = Passthrough::kAuto;
  uint64_t cache_bytes = 0;  // DefaultCacheBytes() unless given
  std::string cache_dir;     // empty: SpillDirectory()
  uint64_t cache_dir_bytes = limits::kSpillBytes;
  uint64_t materialize_bytes = 0;  // 0: nothing is materialised
  PathPatterns materialize_only;   // empty: any file is materialised
  bool cache_keep = false;         // materialised files are persistent
  uint64_t index_bytes = 0;        // 0: BudgetFor()
  unsigned threads = 0;            // 0: the number of cores, at least 4
  /// Bytes of work that a request may cause per byte of container; 0: no limit.
  uint64_t max_expansion = limits::kWorkFactor;
  uint64_t readahead = 0;  // bytes; 0: the kernel's default
  /// Seconds for which names and attributes of mirrored directories are cached.
  uint32_t timeout = 1;
  /// Seconds for which the kernel may open files and use their cached pages
  /// without a request; 0: every open is a request.
  uint32_t revalidate = 0;
  /// Whether ChooseRevalidation sets `revalidate`.
  bool revalidate_auto = true;
  /// Values that replace environment variables for opening URLs, by the names
  /// of the variables.
  std::map<std::string, std::string> remote;
  uid_t uid = 0;  // the mounting user's unless given
  gid_t gid = 0;
  bool uid_given = false;
  bool gid_given = false;
  mode_t umask = 0;
  bool modes = false;  // members of archives show their permission bits
  std::vector<std::string> fuse_options;  // passed to libfuse unchanged
  bool sandbox = true;
  bool xattrs = true;
  bool nonempty = false;  // may hide files or another mount of ctxfs
  bool foreground = false;
  LogLevel log = LogLevel::kWarning;
  bool help = false;
  bool version = false;

  /// Whether others than the mounting user see the mount.
  bool AllowsOthers() const;
};

/// Number of threads that receive requests.
unsigned ThreadCount(const MountOptions& options);

/// Number of long requests served at a time: twice ThreadCount, at least 8,
/// since many wait for the work of others, or 40 if they may wait for servers.
unsigned PoolThreads(const MountOptions& options);

/// Parses the command line of mount.ctxfs, argv[0] included. On failure sets
/// `error` to the reason.
bool ParseMountOptions(int argc, const char* const* argv, MountOptions* options,
                       std::string* error);

/// Parses "512M", "1G", "64K" or plain bytes.
bool ParseSize(const std::string& text, uint64_t* bytes);

/// Returns the values that the option list= can have.
std::vector<std::string> ListModeNames();

/// The names of the -o options, without those of mount(8) and fstab. Names that
/// take a value end in "=": "flat", "cache=".
std::vector<std::string> MountOptionNames();

/// The options that begin with a dash: "-f", "--help".
std::vector<std::string> MountFlags();

/// The text of --help.
std::string MountUsage();

}  // namespace ctxfs
