// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace ctxfs {

/// A directory of its own for one test, gone with it.
class TempDir {
 public:
  TempDir() : path_(::testing::TempDir() + "ctxfs_unit_XXXXXX") {
    EXPECT_NE(::mkdtemp(path_.data()), nullptr);
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  std::string Path(const std::string& name) const { return path_ + "/" + name; }

  /// Writes a file and gives its path.
  std::string Write(const std::string& name, std::string_view bytes) const {
    std::ofstream out(Path(name), std::ios::binary);
    out << bytes;
    out.close();
    EXPECT_TRUE(out.good()) << Path(name);
    return Path(name);
  }

 private:
  std::string path_;
};

}  // namespace ctxfs
