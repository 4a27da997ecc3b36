// SPDX-License-Identifier: Apache-2.0
//
// The manifests of form A of golden/shard-profiles against their JSON, by the
// library alone. Their files stand beside them there.
#include "core/base/limits.h"
#include "core/container/format.h"
#include "core/content/content.h"
#include "core/io/source.h"
#include "core/tree/container_tree.h"
#include "tests/golden/golden.h"
#include "tests/unit/testing/files.h"

namespace ctxfs {
namespace {

std::vector<std::string> Manifests() {
  std::vector<std::string> names = golden::Containers("shard-profiles");
  std::erase_if(names, [](const std::string& name) {
    return !name.ends_with(".manifest");
  });
  return names;
}

class ManifestGolden : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    auto source = FileSource::Open(golden::PathOf(GetParam()));
    ASSERT_TRUE(source);
    auto container = OpenContainer(*source, OpenOptions());
    ASSERT_TRUE(container) << container.error().Text();
    branch_ = std::make_unique<ContainerTree>(*container);
  }

  std::optional<NodeId> Find(const std::string& top,
                             const std::string& name) const {
    const auto folder = branch_->tree().Lookup(NameTree::kRoot, top);
    if (!folder) return std::nullopt;
    return branch_->tree().Lookup(*folder, name);
  }

  Json Read(const std::string& name) {
    const Result<Content> content =
        branch_->Open(*Find(".ctxfs", name), cache_);
    EXPECT_TRUE(content);
    return Json::parse(*ReadAll(*content, cache_));
  }

  const Json answer_ = golden::AnswerOf(GetParam());
  std::unique_ptr<ContainerTree> branch_;
  BlockCache cache_{limits::kGiB};
};

TEST_P(ManifestGolden, EveryReferenceIsListed) {
  const Json verdicts = Read("sha256.json");
  const Json listing = Read("manifest.json");
  const Json& files = answer_["expected"]["files"];
  ASSERT_EQ(listing.size(), files.size());
  for (size_t i = 0; i < files.size(); ++i) {
    for (const auto& [key, value] : files[i].items()) {
      EXPECT_EQ(listing[i][key], value) << key;
    }
    // What is there is what stands in the folder under a plain name.
    const std::string uri = files[i]["uri"];
    const bool there = uri.find('/') == std::string::npos &&
                       std::filesystem::exists(
                           golden::PathOf(GetParam()).replace_filename(uri));
    EXPECT_EQ(listing[i]["present"], there) << uri;
    EXPECT_EQ(Find("parts", uri).has_value(), there) << uri;
    if (!there) {
      EXPECT_EQ(verdicts[i]["verified"], "absent") << uri;
      continue;
    }
    const std::string digest = golden::Sha256(
        golden::ReadFile(golden::PathOf(GetParam()).replace_filename(uri)));
    const char* verdict = digest == files[i]["sha256"] ? "yes" : "failed";
    EXPECT_EQ(verdicts[i]["verified"], verdict) << uri;
    EXPECT_EQ(listing[i]["verified"], verdict) << uri;
  }
}

TEST_P(ManifestGolden, EntriesAndMetadataStay) {
  EXPECT_EQ(EntryCount(branch_->container()), answer_["entries"].size());
  EXPECT_EQ(branch_->container().Metadata(), answer_["metadata_section"]);
}

INSTANTIATE_TEST_SUITE_P(Golden, ManifestGolden, testing::ValuesIn(Manifests()),
                         golden::TestName);

}  // namespace
}  // namespace ctxfs
