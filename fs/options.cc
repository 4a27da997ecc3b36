// SPDX-License-Identifier: Apache-2.0
#include "fs/options.h"

#include <fuse_opt.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "fs/common/nearest_word.h"

namespace ctxfs {
namespace {

/// Where fuse_opt writes: plain fields, found by offset.
struct Raw {
  int flat = 0;
  int salvage = 0;
  int insecure_keyfile = 0;
  int nosandbox = 0;
  int nonempty = 0;
  int noxattrs = 0;
  char* keyfile = nullptr;
  char* verify = nullptr;
  char* views = nullptr;
  char* list = nullptr;
  char* cache = nullptr;
  char* cache_dir = nullptr;
  char* cache_dir_size = nullptr;
  char* index = nullptr;
  char* threads = nullptr;
  char* max_expansion = nullptr;
  char* readahead = nullptr;
  char* timeout = nullptr;
  char* uid = nullptr;
  char* gid = nullptr;
  char* umask = nullptr;
  char* log = nullptr;
  char* ignored = nullptr;
  int allow_other = 0;
  int allow_root = 0;
  int auto_unmount = 0;
  int foreground = 0;
  int verbose = 0;
  int help = 0;
  int version = 0;

  std::vector<std::string> operands;
  std::string more_views;  // of views=A,B,C: fuse_opt splits at commas
  std::string unknown;

  Raw() = default;
  ~Raw() {
    for (char* text : {keyfile, verify, views, list, cache, cache_dir,
                       cache_dir_size, index, threads, max_expansion, readahead,
                       timeout, uid, gid, umask, log, ignored}) {
      std::free(text);
    }
  }
  Raw(const Raw&) = delete;
  Raw& operator=(const Raw&) = delete;
};

// What libfuse means by "no field": its own macro converts it implicitly.
constexpr uint64_t kNoField = std::numeric_limits<unsigned>::max();

#define CTXFS_OPT(text, field, value) \
  { text, offsetof(Raw, field), value }
#define CTXFS_IGNORED(text) \
  { text, kNoField, FUSE_OPT_KEY_DISCARD }

const fuse_opt kTable[] = {
    CTXFS_OPT("flat", flat, 1),
    CTXFS_OPT("salvage", salvage, 1),
    CTXFS_OPT("keyfile=%s", keyfile, 0),
    CTXFS_OPT("insecure_keyfile", insecure_keyfile, 1),
    CTXFS_OPT("nosandbox", nosandbox, 1),
    CTXFS_OPT("nonempty", nonempty, 1),
    CTXFS_OPT("noxattrs", noxattrs, 1),
    CTXFS_OPT("verify=%s", verify, 0),
    CTXFS_OPT("views=%s", views, 0),
    CTXFS_OPT("list=%s", list, 0),
    CTXFS_OPT("cache=%s", cache, 0),
    CTXFS_OPT("cache_dir=%s", cache_dir, 0),
    CTXFS_OPT("cache_dir_size=%s", cache_dir_size, 0),
    CTXFS_OPT("index=%s", index, 0),
    CTXFS_OPT("threads=%s", threads, 0),
    CTXFS_OPT("max_expansion=%s", max_expansion, 0),
    CTXFS_OPT("readahead=%s", readahead, 0),
    CTXFS_OPT("timeout=%s", timeout, 0),
    CTXFS_OPT("uid=%s", uid, 0),
    CTXFS_OPT("gid=%s", gid, 0),
    CTXFS_OPT("umask=%s", umask, 0),
    CTXFS_OPT("log=%s", log, 0),
    CTXFS_OPT("allow_other", allow_other, 1),
    CTXFS_OPT("allow_root", allow_root, 1),
    CTXFS_OPT("auto_unmount", auto_unmount, 1),
    CTXFS_OPT("-f", foreground, 1),
    CTXFS_OPT("-v", verbose, 1),
    CTXFS_OPT("-h", help, 1),
    CTXFS_OPT("--help", help, 1),
    CTXFS_OPT("-V", version, 1),
    CTXFS_OPT("--version", version, 1),
    // mount(8) hands these to every helper.
    CTXFS_OPT("-t %s", ignored, 0),
    CTXFS_OPT("-N %s", ignored, 0),
    CTXFS_IGNORED("-s"),
    CTXFS_IGNORED("-n"),
    // What mount(8) and fstab mean for themselves, and what always holds.
    CTXFS_IGNORED("ro"),
    CTXFS_IGNORED("rw"),
    CTXFS_IGNORED("default_permissions"),
    CTXFS_IGNORED("defaults"),
    CTXFS_IGNORED("auto"),
    CTXFS_IGNORED("noauto"),
    CTXFS_IGNORED("user"),
    CTXFS_IGNORED("user="),
    CTXFS_IGNORED("users"),
    CTXFS_IGNORED("nouser"),
    CTXFS_IGNORED("owner"),
    CTXFS_IGNORED("group"),
    CTXFS_IGNORED("nofail"),
    CTXFS_IGNORED("_netdev"),
    CTXFS_IGNORED("exec"),
    CTXFS_IGNORED("noexec"),
    CTXFS_IGNORED("suid"),
    CTXFS_IGNORED("nosuid"),
    CTXFS_IGNORED("dev"),
    CTXFS_IGNORED("nodev"),
    CTXFS_IGNORED("async"),
    CTXFS_IGNORED("sync"),
    CTXFS_IGNORED("atime"),
    CTXFS_IGNORED("noatime"),
    CTXFS_IGNORED("relatime"),
    CTXFS_IGNORED("norelatime"),
    CTXFS_IGNORED("strictatime"),
    CTXFS_IGNORED("nodiratime"),
    CTXFS_IGNORED("diratime"),
    CTXFS_IGNORED("dirsync"),
    CTXFS_IGNORED("nostrictatime"),
    CTXFS_IGNORED("lazytime"),
    CTXFS_IGNORED("nolazytime"),
    CTXFS_IGNORED("silent"),
    CTXFS_IGNORED("loud"),
    CTXFS_IGNORED("iversion"),
    CTXFS_IGNORED("noiversion"),
    CTXFS_IGNORED("mand"),
    CTXFS_IGNORED("nomand"),
    CTXFS_IGNORED("comment="),
    CTXFS_IGNORED("x-"),
    FUSE_OPT_END,
};

#undef CTXFS_OPT
#undef CTXFS_IGNORED

/// Called for whatever the table does not hold.
int TakeOther(void* data, const char* arg, int key, fuse_args* /*out*/) {
  auto* raw = static_cast<Raw*>(data);
  if (key == FUSE_OPT_KEY_NONOPT) {
    raw->operands.emplace_back(arg);
  } else if (std::string_view(arg).starts_with("x-")) {
    // x-systemd.automount and its like: mount(8)'s own.
  } else if (raw->views != nullptr && IsView(arg)) {
    raw->more_views += std::string(":") + arg;
  } else if (raw->unknown.empty()) {
    raw->unknown = arg;
  }
  return 0;
}

bool ParseNumber(const char* text, int base, uint64_t most, uint64_t* value) {
  if (std::isdigit(static_cast<unsigned char>(text[0])) == 0) return false;
  char* end = nullptr;
  errno = 0;
  *value = std::strtoull(text, &end, base);
  return errno == 0 && *end == '\0' && *value <= most;
}

/// Reads an optional number into `field`; false for anything but a number.
template <typename T>
bool TakeNumber(const char* text, int base, T* field) {
  if (text == nullptr) return true;
  uint64_t value = 0;
  if (!ParseNumber(text, base, std::numeric_limits<T>::max(), &value)) {
    return false;
  }
  *field = static_cast<T>(value);
  return true;
}

bool TakeSize(const char* text, uint64_t* field) {
  return text == nullptr || ParseSize(text, field);
}

bool TakeVerify(const char* text, VerifyMode* mode) {
  constexpr std::pair<std::string_view, VerifyMode> kModes[] = {
      {"read", VerifyMode::kRead},
      {"open", VerifyMode::kOpen},
      {"off", VerifyMode::kOff}};
  if (text == nullptr) return true;
  for (const auto& [name, value] : kModes) {
    if (name == text) {
      *mode = value;
      return true;
    }
  }
  return false;
}

constexpr std::pair<std::string_view, ListMode> kListModes[] = {
    {"primary", ListMode::kPrimary},
    {"views", ListMode::kViews},
    {"all", ListMode::kAll}};

bool TakeList(const char* text, ListMode* mode) {
  if (text == nullptr) return true;
  for (const auto& [name, value] : kListModes) {
    if (name == text) {
      *mode = value;
      return true;
    }
  }
  return false;
}

/// What the value of an option has to be.
std::string ExpectedValue(std::string_view option) {
  if (option == "verify") return "read, open or off";
  if (option == "list") return "primary, views or all";
  if (option == "views") return "all, none or names of " + ViewNames();
  if (option == "threads") return "a number from 1 to 1024";
  if (option == "timeout") return "a whole number of seconds";
  if (option == "umask") return "an octal number such as 022";
  if (option == "log") return "error, warning, info or debug";
  if (option == "cache" || option == "cache_dir_size" || option == "index" ||
      option == "readahead") {
    return "a size such as 512M";
  }
  return "a number";
}

/// The value of an option as it was given.
const char* ValueOf(const Raw& raw, std::string_view option) {
  const std::pair<std::string_view, const char*> values[] = {
      {"verify", raw.verify},
      {"views", raw.views},
      {"list", raw.list},
      {"cache", raw.cache},
      {"cache_dir_size", raw.cache_dir_size},
      {"index", raw.index},
      {"readahead", raw.readahead},
      {"threads", raw.threads},
      {"max_expansion", raw.max_expansion},
      {"timeout", raw.timeout},
      {"uid", raw.uid},
      {"gid", raw.gid},
      {"umask", raw.umask},
      {"log", raw.log}};
  for (const auto& [name, value] : values) {
    if (name == option && value != nullptr) return value;
  }
  return "";
}

/// Which option holds a value that cannot be read, or null.
const char* TakeValues(const Raw& raw, MountOptions* options) {
  constexpr unsigned kMostThreads = 1024;
  if (!TakeVerify(raw.verify, &options->verify)) return "verify";
  if (raw.views != nullptr) {
    const std::optional<ViewSet> views = ParseViews(raw.views + raw.more_views);
    if (!views) return "views";
    options->views = *views;
  }
  if (!TakeList(raw.list, &options->list)) return "list";
  if (!TakeSize(raw.cache, &options->cache_bytes)) return "cache";
  if (!TakeSize(raw.cache_dir_size, &options->cache_dir_bytes)) {
    return "cache_dir_size";
  }
  if (!TakeSize(raw.index, &options->index_bytes)) return "index";
  if (!TakeSize(raw.readahead, &options->readahead)) return "readahead";
  if (!TakeNumber(raw.threads, 10, &options->threads) ||
      (raw.threads != nullptr &&
       (options->threads == 0 || options->threads > kMostThreads))) {
    return "threads";
  }
  if (!TakeNumber(raw.max_expansion, 10, &options->max_expansion)) {
    return "max_expansion";
  }
  if (!TakeNumber(raw.timeout, 10, &options->timeout)) return "timeout";
  if (!TakeNumber(raw.uid, 10, &options->uid)) return "uid";
  if (!TakeNumber(raw.gid, 10, &options->gid)) return "gid";
  options->uid_given = raw.uid != nullptr;
  options->gid_given = raw.gid != nullptr;
  if (!TakeNumber(raw.umask, 8, &options->umask) || options->umask > 0777) {
    return "umask";
  }
  if (raw.log != nullptr && !ParseLogLevel(raw.log, &options->log)) {
    return "log";
  }
  return nullptr;
}

std::string UnknownOption(const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  std::vector<std::string_view> names;
  const std::vector<std::string> all = MountOptionNames();
  names.reserve(all.size());
  for (const std::string& one : all) {
    names.push_back(std::string_view(one).substr(0, one.find('=')));
  }
  return "unknown option '" + word + "'" + DidYouMean(name, names);
}

}  // namespace

std::vector<std::string> MountOptionNames() {
  std::vector<std::string> names;
  for (const fuse_opt* option = kTable; option->templ != nullptr; ++option) {
    const std::string_view text = option->templ;
    if (option->value == FUSE_OPT_KEY_DISCARD || text.starts_with('-')) {
      continue;
    }
    names.emplace_back(text.substr(0, text.find('%')));
  }
  return names;
}

std::vector<std::string> ListModeNames() {
  std::vector<std::string> names;
  for (const auto& [name, mode] : kListModes) names.emplace_back(name);
  return names;
}

std::vector<std::string> MountFlags() {
  return {"-o", "-f", "-v", "-h", "--help", "-V", "--version"};
}

unsigned ThreadCount(const MountOptions& options) {
  constexpr unsigned kLeast = 4;
  if (options.threads != 0) return options.threads;
  return std::max(std::thread::hardware_concurrency(), kLeast);
}

unsigned PoolThreads(const MountOptions& options) {
  constexpr unsigned kLeast = 8;
  return std::max(2 * ThreadCount(options), kLeast);
}

bool MountOptions::AllowsOthers() const {
  return std::any_of(
      fuse_options.begin(), fuse_options.end(),
      [](const std::string& option) { return option.starts_with("allow_"); });
}

bool ParseSize(const std::string& text, uint64_t* bytes) {
  std::string digits = text;
  unsigned shift = 0;
  if (!digits.empty()) {
    switch (digits.back()) {
      case 'K':
      case 'k':
        shift = 10;
        break;
      case 'M':
      case 'm':
        shift = 20;
        break;
      case 'G':
      case 'g':
        shift = 30;
        break;
      case 'T':
      case 't':
        shift = 40;
        break;
      default:
        break;
    }
    if (shift != 0) digits.pop_back();
  }
  uint64_t value = 0;
  if (!ParseNumber(digits.c_str(), 10, UINT64_MAX >> shift, &value)) {
    return false;
  }
  *bytes = value << shift;
  return true;
}

bool ParseMountOptions(int argc, const char* const* argv, MountOptions* options,
                       std::string* error) {
  Raw raw;
  fuse_args args = FUSE_ARGS_INIT(argc, const_cast<char**>(argv));
  const int parsed = fuse_opt_parse(&args, &raw, kTable, &TakeOther);
  fuse_opt_free_args(&args);
  options->help = raw.help != 0;
  options->version = raw.version != 0;
  if (options->help || options->version) return true;
  if (parsed != 0) {
    *error = "the options cannot be parsed: a value is missing";
    return false;
  }
  if (!raw.unknown.empty()) {
    *error = UnknownOption(raw.unknown);
    return false;
  }
  if (raw.operands.empty()) {
    *error = "missing operand: expected SOURCE... [MOUNTPOINT]";
    return false;
  }
  if (raw.operands.size() > 1) {
    options->mount_point = raw.operands.back();
    raw.operands.pop_back();
  }
  options->sources = raw.operands;
  options->uid = getuid();
  options->gid = getgid();
  options->umask = ::umask(0);
  ::umask(options->umask);
  if (raw.verbose != 0) options->log = LogLevel::kInfo;
  if (const char* bad = TakeValues(raw, options)) {
    *error = std::string("invalid value '") + ValueOf(raw, bad) +
             "' for option '" + bad + "': expected " + ExpectedValue(bad);
    return false;
  }
  options->flat = raw.flat != 0;
  if (options->flat && options->sources.size() > 1) {
    *error = "option 'flat' needs a single SOURCE";
    return false;
  }
  options->salvage = raw.salvage != 0;
  if (raw.keyfile != nullptr) options->key_file = raw.keyfile;
  if (raw.cache_dir != nullptr) options->cache_dir = raw.cache_dir;
  options->insecure_key_file = raw.insecure_keyfile != 0;
  options->sandbox = raw.nosandbox == 0;
  options->nonempty = raw.nonempty != 0;
  options->xattrs = raw.noxattrs == 0;
  options->foreground = raw.foreground != 0;
  if (raw.allow_other != 0) options->fuse_options.emplace_back("allow_other");
  if (raw.allow_root != 0) options->fuse_options.emplace_back("allow_root");
  if (raw.auto_unmount != 0) options->fuse_options.emplace_back("auto_unmount");
  return true;
}

}  // namespace ctxfs
