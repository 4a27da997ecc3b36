// SPDX-License-Identifier: Apache-2.0
#include "fs/mount/kept_identity.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/sysmacros.h>

#include <array>
#include <bit>
#include <functional>
#include <string>
#include <vector>

#include "core/io/fd.h"
#include "tests/unit/testing/result.h"
#include "tests/unit/testing/temp_dir.h"

namespace ctxfs {
namespace {

/// A file of 200 KiB, as the kernel would describe it on other file systems.
struct Described {
  struct stat st {};
  struct statfs fs {};
  std::string bytes = std::string(200 << 10, 'b');

  Described() {
    st.st_dev = makedev(8, 1);
    st.st_ino = 12;
    st.st_size = static_cast<off_t>(bytes.size());
    st.st_mode = S_IFREG | 0600;
    SetId({1, 2});
  }
  void SetId(std::array<int, 2> id) {
    fs.f_fsid = std::bit_cast<decltype(fs.f_fsid)>(id);
  }
  Result<std::string> Identity() const {
    const TempDir directory;
    const Fd file(::open(directory.Write("file", bytes).c_str(), O_RDONLY));
    return KeptIdentity(file.get(), st, fs);
  }
};

using Change = std::function<void(Described&)>;

void ExpectAllDiffer(const Change& as, const std::vector<Change>& changes) {
  Described described;
  as(described);
  const Result<std::string> before = described.Identity();
  ASSERT_TRUE(Ok(before));
  EXPECT_EQ(*described.Identity(), *before);
  for (size_t i = 0; i < changes.size(); ++i) {
    Described other = described;
    changes[i](other);
    const Result<std::string> identity = other.Identity();
    ASSERT_TRUE(Ok(identity)) << i;
    EXPECT_NE(*identity, *before) << i;
  }
}

TEST(KeptIdentity, Item41_11_IsOfTheFileAndOfWhoMayReadIt) {
  const std::vector<Change> changes = {
      [](Described& of) { of.st.st_dev += 1; },
      [](Described& of) { of.st.st_ino += 1; },
      [](Described& of) { of.st.st_size -= 1; },
      [](Described& of) { of.st.st_mtim.tv_nsec += 1; },
      [](Described& of) { of.st.st_ctim.tv_nsec += 1; },
      [](Described& of) { of.st.st_uid += 1; },
      [](Described& of) { of.st.st_gid += 1; },
      [](Described& of) { of.st.st_mode |= 0044; },
      [](Described& of) {
        of.SetId({1, 3});
      },
      [](Described& of) { of.fs.f_type += 1; },
      [](Described& of) { of.bytes.front() = 'c'; },
      [](Described& of) { of.bytes.back() = 'c'; }};
  ExpectAllDiffer([](Described&) {}, changes);
  ExpectAllDiffer([](Described& of) { of.st.st_dev = makedev(0, 40); },
                  changes);
}

TEST(KeptIdentity, Item41_11_IsNoneWhereAnyUserCanImitateAFile) {
  for (const unsigned major : {0U, 8U}) {
    Described fuse;
    fuse.st.st_dev = makedev(major, 40);
    fuse.fs.f_type = FUSE_SUPER_MAGIC;
    EXPECT_TRUE(Fails(fuse.Identity(), Code::kUnsupported));
  }
  Described unknown;
  unknown.st.st_dev = makedev(0, 40);
  unknown.SetId({0, 0});
  EXPECT_TRUE(Fails(unknown.Identity(), Code::kUnsupported));
}

TEST(KeptIdentity, Item41_11_OfAFileThatHasShrunkIsNone) {
  Described shrunk;
  shrunk.st.st_dev = makedev(0, 40);
  shrunk.bytes.resize(10);
  EXPECT_TRUE(Fails(shrunk.Identity(), Code::kStale));
}

}  // namespace
}  // namespace ctxfs
