// SPDX-License-Identifier: Apache-2.0
//
// Recordings made by hand, record by record.
#include "core/formats/mcap/mcap.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "core/codec/checksum.h"
#include "core/container/format.h"
#include "core/formats/mcap/records.h"
#include "core/io/source.h"
#include "tests/unit/testing/files.h"
#include "tests/unit/testing/interrupts.h"
#include "tests/unit/testing/result.h"

namespace ctxfs::mcap {
namespace {

template <typename T>
std::string Le(T value) {
  std::string text;
  AppendLe(value, text);
  return text;
}

std::string Text(std::string_view text) {
  return Le(static_cast<uint32_t>(text.size())) + std::string(text);
}

std::string Rec(Op op, const std::string& content) {
  return std::string(1, static_cast<char>(op)) + Le(uint64_t{content.size()}) +
         content;
}

std::string SchemaRec(uint16_t id) {
  return Rec(Op::kSchema, Le(id) + Text("s") + Text("jsonschema") + Text("{}"));
}

std::string ChannelRec(uint16_t id, std::string_view topic) {
  return Rec(Op::kChannel,
             Le(id) + Le(uint16_t{1}) + Text(topic) + Text("json") + Text(""));
}

std::string MessageRec(uint16_t channel, uint64_t time, std::string_view data) {
  return Rec(Op::kMessage, Le(channel) + Le(uint32_t{7}) + Le(time) +
                               Le(time + 1) + std::string(data));
}

std::string ChunkRec(const std::string& records, uint64_t size, uint32_t crc,
                     std::string_view compression = "") {
  return Rec(Op::kChunk, Le(uint64_t{0}) + Le(uint64_t{0}) + Le(size) +
                             Le(crc) + Text(compression) +
                             Le(uint64_t{records.size()}) + records);
}

std::string ChunkRec(const std::string& records) {
  return ChunkRec(records, records.size(), Crc32(AsBytes(records)));
}

/// A file of a data section without a summary.
std::string File(const std::string& data) {
  return std::string(kMagic) + Rec(Op::kHeader, Text("p") + Text("l")) + data +
         Rec(Op::kDataEnd, Le(uint32_t{0})) +
         Rec(Op::kFooter, std::string(20, '\0')) + std::string(kMagic);
}

Result<std::shared_ptr<const Container>> Open(const std::string& file,
                                              bool salvage = false) {
  return OpenContainer(std::make_shared<MemorySource>(file),
                       {.salvage = salvage});
}

std::string EntryText(const Container& container, const std::string& path) {
  for (uint32_t i = 0; i < EntryCount(container); ++i) {
    if (EntryPath(container, i) != path) continue;
    const auto content = OpenEntry(container, i);
    if (!content) return content.error().Text();
    const auto text = ReadAll(*content, LoneContext());
    return text ? *text : text.error().Text();
  }
  return "(none)";
}

std::string Messages(const Container& container, const std::string& directory) {
  for (const auto& table : container.Files()) {
    if (table->placement().directory != directory) continue;
    std::string all;
    for (uint32_t i = 0; i < table->count(); ++i) {
      const auto content = table->Open(i, LoneContext());
      const auto text = content ? ReadAll(*content, LoneContext())
                                : Result<std::string>(content.error());
      all += (text ? *text : text.error().Text()) + ";";
    }
    return all;
  }
  return "(none)";
}

const std::string kStart = SchemaRec(1) + ChannelRec(2, "/a");

TEST(Mcap, WalksChunksAndMessages) {
  const auto container =
      Open(File(kStart + MessageRec(2, 10, "x") +
                ChunkRec(MessageRec(2, 11, "yy") + MessageRec(2, 12, "")) +
                MessageRec(2, 9, "z")));
  ASSERT_TRUE(Ok(container));
  EXPECT_EQ(Messages(**container, "topics/a/messages"), "x;yy;;z;");
  EXPECT_EQ(
      EntryText(**container, "topics/a/log_time"),
      Le(uint64_t{10}) + Le(uint64_t{11}) + Le(uint64_t{12}) + Le(uint64_t{9}));
  const Json info = (*container)->Info(LoneContext());
  EXPECT_EQ(info["messages"], 4);
  EXPECT_EQ(info["unordered"], Json::array({"/a"}));
  EXPECT_TRUE((*container)->warnings().empty());
}

TEST(Mcap, ShowsNoByteBeforeItsChecksum) {
  const std::string records = kStart + MessageRec(2, 1, "x");
  const auto container = Open(File(
      kStart + ChunkRec(records, records.size(), Crc32(AsBytes(records)) ^ 1)));
  ASSERT_TRUE(Ok(container));
  EXPECT_EQ(Messages(**container, "topics/a/messages"), "");
  ASSERT_EQ((*container)->Faults().size(), 1U);
}

TEST(Mcap, BoundsWhatChunksClaim) {
  for (const uint64_t size :
       {uint64_t{1} << 40, UINT64_MAX, uint64_t{1} << 29}) {
    const auto container =
        Open(File(kStart + ChunkRec("0123", size, 0, "zstd")));
    ASSERT_TRUE(Ok(container)) << size;
    EXPECT_EQ((*container)->Faults().size(), 1U) << size;
  }
}

TEST(Mcap, RefusesRecordsPastTheEnd) {
  for (const uint64_t length :
       {uint64_t{1} << 63, UINT64_MAX - 8, UINT64_MAX}) {
    const std::string bad =
        std::string(1, static_cast<char>(Op::kMessage)) + Le(length);
    EXPECT_TRUE(Fails(Open(File(kStart + bad)), Code::kCorrupt,
                      25 + 2 + kStart.size()));
    EXPECT_TRUE(Ok(Open(File(kStart + bad), /*salvage=*/true)));
  }
  EXPECT_TRUE(Fails(Open(File(kStart + std::string(9, '\0'))), Code::kCorrupt));
}

TEST(Mcap, RefusesFieldsPastTheirRecords) {
  const std::string name = Le(uint32_t{0xFFFFFFFF});
  for (const std::string& record :
       {Rec(Op::kSchema, Le(uint16_t{1}) + name),
        Rec(Op::kChannel, Le(uint16_t{1}) + Le(uint16_t{1}) + name),
        Rec(Op::kChannel, Le(uint16_t{1}) + Le(uint16_t{1}) + Text("t") +
                              Text("") + Text(name)),
        Rec(Op::kMessage, std::string(21, 'x')), Rec(Op::kMetadata, name),
        Rec(Op::kAttachment, std::string(40, 'x')),
        Rec(Op::kChunk, std::string(39, 'x'))}) {
    EXPECT_TRUE(Fails(Open(File(record)), Code::kCorrupt, 27));
  }
}

TEST(Mcap, MessagesOfUnknownChannelsAreNotShown) {
  const auto container = Open(File(kStart + MessageRec(9, 1, "x")));
  ASSERT_TRUE(Ok(container));
  ASSERT_EQ((*container)->warnings().size(), 1U);
  EXPECT_TRUE((*container)->warnings()[0].text.starts_with("no_channel: "));
}

TEST(Mcap, TheFirstDefinitionCounts) {
  const auto container = Open(File(kStart + ChannelRec(2, "/b")));
  ASSERT_TRUE(Ok(container));
  EXPECT_EQ(Messages(**container, "topics/a/messages"), "");
  EXPECT_EQ(Messages(**container, "topics/b/messages"), "(none)");
  EXPECT_TRUE((*container)->warnings()[0].text.starts_with("redefined: "));
}

// A million messages of a chunk are a million lines. Each of them looked for
// all messages of the chunk again, if these took too much memory to be kept.
TEST(Mcap, Item45_1_LinesLookForTheMessagesOfAChunkOnce) {
  constexpr uint64_t kMessages = 20'000;
  std::string records = kStart;
  for (uint64_t i = 0; i < kMessages; ++i) records += MessageRec(2, i, "1");
  const auto container = Open(File(kStart + ChunkRec(records)));
  ASSERT_TRUE(Ok(container));
  const std::shared_ptr<const FileTable> lines = (*container)->Files().back();
  std::string scratch;
  ASSERT_EQ(lines->Path(0, scratch), "messages/a.jsonl");
  const InterruptAfter counted(UINT64_MAX);
  BlockCache none(0);
  const ReadContext context(none, counted);
  const auto content = lines->Open(0, context);
  ASSERT_TRUE(Ok(content));
  EXPECT_GT(content->size(), kMessages * 60);
  EXPECT_LT(counted.asked(), kMessages * 4);
}

// The fields of the record were compared with the file, at a byte of the
// decoded chunk: the whole file was refused.
TEST(Mcap, Item45_2_AFaultyChannelInAChunkIsAFaultOfThatChunk) {
  const std::string bad = Rec(Op::kChannel, Le(uint16_t{3}));
  const auto container =
      Open(File(kStart + ChunkRec(MessageRec(2, 1, "x") + bad) +
                ChunkRec(MessageRec(2, 2, "y"))));
  ASSERT_TRUE(Ok(container));
  EXPECT_EQ(Messages(**container, "topics/a/messages"), "y;");
  const std::vector<Error> faults = (*container)->Faults();
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].offset, 27 + kStart.size());
}

TEST(Mcap, SaysThatLineEndsWereConverted) {
  const auto opened = Open("\x89MCAP0\n" + std::string(40, 'x'));
  EXPECT_TRUE(Fails(opened, Code::kNotContainer));
}

std::vector<std::string> PathsOf(const std::vector<std::string>& topics) {
  std::vector<Channel> channels(topics.size());
  for (size_t i = 0; i < topics.size(); ++i) channels[i].name = topics[i];
  return TopicPaths(channels);
}

TEST(Mcap, TopicsHavePathsOfTheirOwn) {
  using Paths = std::vector<std::string>;
  EXPECT_EQ(PathsOf({"/t", "t", "/t", "/t~2"}),
            (Paths{"t", "t~2", "t~3", "t~2~2"}));
  EXPECT_EQ(PathsOf({"/", "", "..", ".."}),
            (Paths{"", "%~2", "..", "%2E%2E~2"}));
  EXPECT_EQ(PathsOf({"/i", "/i/messages", "/i/messages/c", "/x/messages"}),
            (Paths{"i", "i/messages~2", "i/messages~2/c", "x/messages"}));
}

// The path of each component was hashed, to look for it among the topics: hours
// for a topic of 16 MiB.
TEST(Mcap, Item45_3_TopicsOfManyComponentsCostTheirLength) {
  std::string deep = "/i";
  for (size_t i = 0; i < 500'000; ++i) deep += "/messages";
  std::vector<std::string> topics = {"/i", deep};
  for (int i = 0; i < 100; ++i) topics.push_back("/t" + std::to_string(i));
  const std::vector<std::string> paths = PathsOf(topics);
  EXPECT_TRUE(paths[1].starts_with("i/messages~2/messages/"));
  EXPECT_EQ(paths[1].size(), deep.size() - 1 + 2);
}

}  // namespace
}  // namespace ctxfs::mcap
