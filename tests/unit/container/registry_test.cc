// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <sstream>
#include <string>

#include "core/container/format.h"
#include "tests/unit/testing/faulty_source.h"
#include "tests/unit/testing/result.h"
#include "tests/unit/testing/shard_builder.h"

namespace ctxfs {
namespace {

ContainerResult Open(std::string bytes) {
  return OpenContainer(std::make_shared<MemorySource>(std::move(bytes)), {});
}

TEST(Formats, HaveNamesOfTheirOwn) {
  std::set<std::string_view> names;
  for (const Format* format : Formats()) {
    EXPECT_TRUE(names.insert(format->name).second) << format->name;
  }
  EXPECT_EQ(names.count("shard"), 1U);
}

TEST(Formats, ProbeAnyHeadWithoutFail) {
  for (const Format* format : Formats()) {
    EXPECT_FALSE(format->probe(Bytes())) << format->name;
    EXPECT_FALSE(format->probe(AsBytes("S"))) << format->name;
    EXPECT_FALSE(format->probe(AsBytes(std::string(64, '\0'))));
  }
}

TEST(OpenContainer, LooksOnlyAtTheFirstBytes) {
  const ContainerResult opened = Open(BuildShard({{Raw("a", "hello")}}));
  ASSERT_TRUE(Ok(opened));
  EXPECT_EQ(*ReadEntry(**opened, 0), "hello");
  // Recognised and damaged is not unknown.
  EXPECT_TRUE(Fails(Open("SHRD"), Code::kCorrupt));
}

TEST(OpenContainer, SaysWhyBytesAreNotAContainer) {
  const auto why = [](std::string bytes) {
    const ContainerResult opened = Open(std::move(bytes));
    EXPECT_TRUE(Fails(opened, Code::kNotContainer, 0));
    return opened ? "" : opened.error().what;
  };
  EXPECT_NE(why("").find("empty"), std::string::npos);
  EXPECT_NE(why(std::string(128, '\0')).find("not finished"),
            std::string::npos);
  EXPECT_EQ(why("SHR").find("empty"), std::string::npos);
  EXPECT_EQ(why("plain text, and more of it than any probe wants to see, so"
                " that nothing but its beginning counts")
                .find("not finished"),
            std::string::npos);
}

TEST(OpenContainer, PassesOnTheFailureOfTheStore) {
  const auto source =
      std::make_shared<FaultySource>(BuildShard({{Raw("a", "hello")}}));
  source->FailNext();
  EXPECT_TRUE(Fails(OpenContainer(source, {}), Code::kIo));
  EXPECT_TRUE(Ok(OpenContainer(source, {})));
}

TEST(ClaimOf, IsByExtensionOrSuffix) {
  EXPECT_EQ(ClaimOf("model.safetensors"), NameClaim::kContainer);
  EXPECT_EQ(ClaimOf("MODEL.GGUF"), NameClaim::kContainer);
  EXPECT_EQ(ClaimOf("a.safetensors.index.json"), NameClaim::kContainer);
  EXPECT_EQ(ClaimOf("easy-install.pth"), NameClaim::kContainerOrText);
  for (const char* name :
       {"", "zip", "zip.", "a.bin", "a.json", "a.gguf.part"}) {
    EXPECT_EQ(ClaimOf(name), NameClaim::kNothing) << name;
  }
}

TEST(Formats, HaveTextExtensionsAmongTheirExtensions) {
  for (const Format* format : Formats()) {
    std::istringstream words{std::string(format->text_extensions)};
    for (std::string word; words >> word;) {
      EXPECT_EQ(ClaimOf("a." + word), NameClaim::kContainerOrText) << word;
    }
  }
}

TEST(OpenContainer, NeedsTheNameOfAnIndexThatWasFound) {
  // Any JSON begins as an index does.
  const auto index = std::make_shared<MemorySource>(R"({"weight_map":{}})");
  EXPECT_TRUE(Ok(OpenContainer(index, {})));
  EXPECT_TRUE(
      Fails(OpenContainer(index, {.found = true}), Code::kNotContainer));
}

}  // namespace
}  // namespace ctxfs
