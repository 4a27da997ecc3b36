// SPDX-License-Identifier: Apache-2.0
//
// What golden/safetensors has no file for: limits, interrupts, failing reads.
#include "core/formats/safetensors/safetensors.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "core/base/sanitized.h"
#include "core/formats/safetensors/index.h"
#include "core/formats/safetensors/limits.h"
#include "tests/unit/testing/faulty_source.h"
#include "tests/unit/testing/files.h"
#include "tests/unit/testing/interrupts.h"
#include "tests/unit/testing/temp_dir.h"

namespace ctxfs::safetensors {
namespace {

std::string Safetensors(const std::string& header, const std::string& data) {
  std::string bytes;
  for (unsigned i = 0; i < 8; ++i) {
    bytes += static_cast<char>(header.size() >> (8 * i) & 0xFF);
  }
  return bytes + header + data;
}

std::string Entry(const std::string& name, const std::string& dtype,
                  const std::string& shape, uint64_t begin, uint64_t end) {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape +
         ",\"data_offsets\":[" + std::to_string(begin) + "," +
         std::to_string(end) + "]}";
}

Result<std::shared_ptr<SafetensorsContainer>> Load(
    std::shared_ptr<const Source> source, bool salvage = false,
    const ReadContext& context = LoneContext()) {
  OpenOptions options;
  options.salvage = salvage;
  auto file =
      std::make_shared<SafetensorsContainer>(std::move(source), options);
  if (Status loaded = file->Load(context); !loaded) return loaded.error();
  return file;
}

Result<std::shared_ptr<SafetensorsContainer>> LoadText(
    const std::string& header, const std::string& data = "",
    bool salvage = false) {
  return Load(std::make_shared<MemorySource>(Safetensors(header, data)),
              salvage);
}

TEST(Safetensors, RecognisesOnlyHeadersThatStartLikeOne) {
  const auto recognised = [](const std::string& bytes) {
    return SafetensorsContainer::Recognises(AsBytes(bytes));
  };
  EXPECT_TRUE(recognised(Safetensors("{}", "")));
  EXPECT_TRUE(recognised(Safetensors("{ \n\"a\":1}", "")));
  EXPECT_FALSE(recognised(Safetensors("", "")));
  EXPECT_FALSE(recognised(Safetensors("[]", "")));
  EXPECT_FALSE(recognised(Safetensors("{1}", "")));
  // White space that goes on past the first 64 bytes.
  EXPECT_FALSE(recognised(Safetensors("{" + std::string(55, ' '), "")));
  EXPECT_TRUE(recognised(Safetensors("{" + std::string(54, ' ') + "}", "")));
}

TEST(Safetensors, LimitsTheHeader) {
  if (CTXFS_SANITIZED != 0) GTEST_SKIP() << "takes half a minute there";
  // 100,000,000 bytes are parsed, one more is not.
  const std::string most = "{}" + std::string(99'999'998, ' ');
  EXPECT_TRUE(LoadText(most));
  const auto more = LoadText(most + " ");
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code, Code::kLimit);
}

TEST(Safetensors, NamesBecomeEntriesInTheOrderOfTheHeader) {
  const auto file = LoadText("{" + Entry("b", "U8", "[2]", 1, 3) + "," +
                                 Entry("a", "I8", "[1]", 0, 1) + "}",
                             "xyz");
  ASSERT_TRUE(file) << file.error().Text();
  ASSERT_EQ((*file)->count(), 2U);
  EXPECT_EQ(EntryPath(**file, 0), "b");
  EXPECT_EQ(*ReadAll(*(*file)->OpenTensor(0, Request()), LoneContext()), "yz");
  EXPECT_EQ(*ReadAll(*(*file)->OpenTensor(1, Request()), LoneContext()), "x");
}

TEST(Safetensors, KeepsAHundredFaultsOfAMillion) {
  std::string header = "{";
  for (int i = 0; i < 1000; ++i) {
    header += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":7";
  }
  const auto file = LoadText(header + "}", "", /*salvage=*/true);
  ASSERT_TRUE(file) << file.error().Text();
  const Json info = (*file)->Info(LoneContext());
  EXPECT_EQ(info["warnings"].size(), kMaxFaults + 1);
  EXPECT_EQ(info["entries_left_out"], 1000);
}

TEST(Safetensors, StopsWhenInterrupted) {
  std::string header = "{\"x\":[0";
  for (int i = 0; i < 100'000; ++i) header += ",0";
  BlockCache cache(0);
  InterruptAfter interrupt(2);
  const auto file =
      Load(std::make_shared<MemorySource>(Safetensors(header + "]}", "")),
           false, ReadContext(cache, interrupt));
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, Code::kInterrupted);
  EXPECT_EQ(interrupt.asked(), 3U);
}

TEST(Safetensors, AnArrayOfPackedElementsHasWholeBytes) {
  const auto file =
      LoadText("{" + Entry("f", "F4", "[3,2]", 0, 3) + "}", "abc");
  ASSERT_TRUE(file) << file.error().Text();
  const auto array = (*file)->ArrayOf(0);
  ASSERT_TRUE(array);
  EXPECT_EQ(array->dtype, DType::kF4);
  EXPECT_FALSE(LoadText("{" + Entry("f", "F4", "[3]", 0, 2) + "}", "ab"));
}

class Index : public testing::Test {
 protected:
  Index() {
    dir_.Write("one.safetensors",
               Safetensors("{" + Entry("a", "U8", "[1]", 0, 1) + "}", "A"));
    dir_.Write("two.safetensors",
               Safetensors("{" + Entry("b", "U8", "[1]", 0, 1) + "}", "B"));
  }

  Result<std::shared_ptr<SafetensorsIndexContainer>> Open(
      const std::string& json, const std::string& name = "m.json",
      const OpenOptions& options = {}) const {
    Result<std::shared_ptr<const FileSource>> source =
        FileSource::Open(dir_.Write(name, json));
    EXPECT_TRUE(source);
    auto model = std::make_shared<SafetensorsIndexContainer>(*source, options);
    if (Status loaded = model->Load(LoneContext()); !loaded) {
      return loaded.error();
    }
    return model;
  }

  const TempDir dir_;
};

TEST_F(Index, OtherJsonIsNotAContainer) {
  for (const char* json : {"{}", "{\"a\":1}", "{nonsense", "[]"}) {
    const auto other = Open(json);
    ASSERT_FALSE(other) << json;
    EXPECT_EQ(other.error().code, Code::kNotContainer) << json;
    const auto named = Open(json, "model.safetensors.index.json");
    ASSERT_FALSE(named) << json;
    EXPECT_EQ(named.error().code, Code::kCorrupt) << json;
  }
}

TEST_F(Index, RefusesAnInvalidWeightMap) {
  for (const char* json :
       {"{\"weight_map\":[]}", "{\"weight_map\":1}",
        "{\"weight_map\":{\"a\":1}}", "{\"weight_map\":{\"a\":{}}}",
        "{\"weight_map\":{\"a\":\"x\",\"a\":\"y\"}}",
        "{\"weight_map\":{},\"weight_map\":{}}"}) {
    const auto index = Open(json);
    ASSERT_FALSE(index) << json;
    EXPECT_EQ(index.error().code, Code::kCorrupt) << json;
  }
}

TEST_F(Index, JoinsItsShards) {
  const auto model = Open(
      "{\"weight_map\":{\"b\":\"two.safetensors\","
      "\"a\":\"./one.safetensors\"},\"metadata\":{\"n\":1}}");
  ASSERT_TRUE(model) << model.error().Text();
  ASSERT_EQ(EntryCount(**model), 2U);
  EXPECT_EQ(EntryPath(**model, 0), "b");
  EXPECT_EQ(*ReadAll(*OpenEntry(**model, 0), LoneContext()), "B");
  EXPECT_EQ(*ReadAll(*OpenEntry(**model, 1), LoneContext()), "A");
  EXPECT_EQ((*model)->Metadata(Request()), (Json{{"n", 1}}));
}

TEST_F(Index, OpensNothingWhenAlone) {
  OpenOptions options;
  options.alone = true;
  const auto model =
      Open("{\"weight_map\":{\"a\":\"one.safetensors\"}}", "m.json", options);
  ASSERT_TRUE(model);
  EXPECT_FALSE(OpenEntry(**model, 0));
  EXPECT_EQ(EntrySize(**model, 0), 0U);
}

TEST_F(Index, ShardsAreBesideALink) {
  namespace fs = std::filesystem;
  fs::create_directories(dir_.Path("blobs"));
  fs::create_directories(dir_.Path("snapshots/main"));
  dir_.Write("blobs/1",
             "{\"weight_map\":{\"a\":\"x.safetensors\","
             "\"b\":\"../two.safetensors\"}}");
  fs::rename(dir_.Path("one.safetensors"), dir_.Path("blobs/2"));
  fs::create_symlink("../../blobs/1", dir_.Path("snapshots/main/m.json"));
  fs::create_symlink("../../blobs/2",
                     dir_.Path("snapshots/main/x.safetensors"));
  const auto open = [this](AccessScope access) {
    SourceOptions options;
    options.access = access;
    auto model = std::make_shared<SafetensorsIndexContainer>(
        *FileSource::Open(dir_.Path("snapshots/main/m.json"), options),
        OpenOptions());
    EXPECT_TRUE(model->Load(LoneContext()));
    return model;
  };
  const auto mine = open(AccessScope::kMounter);
  EXPECT_EQ(*ReadAll(*OpenEntry(*mine, 0), LoneContext()), "A");
  // A path that leaves the folder is never opened, for anybody.
  EXPECT_FALSE(OpenEntry(*mine, 1));
  EXPECT_TRUE(OpenEntry(*open(AccessScope::kEveryone), 0));
  fs::permissions(dir_.Path("blobs/2"), fs::perms::owner_read);
  EXPECT_FALSE(OpenEntry(*open(AccessScope::kEveryone), 0));
}

}  // namespace
}  // namespace ctxfs::safetensors
