// SPDX-License-Identifier: Apache-2.0
#include "fs/mount/options.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "fs/mount/memory_limit.h"

namespace ctxfs {
namespace {

using Arguments = std::vector<std::string>;

/// The options, or nothing and the reason.
struct Parsed {
  bool ok;
  MountOptions options;
  std::string error;
};

Parsed Parse(const Arguments& arguments) {
  std::vector<const char*> argv = {"mount.ctxfs"};
  for (const std::string& argument : arguments) {
    argv.push_back(argument.c_str());
  }
  Parsed parsed;
  parsed.ok = ParseMountOptions(static_cast<int>(argv.size()), argv.data(),
                                &parsed.options, &parsed.error);
  EXPECT_EQ(parsed.ok, parsed.error.empty());
  return parsed;
}

Parsed ParseOption(const std::string& option) {
  return Parse({"source", "mnt", "-o", option});
}

void ExpectDefaults(const Parsed& parsed, const std::string& what) {
  ASSERT_TRUE(parsed.ok) << what << ": " << parsed.error;
  const MountOptions& options = parsed.options;
  EXPECT_EQ(options.sources, Arguments{"source"}) << what;
  EXPECT_EQ(options.mount_point, "mnt") << what;
  EXPECT_FALSE(options.flat) << what;
  EXPECT_FALSE(options.salvage) << what;
  EXPECT_EQ(options.verify, VerifyMode::kRead) << what;
  EXPECT_EQ(options.cache_bytes, DefaultCacheBytes()) << what;
  EXPECT_EQ(options.cache_dir, "") << what;
  EXPECT_EQ(options.cache_dir_bytes, uint64_t{10} << 30) << what;
  EXPECT_EQ(options.index_bytes, 0U) << what;  // chosen by the sources
  EXPECT_EQ(options.threads, 0U) << what;
  EXPECT_EQ(options.readahead, 0U) << what;
  EXPECT_EQ(options.uid, ::getuid()) << what;
  EXPECT_EQ(options.gid, ::getgid()) << what;
  EXPECT_TRUE(options.fuse_options.empty()) << what;
  EXPECT_FALSE(options.foreground) << what;
  EXPECT_EQ(options.log, LogLevel::kWarning) << what;
  EXPECT_FALSE(options.help) << what;
  EXPECT_FALSE(options.version) << what;
}

TEST(MountOptions, HaveTheirDefaults) {
  ExpectDefaults(Parse({"source", "mnt"}), "nothing");
}

TEST(MountOptions, TakeTheUmaskOfWhoeverMounts) {
  const mode_t before = ::umask(027);
  EXPECT_EQ(Parse({"source", "mnt"}).options.umask, 027U);
  EXPECT_EQ(ParseOption("umask=0").options.umask, 0U);
  EXPECT_EQ(::umask(before), 027U) << "and leave it alone";
}

TEST(MountOptions, FilesAreMaterialisedOnDemand) {
  const Parsed parsed = ParseOption("cache_keep,materialize=3G");
  ASSERT_TRUE(parsed.ok) << parsed.error;
  EXPECT_EQ(parsed.options.materialize_bytes, uint64_t{3} << 30);
  EXPECT_TRUE(parsed.options.cache_keep);
  EXPECT_FALSE(ParseOption("materialize=1M").options.cache_keep);
  EXPECT_EQ(ParseOption("flat").options.materialize_bytes, 0U);
  EXPECT_FALSE(ParseOption("materialize=much").ok);
  EXPECT_TRUE(ParseOption("cache_keep").options.cache_keep);
}

TEST(MountOptions, WhatTheKernelOpensByItselfIsToldNothing) {
  const MountOptions minute = ParseOption("revalidate=60").options;
  EXPECT_EQ(minute.revalidate, 60U);
  EXPECT_EQ(minute.timeout, 60U) << "names last as long";
  EXPECT_EQ(minute.passthrough, Passthrough::kOff);
  EXPECT_EQ(ParseOption("revalidate=60,timeout=90").options.timeout, 90U);
  const MountOptions off = ParseOption("revalidate=0").options;
  EXPECT_TRUE(off.passthrough == Passthrough::kAuto && !off.revalidate_auto);
  for (const char* chosen : {"flat", "revalidate=1,revalidate=auto"}) {
    EXPECT_TRUE(ParseOption(chosen).options.revalidate_auto) << chosen;
    EXPECT_EQ(ParseOption(chosen).options.revalidate, 0U) << chosen;
  }
  for (const char* bad :
       {"revalidate=1,verify=open", "revalidate=1,passthrough=on",
        "revalidate=soon", "revalidate=-1"}) {
    EXPECT_FALSE(ParseOption(bad).ok) << bad;
  }
}

TEST(MountOptions, FilesAreMaterialisedByTheirPaths) {
  const Parsed parsed =
      ParseOption("materialize_only=views/npy:signal/*,materialize=3G");
  ASSERT_TRUE(parsed.ok) << parsed.error;
  EXPECT_TRUE(parsed.options.materialize_only.Match("views/npy/x.npy"));
  EXPECT_FALSE(parsed.options.materialize_only.Match("tensors/x"));
  EXPECT_TRUE(ParseOption("materialize=3G").options.materialize_only.empty());
  for (const char* option :
       {"materialize_only=", "materialize_only=/views", "materialize_only=../x",
        "materialize_only=views/npy:"}) {
    const Parsed refused = ParseOption(std::string(option) + ",materialize=1G");
    EXPECT_NE(refused.error.find("for option 'materialize_only': expected "
                                 "paths below a container"),
              std::string::npos)
        << refused.error;
  }
  EXPECT_EQ(
      ParseOption("materialize_only=views").error,
      "option 'materialize_only' needs 'materialize', such as materialize=4G");
}

TEST(MountOptions, DoWhatTheyAreForWhereverTheyStand) {
  const Arguments orders[] = {
      {"source", "mnt", "-f", "-o",
       "flat,salvage,verify=open,cache=1G,index=2G,threads=7,readahead=64K,"
       "uid=1,gid=2,umask=022,log=debug,allow_other,auto_unmount,"
       "cache_dir=/big,cache_dir_size=3G"},
      {"-o", "flat,salvage", "-overify=open,cache=1G", "source", "-o",
       "threads=7,index=2G,readahead=64K,uid=1", "mnt", "-f", "-o",
       "cache_dir=/big,gid=2,umask=022", "-o",
       "log=debug,cache_dir_size=3G,allow_other,auto_unmount"}};
  for (const Arguments& arguments : orders) {
    const Parsed parsed = Parse(arguments);
    ASSERT_TRUE(parsed.ok) << parsed.error;
    const MountOptions& options = parsed.options;
    EXPECT_EQ(options.sources, Arguments{"source"});
    EXPECT_EQ(options.mount_point, "mnt");
    EXPECT_TRUE(options.flat);
    EXPECT_TRUE(options.salvage);
    EXPECT_EQ(options.verify, VerifyMode::kOpen);
    EXPECT_EQ(options.cache_bytes, uint64_t{1} << 30);
    EXPECT_EQ(options.cache_dir, "/big");
    EXPECT_EQ(options.cache_dir_bytes, uint64_t{3} << 30);
    EXPECT_EQ(options.index_bytes, uint64_t{2} << 30);
    EXPECT_EQ(options.threads, 7U);
    EXPECT_EQ(options.readahead, 65536U);
    EXPECT_EQ(options.uid, 1U);
    EXPECT_EQ(options.gid, 2U);
    EXPECT_EQ(options.umask, 022U);
    EXPECT_EQ(options.log, LogLevel::kDebug);
    EXPECT_TRUE(options.foreground);
    EXPECT_EQ(options.fuse_options, (Arguments{"allow_other", "auto_unmount"}));
  }
  EXPECT_EQ(ParseOption("allow_root").options.fuse_options,
            Arguments{"allow_root"});
  EXPECT_EQ(Parse({"-v", "source", "mnt"}).options.log, LogLevel::kInfo);
  EXPECT_EQ(ParseOption("verify=off").options.verify, VerifyMode::kOff);
  EXPECT_EQ(ParseOption("verify=read").options.verify, VerifyMode::kRead);
  EXPECT_EQ(ParseOption("cache=1M,cache=2M").options.cache_bytes, 2U << 20)
      << "the last one holds";
}

/// What the usage text says there is: "flat", "verify=WHEN", "-f", ...
Arguments Documented() {
  Arguments all;
  std::istringstream usage(MountUsage());
  for (std::string line; std::getline(usage, line);) {
    if (!line.starts_with("  ") || line.starts_with("   ")) continue;
    std::istringstream left(line.substr(2, line.find("  ", 2) - 2));
    for (std::string word; left >> word;) {
      if (word.back() == ',') word.pop_back();
      all.push_back(word);
    }
  }
  return all;
}

TEST(MountOptions, AreAllThatTheUsageNames) {
  const std::map<std::string, std::string> samples = {
      {"WHEN", "open"},     {"SIZE", "64M"},   {"N", "7"},
      {"MODE", "022"},      {"LEVEL", "info"}, {"PATH", "/key"},
      {"LIST", "npy:hf"},   {"WHAT", "views"}, {"SECONDS", "3600"},
      {"DIR", "/tmp"},      {"NAME", "work"},  {"URL", "https://host"},
      {"STYLE", "virtual"}, {"WHO", "auto"},   {"PATTERNS", "views/npy"}};
  const Arguments documented = Documented();
  EXPECT_GE(documented.size(), 16U);
  for (std::string option : documented) {
    const size_t equals = option.find('=');
    if (equals != std::string::npos) {
      const auto sample = samples.find(option.substr(equals + 1));
      ASSERT_NE(sample, samples.end()) << option;
      option = option.substr(0, equals + 1) + sample->second;
    }
    if (option == "cache_keep" || option.starts_with("materialize_only=")) {
      option += ",materialize=1M";  // needs it
    }
    const Parsed parsed = option.starts_with("-")
                              ? Parse({"source", "mnt", option})
                              : ParseOption(option);
    EXPECT_TRUE(parsed.ok) << option << ": " << parsed.error;
  }
  EXPECT_NE(MountUsage().find("Exit codes"), std::string::npos);
}

/// Of "cache=SIZE" or "cache=": "cache="; of "flat": "flat".
std::set<std::string> WithoutValues(const Arguments& options) {
  std::set<std::string> names;
  for (const std::string& option : options) {
    const size_t end = option.find('=');
    names.insert(end == option.npos ? option : option.substr(0, end + 1));
  }
  return names;
}

TEST(MountOptions, AreAllInTheUsageAndInCompletions) {
  Arguments offered = MountOptionNames();
  for (const std::string& flag : MountFlags()) {
    if (flag != "-o") offered.push_back(flag);
  }
  EXPECT_EQ(WithoutValues(Documented()), WithoutValues(offered));
}

TEST(MountOptions, NeedNoMountPoint) {
  const Parsed parsed = Parse({"source"});
  ASSERT_TRUE(parsed.ok) << parsed.error;
  EXPECT_EQ(parsed.options.sources, Arguments{"source"});
  EXPECT_TRUE(parsed.options.mount_point.empty());
}

TEST(MountOptions, SayWhatIsWrongAndWhatIsExpected) {
  EXPECT_EQ(ParseOption("cache=big").error,
            "invalid value 'big' for option 'cache': expected a size such as "
            "512M");
  EXPECT_EQ(ParseOption("cache=1K").error,
            "invalid value '1K' for option 'cache': expected a size such as "
            "512M (it is too small)");
  EXPECT_EQ(ParseOption("verify=never").error,
            "invalid value 'never' for option 'verify': expected read, open or "
            "off");
  EXPECT_EQ(ParseOption("cahce=1G").error,
            "unknown option 'cahce=1G' (did you mean 'cache'?)");
  EXPECT_EQ(Parse({}).error,
            "missing operand: expected SOURCE... [MOUNTPOINT]");
}

TEST(MountOptions, Item43_5_ATooSmallSizeIsRefusedWithASensibleOne) {
  for (const std::string name :
       {"cache", "index", "materialize", "cache_dir_size"}) {
    for (const std::string meant : {"5G", "64G", "65M", "1023M"}) {
      const std::string given = meant.substr(0, meant.size() - 1);
      EXPECT_EQ(ParseOption(name + "=" + given).error,
                "invalid value '" + given + "' for option '" + name +
                    "': expected a size such as 512M (did you mean '" + meant +
                    "'?)");
    }
    EXPECT_TRUE(ParseOption(name + "=0").ok && ParseOption(name + "=1M").ok);
  }
  EXPECT_TRUE(ParseOption("cache=65535").error.ends_with("'65535M'?)"));
}

TEST(MountOptions, RefuseInvalidValues) {
  for (const char* option : {"verify=",         "verify=never",
                             "verify=READ",     "cache=",
                             "cache=big",       "cache=-1",
                             "cache=1KB",       "cache=1.5G",
                             "cache= 1",        "cache=K",
                             "cache=16777216T", "cache=18446744073709551616",
                             "threads=",        "threads=0",
                             "threads=-1",      "threads=1025",
                             "threads=4x",      "threads=0x4",
                             "readahead=x",     "readahead=-1",
                             "max_expansion=",  "max_expansion=1K",
                             "timeout=",        "timeout=-1",
                             "timeout=0.5",     "timeout=4294967296",
                             "uid=root",        "uid=-1",
                             "uid=4294967296",  "gid=",
                             "gid=staff",       "gid=4294967296",
                             "umask=",          "umask=8",
                             "umask=1777",      "umask=-1",
                             "umask=rwx",       "log=",
                             "log=loud",        "log=4"}) {
    const Parsed parsed = ParseOption(option);
    EXPECT_FALSE(parsed.ok) << option;
    const std::string name =
        std::string(option).substr(0, std::string(option).find('='));
    EXPECT_NE(parsed.error.find("'" + name + "'"), std::string::npos)
        << parsed.error;
  }
  for (const char* option :
       {"threads=1", "threads=1024", "max_expansion=0", "timeout=0",
        "timeout=4294967295", "umask=777", "uid=4294967295", "cache=0",
        "cache=16777215T", "cache=18446744073709551615"}) {
    EXPECT_TRUE(ParseOption(option).ok) << option;
  }
}

TEST(MountOptions, RefuseUnknownOptions) {
  for (const char* option : {"nosuch", "Flat", "flat=1", "verify", "cache",
                             "salvaged", "threads:4", "=", "loop"}) {
    const Parsed parsed = ParseOption(option);
    EXPECT_FALSE(parsed.ok) << option;
    EXPECT_NE(parsed.error.find(option), std::string::npos) << parsed.error;
  }
  for (const char* option : {"-q", "--nosuch", "-F", "--flat", "-fv"}) {
    EXPECT_FALSE(Parse({"source", "mnt", option}).ok) << option;
  }
  // The first of several is the one that is named.
  EXPECT_NE(ParseOption("flat,one,two").error.find("'one'"), std::string::npos);
}

TEST(MountOptions, NeedASource) {
  for (const Arguments& arguments :
       {Arguments{}, Arguments{"--"}, Arguments{"source", "-o", "mnt"}}) {
    EXPECT_FALSE(Parse(arguments).ok) << arguments.size();
  }
  EXPECT_FALSE(Parse({"source", "mnt", "-o"}).ok) << "an option is missing";
}

TEST(MountOptions, LeavePathsAsTheyAre) {
  for (const std::string path :
       {"a,b", "a b", "a\\b", "a\\,b", "flat", "ro", "x-y", "a=b", "verify=off",
        "\xff\n", "/a/b.shard", "."}) {
    for (const Arguments& arguments :
         {Arguments{path, "mnt"}, Arguments{"--", path, "mnt"}}) {
      const Parsed parsed = Parse(arguments);
      ASSERT_TRUE(parsed.ok) << path << ": " << parsed.error;
      EXPECT_EQ(parsed.options.sources, Arguments{path});
      EXPECT_EQ(parsed.options.mount_point, "mnt");
    }
    const Parsed swapped = Parse({"source", path});
    ASSERT_TRUE(swapped.ok) << path;
    EXPECT_EQ(swapped.options.mount_point, path);
  }
  for (const std::string path : {"-", "-f", "-dash", "--help", "-o", "--"}) {
    const Parsed parsed = Parse({"-o", "flat", "--", path, "-mnt"});
    ASSERT_TRUE(parsed.ok) << path << ": " << parsed.error;
    EXPECT_EQ(parsed.options.sources, Arguments{path});
    EXPECT_EQ(parsed.options.mount_point, "-mnt");
    EXPECT_TRUE(parsed.options.flat);
    EXPECT_FALSE(parsed.options.foreground);
  }
}

TEST(MountOptions, IgnoreOptionsForMountAndFstab) {
  for (const char* option : {"ro",
                             "rw",
                             "defaults",
                             "auto",
                             "noauto",
                             "user",
                             "user=ada",
                             "users",
                             "nouser",
                             "owner",
                             "group",
                             "nofail",
                             "_netdev",
                             "exec",
                             "noexec",
                             "suid",
                             "nosuid",
                             "dev",
                             "nodev",
                             "async",
                             "sync",
                             "atime",
                             "noatime",
                             "relatime",
                             "norelatime",
                             "strictatime",
                             "nodiratime",
                             "diratime",
                             "dirsync",
                             "nostrictatime",
                             "lazytime",
                             "nolazytime",
                             "silent",
                             "loud",
                             "iversion",
                             "noiversion",
                             "mand",
                             "nomand",
                             "comment=a b",
                             "x-gvfs-show",
                             "x-systemd.automount",
                             "x-systemd.idle-timeout=60",
                             "default_permissions"}) {
    ExpectDefaults(ParseOption(option), option);
  }
  // As mount(8) calls its helpers.
  ExpectDefaults(
      Parse({"source", "mnt", "-s", "-n", "-o", "rw,nosuid,nodev,user=ada",
             "-t", "ctxfs", "-N", "/run/netns/x"}),
      "mount(8)");
}

TEST(MountOptions, ShowHelpAndVersionWhateverElseIsGiven) {
  for (const Arguments& arguments :
       {Arguments{"-h"}, Arguments{"--help"}, Arguments{"a", "-h", "-o", "bad"},
        Arguments{"a", "b", "c", "--help"}}) {
    const Parsed parsed = Parse(arguments);
    EXPECT_TRUE(parsed.ok && parsed.options.help);
    EXPECT_FALSE(parsed.options.version);
  }
  for (const char* option : {"-V", "--version"}) {
    const Parsed parsed = Parse({option});
    EXPECT_TRUE(parsed.ok && parsed.options.version);
  }
}

TEST(ParseSize, KnowsBinaryUnits) {
  const std::map<std::string, uint64_t> sizes = {
      {"0", 0},
      {"1", 1},
      {"64K", 64 << 10},
      {"64k", 64 << 10},
      {"512M", 512 << 20},
      {"2m", 2 << 20},
      {"1G", uint64_t{1} << 30},
      {"3g", uint64_t{3} << 30},
      {"2T", uint64_t{2} << 40},
      {"18446744073709551615", UINT64_MAX},
      {"18014398509481983K", UINT64_MAX - 1023}};
  for (const auto& [text, size] : sizes) {
    uint64_t bytes = 42;
    EXPECT_TRUE(ParseSize(text, &bytes)) << text;
    EXPECT_EQ(bytes, size) << text;
  }
  for (const char* text :
       {"", "K", "-1", "+1", " 1", "1 ", "1KK", "1KiB", "1.5", "0x10",
        "18014398509481984K", "18446744073709551616"}) {
    uint64_t bytes = 42;
    EXPECT_FALSE(ParseSize(text, &bytes)) << text;
    EXPECT_EQ(bytes, 42U) << "left alone";
  }
}

TEST(MountOptions, ChooseWhatIsListed) {
  EXPECT_EQ(ParseOption("ro").options.list, ListMode::kPrimary);
  EXPECT_EQ(ParseOption("list=primary").options.list, ListMode::kPrimary);
  EXPECT_EQ(ParseOption("list=views").options.list, ListMode::kViews);
  EXPECT_EQ(ParseOption("views=npy,list=all").options.list, ListMode::kAll);
  EXPECT_EQ(ParseOption("list=raw").error,
            "invalid value 'raw' for option 'list': expected primary, views or "
            "all");
  for (const char* bad : {"list", "list=", "list=views,all"}) {
    EXPECT_FALSE(ParseOption(bad).ok) << bad;
  }
  EXPECT_EQ(ListModeNames(), (Arguments{"primary", "views", "all"}));
}

TEST(MountOptions, Item30_5_StandInPlaceOfVariables) {
  EXPECT_TRUE(ParseOption("ro").options.remote.empty());
  const Parsed parsed = ParseOption(
      "cache_dir=/c/d,cache_dir_size=2K,remote_timeout=5,addressing=virtual,"
      "profile=p,offline,aws_metadata");
  ASSERT_TRUE(parsed.ok) << parsed.error;
  const std::map<std::string, std::string> expected = {
      {"AWS_PROFILE", "p"},
      {"CTXFS_AWS_METADATA", "1"},
      {"CTXFS_CACHE_BYTES", "2048"},
      {"CTXFS_CACHE_DIR", "/c/d"},
      {"CTXFS_OFFLINE", "1"},
      {"CTXFS_REMOTE_TIMEOUT", "5"},
      {"CTXFS_S3_ADDRESSING", "virtual"}};
  EXPECT_EQ(parsed.options.remote, expected);
  EXPECT_EQ(ParseOption("cache_dir_size=0").options.remote,
            (std::map<std::string, std::string>{{"CTXFS_CACHE_BYTES", "1"}}));
  const std::string relative =
      ParseOption("cache_dir=x/../y").options.remote["CTXFS_CACHE_DIR"];
  EXPECT_TRUE(relative.starts_with('/') && relative.ends_with("/y"))
      << relative;
  for (const char* bad : {"remote_timeout=0", "remote_timeout=3601",
                          "remote_timeout=1s", "addressing=host"}) {
    EXPECT_FALSE(ParseOption(bad).ok) << bad;
  }
}

TEST(MountOptions, ChooseViews) {
  EXPECT_EQ(ParseOption("ro").options.views, AllViews());
  EXPECT_EQ(ParseOption("views=all").options.views, AllViews());
  EXPECT_EQ(ParseOption("views=none").options.views, ViewSet());
  const ViewSet two = *ParseViews("npy:hf");
  EXPECT_EQ(ParseOption("views=npy:hf").options.views, two);
  EXPECT_EQ(ParseOption("views=npy,hf").options.views, two);
  EXPECT_EQ(ParseOption("views=npy,flat,hf").options.views, two);
  for (const char* bad : {"views=", "views=npx", "views=none,npy", "npy"}) {
    EXPECT_FALSE(ParseOption(bad).ok) << bad;
  }
}

}  // namespace
}  // namespace ctxfs
