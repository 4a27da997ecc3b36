// SPDX-License-Identifier: Apache-2.0
#include "core/vfs/xattr.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "core/base/limits.h"
#include "core/base/result.h"

namespace ctxfs {
namespace {

std::map<std::string, std::string> XattrsOf(const EntryInfo& info,
                                            const std::string& path) {
  std::map<std::string, std::string> all;
  for (const auto& [name, value] : EntryXattrs(info, path)) {
    EXPECT_TRUE(all.emplace(name, value).second) << name;
    EXPECT_LT(value.size(), limits::kXattrBytes) << name;
  }
  return all;
}

TEST(EntryXattrs, TellAllThatIsKnown) {
  EntryInfo info;
  info.name = "../t";
  info.dtype = "bf16";
  info.shape = std::vector<uint64_t>{4, 3};
  info.codec = "zstd";
  info.stored_size = 17;
  info.offset = 1234;
  info.checksum = "crc32c:9a71bb4c";
  info.content_type = "1 tensor";
  info.verified = "yes";
  info.note = "a guess";
  EXPECT_EQ(XattrsOf(info, "%2E%2E/t"),
            (std::map<std::string, std::string>{
                {"user.ctxfs.name", "../t"},
                {"user.ctxfs.dtype", "bf16"},
                {"user.ctxfs.shape", "[4,3]"},
                {"user.ctxfs.codec", "zstd"},
                {"user.ctxfs.stored_size", "17"},
                {"user.ctxfs.offset", "1234"},
                {"user.ctxfs.checksum", "crc32c:9a71bb4c"},
                {"user.ctxfs.content_type", "1 tensor"},
                {"user.ctxfs.verified", "yes"},
                {"user.ctxfs.note", "a guess"}}));
}

TEST(EntryXattrs, LeaveOutWhatSaysNothing) {
  EntryInfo info;
  info.name = "same/path";
  EXPECT_EQ(XattrsOf(info, "same/path"),
            (std::map<std::string, std::string>{{"user.ctxfs.codec", "none"},
                                                {"user.ctxfs.stored_size", "0"},
                                                {"user.ctxfs.offset", "0"}}));
  info.name.reset();
  EXPECT_EQ(XattrsOf(info, "#3").count("user.ctxfs.name"), 0U);
}

TEST(EntryXattrs, LeaveOutWhatDoesNotApply) {
  EntryInfo info;
  info.computed = true;
  info.codec = "zstd";
  info.stored_size = 17;
  info.offset = 1234;
  info.checksum = "crc32c:9a71bb4c";
  info.dtype = "f32";
  info.shape = std::vector<uint64_t>{2};
  EXPECT_EQ(XattrsOf(info, "views/npy/a.npy"),
            (std::map<std::string, std::string>{{"user.ctxfs.dtype", "f32"},
                                                {"user.ctxfs.shape", "[2]"}}));
  info.computed = false;
  info.offset = kNoOffset;
  const auto joined = XattrsOf(info, "episode/reward");
  EXPECT_EQ(joined.count("user.ctxfs.offset"), 0U) << "it is in many places";
  EXPECT_EQ(joined.at("user.ctxfs.stored_size"), "17");
}

TEST(EntryXattrs, GiveTheOriginalNameWhateverItIs) {
  EntryInfo info;
  for (const std::string& name :
       {std::string(), std::string("a\0b", 3), std::string("\xff"),
        std::string(limits::kXattrBytes - 1, 'n')}) {
    info.name = name;
    EXPECT_EQ(XattrsOf(info, "other")["user.ctxfs.name"], name);
    EXPECT_EQ(XattrsOf(info, "other").count("user.ctxfs.name"), 1U);
  }
}

TEST(EntryXattrs, LeaveOutWhatIsTooLong) {
  EntryInfo info;
  info.name = std::string(limits::kXattrBytes, 'n');
  info.note = std::string(limits::kXattrBytes, 'x');
  info.shape = std::vector<uint64_t>(2048, 1);  // "[1,1,...]": 4097 bytes
  EXPECT_EQ(XattrsOf(info, "path").size(), 3U);
  info.note.pop_back();
  info.shape->pop_back();
  const auto all = XattrsOf(info, "path");
  EXPECT_EQ(all.at("user.ctxfs.note").size(), limits::kXattrBytes - 1);
  EXPECT_EQ(all.at("user.ctxfs.shape").size(), 4095U);
}

TEST(EntryXattrs, ShowAScalarsShape) {
  EntryInfo info;
  info.shape = std::vector<uint64_t>{};
  EXPECT_EQ(XattrsOf(info, "path")["user.ctxfs.shape"], "[]");
}

}  // namespace
}  // namespace ctxfs
