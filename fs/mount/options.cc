// SPDX-License-Identifier: Apache-2.0
#include "fs/mount/options.h"

#include <fuse_opt.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "core/io/urls/url.h"
#include "fs/common/nearest_word.h"
#include "fs/mount/memory_limit.h"

namespace ctxfs {
namespace {

/// The words of a command line, as fuse_opt splits them.
struct Words {
  std::vector<std::string> operands;
  /// The last value given for each option, by its name in kOptions.
  std::map<std::string, std::string, std::less<>> options;
  std::string more_views;  // ":B:C" of views=A,B,C
  std::string unknown;     // the first unknown option

  bool Has(std::string_view option) const { return options.contains(option); }
  std::string ValueOf(std::string_view option) const {
    const auto found = options.find(option);
    return found == options.end() ? "" : found->second;
  }
};

/// Parses a number in base `base`, without further text.
template <typename T>
bool ParseNumber(std::string_view text, int base, T* number) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, *number, base);
  return error == std::errc() && stop == end;
}

template <auto kField, int kBase = 10>
bool TakeNumber(const std::string& text, MountOptions& options) {
  return ParseNumber(text, kBase, &(options.*kField));
}

/// A smaller size was probably meant in another unit.
constexpr uint64_t kLeastSize = 64 * limits::kKiB;

/// Stores a size: 0, or at least `kLeast` bytes.
template <uint64_t MountOptions::*kField, uint64_t kLeast = 0>
bool TakeSize(const std::string& text, MountOptions& options) {
  uint64_t bytes = 0;
  if (!ParseSize(text, &bytes) || (bytes > 0 && bytes < kLeast)) return false;
  options.*kField = bytes;
  return true;
}

/// Returns the unit that the user probably meant for a number of bytes that is
/// too small: the largest that makes a size which a machine can have.
const char* MeantUnit(uint64_t number) {
  constexpr uint64_t kMaxGigabytes = 64;
  return number <= kMaxGigabytes ? "G" : "M";
}

/// Suggests a size in place of `text`, which is too small; empty if `text` is
/// not a size.
std::string MeantSize(const std::string& text) {
  uint64_t bytes = 0;
  if (!ParseSize(text, &bytes)) return "";
  const bool has_unit = text.find_first_not_of("0123456789") != text.npos;
  if (has_unit) return " (it is too small)";
  return " (did you mean '" + text + MeantUnit(bytes) + "'?)";
}

/// Stores the value that belongs to the name `text` in `kNames`.
template <const auto& kNames, auto kField>
bool TakeNamed(const std::string& text, MountOptions& options) {
  for (const auto& [name, value] : kNames) {
    if (name != text) continue;
    options.*kField = value;
    return true;
  }
  return false;
}

constexpr std::pair<std::string_view, VerifyMode> kVerifyModes[] = {
    {"read", VerifyMode::kRead},
    {"open", VerifyMode::kOpen},
    {"off", VerifyMode::kOff}};

constexpr std::pair<std::string_view, Passthrough> kPassthrough[] = {
    {"auto", Passthrough::kAuto},
    {"on", Passthrough::kOn},
    {"off", Passthrough::kOff}};

constexpr std::pair<std::string_view, ListMode> kListModes[] = {
    {"primary", ListMode::kPrimary},
    {"views", ListMode::kViews},
    {"all", ListMode::kAll}};

bool TakeViews(const std::string& text, MountOptions& options) {
  const std::optional<ViewSet> views = ParseViews(text);
  options.views = views.value_or(options.views);
  return views.has_value();
}

bool TakePatterns(const std::string& text, MountOptions& options) {
  const std::optional<PathPatterns> patterns = PathPatterns::Parse(text);
  options.materialize_only = patterns.value_or(PathPatterns());
  return patterns.has_value();
}

bool TakeThreads(const std::string& text, MountOptions& options) {
  constexpr unsigned kMax = 1024;
  return ParseNumber(text, 10, &options.threads) && options.threads >= 1 &&
         options.threads <= kMax;
}

bool TakeUmask(const std::string& text, MountOptions& options) {
  return ParseNumber(text, 8, &options.umask) && options.umask <= 0777;
}

bool TakeRevalidate(const std::string& text, MountOptions& options) {
  options.revalidate_auto = text == "auto";
  if (!options.revalidate_auto) {
    return ParseNumber(text, 10, &options.revalidate);
  }
  options.revalidate = 0;
  return true;
}

bool TakeLog(const std::string& text, MountOptions& options) {
  return ParseLogLevel(text, &options.log);
}

bool IsAddressing(const std::string& text, MountOptions& /*options*/) {
  return text == "path" || text == "virtual";
}

bool IsRemoteTimeout(const std::string& text, MountOptions& /*options*/) {
  unsigned seconds = 0;
  constexpr unsigned kMax = 3600;
  return ParseNumber(text, 10, &seconds) && seconds >= 1 && seconds <= kMax;
}

/// The options that replace environment variables.
constexpr std::pair<std::string_view, const char*> kRemoteOptions[] = {
    {"profile=", "AWS_PROFILE"},
    {"region=", "AWS_REGION"},
    {"endpoint=", "AWS_ENDPOINT_URL_S3"},
    {"addressing=", "CTXFS_S3_ADDRESSING"},
    {"cafile=", "AWS_CA_BUNDLE"},
    {"remote_timeout=", "CTXFS_REMOTE_TIMEOUT"}};

/// An option after -o, or one that begins with a dash.
struct Option {
  std::string_view name;  // "flat", or "cache=" if it has a value
  /// Stores a value; returns false if the value is invalid. Null: all values
  /// are ignored.
  bool (*take)(const std::string& value, MountOptions& options) = nullptr;
  std::string_view expected = "";  // for messages: describes valid values
};

constexpr std::string_view kSize = "a size such as 512M";
constexpr std::string_view kNumber = "a number";

constexpr Option kOptions[] = {
    {"flat"},
    {"salvage"},
    {"keyfile="},
    {"insecure_keyfile"},
    {"nosandbox"},
    {"nonempty"},
    {"noxattrs"},
    {"verify=", &TakeNamed<kVerifyModes, &MountOptions::verify>,
     "read, open or off"},
    {"passthrough=", &TakeNamed<kPassthrough, &MountOptions::passthrough>,
     "auto, on or off"},
    {"views=", &TakeViews},  // `expected` is ViewNames()
    {"list=", &TakeNamed<kListModes, &MountOptions::list>,
     "primary, views or all"},
    {"cache=", &TakeSize<&MountOptions::cache_bytes, kLeastSize>, kSize},
    {"profile="},
    {"region="},
    {"endpoint="},
    {"addressing=", &IsAddressing, "path or virtual"},
    {"cafile="},
    {"remote_timeout=", &IsRemoteTimeout, "seconds, 1 to 3600"},
    {"aws_metadata"},
    {"offline"},
    {"cache_dir="},
    {"cache_dir_size=", &TakeSize<&MountOptions::cache_dir_bytes, limits::kKiB>,
     kSize},
    {"cache_keep"},
    {"materialize=", &TakeSize<&MountOptions::materialize_bytes, kLeastSize>,
     kSize},
    {"materialize_only=", &TakePatterns,
     "paths below a container such as views/npy:signal/*"},
    {"index=", &TakeSize<&MountOptions::index_bytes, kLeastSize>, kSize},
    {"readahead=", &TakeSize<&MountOptions::readahead>, kSize},
    {"threads=", &TakeThreads, "a number from 1 to 1024"},
    {"max_expansion=", &TakeNumber<&MountOptions::max_expansion>, kNumber},
    {"timeout=", &TakeNumber<&MountOptions::timeout>,
     "a whole number of seconds"},
    {"revalidate=", &TakeRevalidate, "auto or a whole number of seconds"},
    {"uid=", &TakeNumber<&MountOptions::uid>, kNumber},
    {"gid=", &TakeNumber<&MountOptions::gid>, kNumber},
    {"umask=", &TakeUmask, "an octal number such as 022"},
    {"modes"},
    {"log=", &TakeLog, "error, warning, info or debug"},
    {"allow_other"},
    {"allow_root"},
    {"auto_unmount"},
    {"-f"},
    {"-v"},
    {"-h"},
    {"--help"},
    {"-V"},
    {"--version"},
};

/// Options without effect here. Options that begin with "x-", mount(8)'s own,
/// are ignored, too.
constexpr std::string_view kIgnored[] = {
    // passed to every mount helper
    "-s", "-n",
    // for mount(8) and fstab
    "defaults", "auto", "noauto", "user", "user=", "users", "nouser", "owner",
    "group", "nofail", "_netdev", "comment=",
    // in force without being given, or without effect on a read-only mount
    "ro", "rw", "default_permissions", "exec", "noexec", "suid", "nosuid",
    "dev", "nodev", "async", "sync", "atime", "noatime", "relatime",
    "norelatime", "strictatime", "nostrictatime", "nodiratime", "diratime",
    "dirsync", "lazytime", "nolazytime", "silent", "loud", "iversion",
    "noiversion", "mand", "nomand"};

// Options of mount(8) that are ignored with their values, which are the next
// words. To libfuse, an offset of all ones means "no field"; the macro of
// libfuse is not used because it converts this offset implicitly.
constexpr uint64_t kNoField = std::numeric_limits<unsigned>::max();
const fuse_opt kWithNextWord[] = {{"-t %s", kNoField, FUSE_OPT_KEY_DISCARD},
                                  {"-N %s", kNoField, FUSE_OPT_KEY_DISCARD},
                                  FUSE_OPT_END};

/// Stores a word that kWithNextWord does not match.
int TakeWord(void* data, const char* arg, int key, fuse_args* /*out*/) {
  auto& words = *static_cast<Words*>(data);
  const std::string word = arg;
  const size_t equals = word.find('=');
  const bool assigns = equals != std::string::npos;
  const std::string name = assigns ? word.substr(0, equals + 1) : word;
  const bool is_option =
      std::any_of(std::begin(kOptions), std::end(kOptions),
                  [&](const Option& option) { return option.name == name; });
  if (key == FUSE_OPT_KEY_NONOPT) {
    words.operands.push_back(word);
  } else if (is_option) {
    words.options[name] = word.substr(name.size());
  } else if (word.starts_with("x-") ||
             std::find(std::begin(kIgnored), std::end(kIgnored), name) !=
                 std::end(kIgnored)) {
    // An option for mount(8), or one without effect, is ignored.
  } else if (words.Has("views=") && IsView(word)) {
    words.more_views += ":" + word;
  } else if (words.unknown.empty()) {
    words.unknown = word;
  }
  return 0;
}

/// Stores the values of options. Returns the fault of the first invalid one, or
/// an empty string.
std::string TakeValues(const Words& words, MountOptions* options) {
  for (const Option& option : kOptions) {
    if (option.take == nullptr || !words.Has(option.name)) continue;
    const std::string value = words.ValueOf(option.name);
    const bool views = option.take == &TakeViews;
    if (option.take(views ? value + words.more_views : value, *options)) {
      continue;
    }
    const std::string name(option.name.substr(0, option.name.size() - 1));
    return "invalid value '" + value + "' for option '" + name +
           "': expected " +
           (views ? "all, none or names of " + ViewNames()
                  : std::string(option.expected)) +
           (option.expected == kSize ? MeantSize(value) : "");
  }
  return "";
}

/// With revalidate=, the kernel opens files without OPEN requests, so options
/// for single opens cannot apply. Returns the contradiction with another
/// option, or an empty string.
std::string SetRevalidation(MountOptions& options) {
  if (options.revalidate == 0) return "";
  if (options.verify == VerifyMode::kOpen) {
    return "option 'revalidate' cannot be combined with 'verify=open': files "
           "are opened by the kernel itself";
  }
  if (options.passthrough == Passthrough::kOn) {
    return "option 'revalidate' cannot be combined with 'passthrough=on'";
  }
  options.passthrough = Passthrough::kOff;
  options.timeout = std::max(options.timeout, options.revalidate);
  return "";
}

/// Places the cache for URLs in cache_dir, limited to cache_dir_size.
void SetRemoteCache(const Words& words, MountOptions& options) {
  if (!options.cache_dir.empty()) {
    options.remote["CTXFS_CACHE_DIR"] =
        std::filesystem::absolute(options.cache_dir).lexically_normal();
  }
  if (words.Has("cache_dir_size=")) {
    // In the variable, 0 means the default.
    options.remote["CTXFS_CACHE_BYTES"] =
        std::to_string(std::max<uint64_t>(options.cache_dir_bytes, 1));
  }
}

std::string UnknownOption(const std::string& word) {
  const std::vector<std::string> options = MountOptionNames();
  std::vector<std::string_view> names(options.begin(), options.end());
  for (std::string_view& name : names) name = name.substr(0, name.find('='));
  return "unknown option '" + word + "'" +
         DidYouMean(word.substr(0, word.find('=')), names);
}

}  // namespace

std::vector<std::string> MountOptionNames() {
  std::vector<std::string> names;
  for (const Option& option : kOptions) {
    if (!option.name.starts_with('-')) names.emplace_back(option.name);
  }
  return names;
}

std::vector<std::string> ListModeNames() {
  std::vector<std::string> names;
  for (const auto& [name, mode] : kListModes) names.emplace_back(name);
  return names;
}

std::vector<std::string> MountFlags() {
  std::vector<std::string> flags = {"-o"};
  for (const Option& option : kOptions) {
    if (option.name.starts_with('-')) flags.emplace_back(option.name);
  }
  return flags;
}

unsigned ThreadCount(const MountOptions& options) {
  constexpr unsigned kLeast = 4;
  if (options.threads != 0) return options.threads;
  return std::max(std::thread::hardware_concurrency(), kLeast);
}

unsigned PoolThreads(const MountOptions& options) {
  constexpr unsigned kLeast = 8;
  // A request that waits for a server keeps a thread, but no processor.
  constexpr unsigned kLeastOfServers = 40;
  const bool waits = std::ranges::any_of(options.sources, IsUrl);
  return std::max(2 * ThreadCount(options), waits ? kLeastOfServers : kLeast);
}

bool MountOptions::AllowsOthers() const {
  return std::any_of(
      fuse_options.begin(), fuse_options.end(),
      [](const std::string& option) { return option.starts_with("allow_"); });
}

bool ParseSize(const std::string& text, uint64_t* bytes) {
  constexpr std::string_view kUnits = "KkMmGgTt";
  std::string_view digits = text;
  size_t shift = 0;
  const size_t unit =
      text.empty() ? std::string::npos : kUnits.find(text.back());
  if (unit != std::string::npos) {
    shift = 10 * (unit / 2 + 1);
    digits.remove_suffix(1);
  }
  uint64_t value = 0;
  if (!ParseNumber(digits, 10, &value) || value > UINT64_MAX >> shift) {
    return false;
  }
  *bytes = value << shift;
  return true;
}

bool ParseMountOptions(int argc, const char* const* argv, MountOptions* options,
                       std::string* error) {
  Words words;
  fuse_args args = FUSE_ARGS_INIT(argc, const_cast<char**>(argv));
  const int parsed = fuse_opt_parse(&args, &words, kWithNextWord, &TakeWord);
  fuse_opt_free_args(&args);
  options->help = words.Has("-h") || words.Has("--help");
  options->version = words.Has("-V") || words.Has("--version");
  if (options->help || options->version) return true;
  if (parsed != 0) {
    *error = "the options cannot be parsed: a value is missing";
    return false;
  }
  if (!words.unknown.empty()) {
    *error = UnknownOption(words.unknown);
    return false;
  }
  if (words.operands.empty()) {
    *error = "missing operand: expected SOURCE... [MOUNTPOINT]";
    return false;
  }
  if (words.operands.size() > 1) {
    options->mount_point = words.operands.back();
    words.operands.pop_back();
  }
  options->sources = words.operands;
  options->uid = getuid();
  options->gid = getgid();
  options->umask = ::umask(0);
  ::umask(options->umask);
  if (words.Has("-v")) options->log = LogLevel::kInfo;
  options->cache_bytes = DefaultCacheBytes();
  *error = TakeValues(words, options);
  if (!error->empty()) return false;
  *error = SetRevalidation(*options);
  if (!error->empty()) return false;
  options->flat = words.Has("flat");
  options->modes = words.Has("modes");
  if (options->flat && options->sources.size() > 1) {
    *error = "option 'flat' needs a single SOURCE";
    return false;
  }
  if (words.Has("materialize_only=") && options->materialize_bytes == 0) {
    *error =
        "option 'materialize_only' needs 'materialize', such as materialize=4G";
    return false;
  }
  options->salvage = words.Has("salvage");
  options->cache_keep = words.Has("cache_keep");
  options->key_file = words.ValueOf("keyfile=");
  options->insecure_key_file = words.Has("insecure_keyfile");
  options->cache_dir = words.ValueOf("cache_dir=");
  for (const auto& [option, variable] : kRemoteOptions) {
    if (words.Has(option)) options->remote[variable] = words.ValueOf(option);
  }
  SetRemoteCache(words, *options);
  if (words.Has("offline")) options->remote["CTXFS_OFFLINE"] = "1";
  if (words.Has("aws_metadata")) options->remote["CTXFS_AWS_METADATA"] = "1";
  options->uid_given = words.Has("uid=");
  options->gid_given = words.Has("gid=");
  options->sandbox = !words.Has("nosandbox");
  options->nonempty = words.Has("nonempty");
  options->xattrs = !words.Has("noxattrs");
  options->foreground = words.Has("-f");
  for (const char* option : {"allow_other", "allow_root", "auto_unmount"}) {
    if (words.Has(option)) options->fuse_options.emplace_back(option);
  }
  return true;
}

}  // namespace ctxfs
