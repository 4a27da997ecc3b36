// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/container/format.h"
#include "core/io/source.h"

/// What every format's golden runner needs: a folder of containers, each with
/// its answer beside it as NAME.json.
namespace ctxfs::golden {

inline std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.good()) << path;
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

inline std::string Sha256(const std::string& bytes) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  EXPECT_EQ(EVP_Digest(bytes.data(), bytes.size(), digest, &size, EVP_sha256(),
                       nullptr),
            1);
  return Hex({reinterpret_cast<const char*>(digest), size});
}

/// The containers of golden/`folder` that have an answer, sorted.
inline std::vector<std::string> Containers(const std::string& folder) {
  std::vector<std::string> names;
  const std::filesystem::path root(CTXFS_GOLDEN_DIR);
  for (const auto& file : std::filesystem::directory_iterator(root / folder)) {
    if (file.path().extension() == ".json") {
      names.push_back(folder + "/" + file.path().stem().string());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

inline std::filesystem::path PathOf(const std::string& container) {
  return std::filesystem::path(CTXFS_GOLDEN_DIR) / container;
}

inline Json AnswerOf(const std::string& container) {
  return Json::parse(ReadFile(PathOf(container + ".json")));
}

/// A test's name may hold letters, digits and underscores only.
inline std::string TestName(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace_if(
      name.begin(), name.end(),
      [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

/// A container by its path below golden/; it must open.
inline std::shared_ptr<const Container> Open(const std::string& name) {
  auto source = FileSource::Open(PathOf(name));
  EXPECT_TRUE(source);
  auto container = OpenContainer(*source, {});
  EXPECT_TRUE(container) << container.error().Text();
  return *container;
}

}  // namespace ctxfs::golden
