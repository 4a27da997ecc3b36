// SPDX-License-Identifier: Apache-2.0
//
// TFRecord (docs/formats/tfrecord.md).
#include "core/formats/tfrecord/tfrecord.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/codec/checksum.h"
#include "core/container/format.h"
#include "core/formats/tfrecord/example.h"
#include "core/formats/tfrecord/header_search.h"
#include "core/tree/container_tree.h"
#include "tests/unit/testing/find_path.h"
#include "tests/unit/testing/result.h"

namespace ctxfs::tfrecord {
namespace {

using std::literals::operator""sv;

std::string Masked(std::string_view bytes) {
  std::string text;
  AppendLe(Mask(Crc32c(AsBytes(bytes))), text);
  return text;
}

std::string Header(uint64_t length) {
  std::string header;
  AppendLe(length, header);
  return header + Masked(header);
}

std::string RecordOf(std::string_view data) {
  return Header(data.size()) + std::string(data) + Masked(data);
}

std::string VarintOf(uint64_t value) {
  std::string text;
  for (; value >= 0x80; value >>= 7) {
    text += static_cast<char>(value | 0x80);
  }
  return text + static_cast<char>(value);
}

std::string Field(uint64_t number, std::string_view bytes) {
  return VarintOf(number << 3 | 2) + VarintOf(bytes.size()) +
         std::string(bytes);
}

std::string MapEntry(std::string_view key, std::string_view value) {
  return Field(1, Field(1, key) + Field(2, value));
}

/// An Example of one feature; `kind` as in ValueKind.
std::string ExampleOf(std::string_view key, uint64_t kind,
                      std::string_view list) {
  return Field(1, MapEntry(key, Field(kind, list)));
}

Result<std::shared_ptr<const Container>> OpenBytes(std::string bytes,
                                                   bool salvage = false) {
  OpenOptions options;
  options.salvage = salvage;
  return OpenContainer(std::make_shared<MemorySource>(std::move(bytes)),
                       options);
}

const TfRecord& AsRecords(const std::shared_ptr<const Container>& container) {
  return dynamic_cast<const TfRecord&>(*container);
}

BlockCache& Cache() {
  static BlockCache cache(1 << 20);
  return cache;
}

std::string Text(const TfRecord& file, uint32_t record) {
  const auto content = file.Open(record, Cache());
  EXPECT_TRUE(Ok(content));
  const auto text = ReadAll(*content, Cache());
  return text ? *text : "(unreadable)";
}

std::string ReadPath(const ContainerTree& tree, std::string_view path) {
  const auto node = Find(tree, path);
  EXPECT_TRUE(node) << path;
  if (!node) return {};
  const auto content = tree.Open(*node, Cache());
  EXPECT_TRUE(Ok(content));
  const auto text = ReadAll(*content, Cache());
  return text ? *text : "(unreadable)";
}

TEST(TfRecord, TheChecksumOfNothingIsKnown) {
  EXPECT_EQ(Mask(Crc32c({})), 0xA282EAD8);
  EXPECT_EQ(Masked(std::string(8, '\0')), "\x29\x03\x98\x07");
  EXPECT_EQ(Unmask(Mask(0x12345678)), 0x12345678U);
}

TEST(TfRecord, RecordsAreFoundByTheirLengths) {
  const auto opened = OpenBytes(RecordOf("one") + RecordOf("") + RecordOf("3"));
  ASSERT_TRUE(Ok(opened));
  const TfRecord& file = AsRecords(*opened);
  ASSERT_EQ(file.count(), 3U);
  EXPECT_EQ(Text(file, 0), "one");
  EXPECT_EQ(Text(file, 1), "");
  EXPECT_EQ(Text(file, 2), "3");
  EXPECT_EQ(file.kind(), RecordKind::kUnknown);
}

TEST(TfRecord, LengthsThatWrapAreTruncated) {
  const std::string end(88, 'x');  // 84 and a checksum
  for (const uint64_t length :
       {uint64_t{0} - 16, (uint64_t{1} << 63) + 7, uint64_t{85}}) {
    const auto opened = OpenBytes(RecordOf("one") + Header(length) + end);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, Code::kCorrupt);
    EXPECT_EQ(opened.error().offset, 19U);
    EXPECT_TRUE(opened.error().what.starts_with("truncated: "));
  }
  EXPECT_TRUE(OpenBytes(RecordOf("one") + Header(84) + end));
}

TEST(TfRecord, TheSearchFindsTheNextHeaderThatFits) {
  std::string junk = "junk";
  junk.append(300'000, 'j');
  const std::string bytes = junk + Header(1 << 30) + RecordOf("found");
  const MemorySource source(bytes);
  LoneContext lone;
  const ReadContext context = lone;
  WindowReader reader(source, context);
  const auto found = FindHeader(reader, bytes.size(), 1, context);
  ASSERT_TRUE(Ok(found));
  EXPECT_EQ(*found, junk.size() + kHeaderSize);
  EXPECT_EQ(*FindHeader(reader, bytes.size(), *found + 1, context),
            bytes.size());
}

TEST(TfRecord, SalvageGoesOnAfterEachGap) {
  std::string bytes = RecordOf("first");
  for (int i = 0; i < 300; ++i) bytes += "?" + RecordOf(std::to_string(i));
  ASSERT_FALSE(OpenBytes(bytes));
  const auto opened = OpenBytes(bytes, /*salvage=*/true);
  ASSERT_TRUE(Ok(opened));
  const TfRecord& file = AsRecords(*opened);
  ASSERT_EQ(file.count(), 301U);
  EXPECT_EQ(Text(file, 0), "first");
  EXPECT_EQ(Text(file, 300), "299");
  EXPECT_LE(file.warnings().size(), 102U) << "the rest is one warning";
}

TEST(TfRecord, ADamagedRecordIsTheOnlyOneThatIsLost) {
  std::string bytes = RecordOf("one") + RecordOf("two");
  bytes[12] ^= 1;
  const auto opened = OpenBytes(bytes);
  ASSERT_TRUE(Ok(opened));
  const TfRecord& file = AsRecords(*opened);
  const auto content = file.Open(0, Cache());
  ASSERT_TRUE(Ok(content));
  const auto text = ReadAll(*content, Cache());
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code, Code::kChecksum);
  EXPECT_EQ(Text(file, 1), "two");
}

TEST(TfRecord, NumbersAreReadInBlocksFromTheMiddle) {
  std::string packed;
  std::string wanted;
  for (uint64_t i = 0; i < 20'000; ++i) {
    const uint64_t value = i * i * i * 77'777;
    packed += VarintOf(value);
    AppendLe(value, wanted);
  }
  // A list in three messages, one of them not packed.
  const std::string list = Field(3, Field(1, packed)) + Field(3, "\x08\x05"sv) +
                           Field(3, Field(1, packed));
  std::string five;
  AppendLe(uint64_t{5}, five);
  const auto opened = OpenBytes(RecordOf(Field(1, MapEntry("x", list))));
  ASSERT_TRUE(Ok(opened));
  const auto sample = AsRecords(*opened).OpenSample(0, Cache());
  ASSERT_TRUE(Ok(sample));
  const ContainerTree tree(*sample);
  const auto content = tree.Open(*Find(tree, "x"), Cache());
  ASSERT_TRUE(Ok(content));
  const std::string all = wanted + five + wanted;
  ASSERT_EQ(content->size(), all.size());
  std::string part(1000, '\0');
  ASSERT_TRUE(ReadInto(*content, 150'000,
                       {reinterpret_cast<std::byte*>(part.data()), 1000},
                       Cache()));
  EXPECT_EQ(part, all.substr(150'000, 1000));
  EXPECT_EQ(*ReadAll(*content, Cache()), all);
}

TEST(TfRecord, PackedFloatsAreARangeOfTheFile) {
  std::string floats;
  for (int i = 0; i < 10'000; ++i) AppendLe(static_cast<uint32_t>(i), floats);
  const auto opened = OpenBytes(RecordOf(ExampleOf("f", 2, Field(1, floats))) +
                                RecordOf(ExampleOf("f", 2,
                                                   "\x0D"
                                                   "abcd" +
                                                       Field(1, floats))));
  ASSERT_TRUE(Ok(opened));
  const auto packed = AsRecords(*opened).OpenSample(0, Cache());
  ASSERT_TRUE(Ok(packed));
  const ContainerTree first(*packed);
  EXPECT_TRUE(first.Open(*Find(first, "f"), Cache())->AsStored());
  EXPECT_EQ(ReadPath(first, "f"), floats);
  const auto mixed = AsRecords(*opened).OpenSample(1, Cache());
  ASSERT_TRUE(Ok(mixed));
  const ContainerTree second(*mixed);
  EXPECT_EQ(ReadPath(second, "f"), "abcd" + floats);
}

/// Whether bytes are an Example.
bool Parses(std::string_view record) {
  const auto parsed =
      ParseExample({AsBytes(record)}, RecordKind::kExample, LoneContext());
  return parsed.has_value();
}

TEST(TfRecord, MalformedMessagesAreNoExamples) {
  const auto list = [](std::string_view bytes, uint64_t kind = 3) {
    return ExampleOf("k", kind, bytes);
  };
  EXPECT_TRUE(Parses(""));
  EXPECT_TRUE(Parses(list(Field(1, "\x01"))));
  EXPECT_TRUE(
      Parses(list("\x0D"
                  "abcd")))
      << "another wire type: an unknown field";
  EXPECT_TRUE(Parses(list("\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01")));
  EXPECT_FALSE(Parses(list("\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x02")));
  EXPECT_FALSE(Parses(list(Field(1, "\x80"))));
  EXPECT_FALSE(Parses(list(Field(1, "abc"), 2))) << "no whole float";
  EXPECT_FALSE(Parses("\x02\x00"sv)) << "field 0";
  EXPECT_FALSE(Parses("\x0A\x05x"));
  EXPECT_FALSE(Parses("\x0C")) << "the end of a group";
  EXPECT_TRUE(Parses("\x0B\x0C"));
  EXPECT_FALSE(Parses("\x0B\x14")) << "the end of another";
  EXPECT_FALSE(Parses(ExampleOf("\xFF", 3, "")));
  EXPECT_TRUE(Parses(std::string(100, '\x0B') + std::string(100, '\x0C')));
  EXPECT_FALSE(Parses(std::string(101, '\x0B') + std::string(101, '\x0C')));
  EXPECT_FALSE(Parses(std::string(1'000'000, '\x0B')));
}

TEST(TfRecord, Item45_2_AFeatureListInManyMessagesIsReadInLinearTime) {
  constexpr size_t kSteps = 300'000;
  const std::string step = Field(2, Field(1, Field(3, "\x08\x05"sv)));
  std::string entry = Field(1, "x");
  for (size_t i = 0; i < kSteps; ++i) entry += step;
  const std::string record = Field(2, Field(1, entry));
  const auto parsed =
      ParseExample({AsBytes(record)}, RecordKind::kSequence, LoneContext());
  ASSERT_TRUE(Ok(parsed));
  EXPECT_EQ(parsed->lists.at("x").steps.size(), kSteps);
  EXPECT_TRUE(parsed->lists.at("x").IsArray());
}

TEST(TfRecord, SamplesOfTooManyFilesHaveNone) {
  std::string values;
  for (int i = 0; i < 65'537; ++i) values += Field(1, "");
  const auto opened = OpenBytes(RecordOf(ExampleOf("b", 1, values)) +
                                RecordOf(ExampleOf("b", 1, Field(1, "x"))));
  ASSERT_TRUE(Ok(opened));
  const ContainerTree tree(*opened);
  EXPECT_EQ(ReadPath(tree, "views/samples.jsonl"),
            "{\"$error\": \"too_many\", \"record\": 0}\n{\"b\": [\"x\"]}\n");
  const auto sample = AsRecords(*opened).OpenSample(0, Cache());
  ASSERT_TRUE(Ok(sample));
  EXPECT_EQ((*sample)->Entries()->count(), 0U);
}

TEST(TfRecord, LinesNameTheFilesAsTheTreeDoes) {
  const std::string png = "\x89PNG\r\n\x1A\n...";
  const std::string one =
      Field(1, MapEntry("a", Field(1, Field(1, png))) +
                   MapEntry("a.png", Field(1, Field(1, png))) +
                   MapEntry("..", Field(1, Field(1, "\xFF"))));
  const auto opened = OpenBytes(RecordOf(one));
  ASSERT_TRUE(Ok(opened));
  const ContainerTree tree(*opened);
  const std::string lines = ReadPath(tree, "views/samples.jsonl");
  const auto sample = AsRecords(*opened).OpenSample(0, Cache());
  ASSERT_TRUE(Ok(sample));
  const ContainerTree files(*sample);
  const Json line = ParseJson(lines)->value;
  for (const char* name : {"a", "a.png", ".."}) {
    const std::string path = line[name][0]["path"];
    ASSERT_TRUE(path.starts_with("views/samples/000000/")) << path;
    EXPECT_TRUE(Find(files, path.substr(21))) << path;
  }
}

TEST(TfRecord, TheFirstSoundRecordTellsWhatTheyAre) {
  std::string damaged = RecordOf(ExampleOf("a", 3, ""));
  damaged.back() ^= 1;
  const auto opened =
      OpenBytes(RecordOf("") + damaged + RecordOf(ExampleOf("b", 3, "")));
  ASSERT_TRUE(Ok(opened));
  EXPECT_EQ(AsRecords(*opened).kind(), RecordKind::kExample);
}

}  // namespace
}  // namespace ctxfs::tfrecord
