// SPDX-License-Identifier: Apache-2.0
//
// What golden/zip and golden/npz do not show: stores that fail, what is read
// when, and members that are decoded in parts.
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>

#include "core/base/limits.h"
#include "core/container/format.h"
#include "core/formats/zip/inflate_index.h"
#include "core/formats/zip/npy.h"
#include "tests/unit/testing/faulty_source.h"
#include "tests/unit/testing/files.h"
#include "tests/unit/testing/result.h"
#include "tests/unit/testing/zip_builder.h"

namespace ctxfs::zip {
namespace {

using ContainerPtr = std::shared_ptr<const Container>;

Result<ContainerPtr> Open(std::string bytes) {
  return OpenContainer(std::make_shared<MemorySource>(std::move(bytes)), {});
}

Result<std::string> ReadAt(const Container& container, uint32_t entry,
                           BlockCache& cache) {
  const Result<Content> content = OpenEntry(container, entry);
  if (!content) return content.error();
  return ReadAll(*content, cache);
}

TEST(Zip, EveryMethod) {
  const std::string text(10'000, 'x');
  const auto zip = Open(
      BuildZip({{"a", text}, {"b", text, 8}, {"c", text, 93}}, "a comment"));
  ASSERT_TRUE(Ok(zip));
  BlockCache cache(limits::kMiB);
  for (uint32_t i = 0; i < 3; ++i) {
    const auto read = ReadAt(**zip, i, cache);
    ASSERT_TRUE(Ok(read));
    EXPECT_TRUE(*read == text);
    EXPECT_EQ(DescribeEntry(**zip, i).verified, "yes");
  }
  EXPECT_EQ((*zip)->Info(cache)["comment_bytes"], 9);
}

TEST(Zip, AListingReadsNoMember) {
  auto source = std::make_shared<FaultySource>(
      BuildZip({{"a", std::string(5000, 'x')}, {"b", "yy", 8}}));
  const auto zip = OpenContainer(source, {});
  ASSERT_TRUE(Ok(zip));
  source->FailNext();
  EXPECT_EQ(EntrySize(**zip, 0), 5000U);
  EXPECT_EQ(EntrySize(**zip, 1), 2U);
  EXPECT_EQ(EntryPath(**zip, 1), "b");
  EXPECT_EQ(DescribeEntry(**zip, 1).verified, "no");
  BlockCache cache(limits::kMiB);
  EXPECT_TRUE(Fails(ReadAt(**zip, 1, cache), Code::kIo));
  EXPECT_TRUE(Ok(ReadAt(**zip, 1, cache)));
}

TEST(Zip, EveryReadOfOpeningMayFail) {
  const std::string bytes = BuildZip({{"a", "1"}, {"b", "2"}});
  for (uint64_t calls = 0;; ++calls) {
    auto source = std::make_shared<FaultySource>(bytes);
    source->FailAfter(calls);
    const auto zip = OpenContainer(source, {});
    if (zip) break;
    ASSERT_TRUE(Fails(zip, Code::kIo)) << calls;
    ASSERT_LT(calls, 100U);
  }
}

TEST(Zip, ADamagedMemberStaysDamaged) {
  BlockCache cache(limits::kMiB);
  for (const uint16_t method : {uint16_t{0}, uint16_t{8}, uint16_t{93}}) {
    ZipMember bad{"bad", std::string(3000, 'b'), method};
    bad.crc_error = 1;
    const auto zip = Open(BuildZip({bad, {"good", "g"}}));
    ASSERT_TRUE(Ok(zip));
    EXPECT_TRUE(Fails(ReadAt(**zip, 0, cache), Code::kChecksum));
    EXPECT_FALSE(ReadAt(**zip, 0, cache));
    EXPECT_EQ(DescribeEntry(**zip, 0).verified, "failed");
    EXPECT_TRUE(Ok(ReadAt(**zip, 1, cache)));
  }
}

TEST(Zip, ASizeThatDeflateCannotReachIsDamage) {
  ZipMember honest{"zeros", std::string(100'000, '\0'), 8};
  ZipMember claim{"claim", "x", 8};
  claim.size_error = 0xF000'0000;
  const auto zip = Open(BuildZip({honest, claim}));
  ASSERT_TRUE(Ok(zip));
  BlockCache cache(limits::kMiB);
  EXPECT_EQ(*ReadAt(**zip, 0, cache), honest.content);
  EXPECT_EQ((*zip)->Entries()->KnownSize(1), 0U);
  EXPECT_TRUE(Fails(ReadAt(**zip, 1, cache), Code::kCorrupt));
}

TEST(Zip, DataStartsWhereTheLocalHeaderSays) {
  ZipMember member{"a", "content"};
  member.local_extra = Le(0x4246, 2) + Le(20, 2) + std::string(20, 'Z');
  const auto zip = Open(BuildZip({member, {"b", "next"}}));
  ASSERT_TRUE(Ok(zip));
  BlockCache cache(limits::kMiB);
  EXPECT_EQ(*ReadAt(**zip, 0, cache), "content");
  EXPECT_EQ(*ReadAt(**zip, 1, cache), "next");
}

TEST(Zip, TheLastOfEqualNamesKeepsIt) {
  const auto zip =
      Open(BuildZip({{"a", "1"}, {"x", "-"}, {"a", "2"}, {"./a", "3"}}));
  ASSERT_TRUE(Ok(zip));
  BlockCache cache(limits::kMiB);
  std::string order;
  for (uint32_t i = 0; i < 4; ++i) order += *ReadAt(**zip, i, cache);
  EXPECT_EQ(order, "3-12");
  EXPECT_EQ(EntryName(**zip, 0), "./a");
}

TEST(Zip, NoMemberAtAll) {
  const auto zip = Open(BuildZip({}));
  ASSERT_TRUE(Ok(zip));
  EXPECT_EQ(EntryCount(**zip), 0U);
}

TEST(Npy, AMemberOfAnyMethodIsAnArray) {
  // Blocks of zstd that have more bytes than a header: nothing of one can be
  // decoded before all of it is there.
  std::mt19937 random(7);
  std::string data;
  for (int i = 0; i < 100'000; ++i) data += Le(random() % 200, 8);
  const std::string dict =
      "{'descr': '<i8', 'fortran_order': False, 'shape': (100000,), }\n";
  const std::string npy =
      std::string("\x93NUMPY\x01\x00", 8) + Le(dict.size(), 2) + dict + data;
  for (const uint16_t method : {uint16_t{0}, uint16_t{8}, uint16_t{93}}) {
    const auto zip = Open(BuildZip({{"a.npy", npy, method}}));
    ASSERT_TRUE(Ok(zip));
    const auto arrays = (*zip)->Export().arrays(LoneContext());
    ASSERT_EQ(arrays.size(), 1U) << method;
    const auto content = arrays[0].open(LoneContext());
    ASSERT_TRUE(Ok(content));
    EXPECT_TRUE(*ReadAll(*content, LoneContext()) == data) << method;
  }
}

TEST(Npy, HeadersAreParsedAndNotEvaluated) {
  const auto parse = [](const std::string& dict, uint64_t data = 16) {
    const std::string file =
        std::string("\x93NUMPY\x01\x00", 8) + Le(dict.size(), 2) + dict;
    return zip::ParseNpy(AsBytes(file), file.size() + data);
  };
  const auto array =
      parse("{'descr': '>f4', 'fortran_order': True, 'shape': (2, 2), }   \n");
  ASSERT_TRUE(Ok(array));
  EXPECT_TRUE(array->big_endian && array->fortran_order);
  EXPECT_EQ(array->shape, (std::vector<uint64_t>{2, 2}));
  for (const char* dict :
       {"", "{", "{}", "{'descr': '<f4'}", "{'descr': '<f4',,}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': [4]}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (0x4,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2+2,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4.0,)}",
        "{'descr': '\\x3cf4', 'fortran_order': False, 'shape': (4,)}",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4,)} x",
        "{'descr': f(1), 'fortran_order': False, 'shape': (4,)}",
        "{'descr': ], 'fortran_order': False, 'shape': (4,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': "
        "(99999999999999999999,)}"}) {
    EXPECT_TRUE(Fails(parse(dict), Code::kCorrupt)) << dict;
  }
}

/// Text that compresses about 4 : 1.
std::string Lines(size_t size) {
  std::mt19937 random(5);
  std::string text;
  text.reserve(size + 64);
  while (text.size() < size) {
    text += std::to_string(random() % 100'000);
    if (random() % 4 == 0) text += " a line that is met again and again\n";
  }
  text.resize(size);
  return text;
}

class LargeMember : public testing::Test {
 protected:
  std::shared_ptr<const zip::InflateIndex> Index(uint32_t crc_error = 0) {
    return std::make_shared<const zip::InflateIndex>(
        zip::DeflateData{
            source_,
            3,
            stored_.size() - 3,
            text_.size(),
            {ChecksumKind::kCrc32, Crc32(AsBytes(text_)) + crc_error}},
        std::make_shared<AtomicVerdict>(Verdict::kUnknown));
  }
  Result<std::string> Window(const Content& content, uint64_t at, size_t size) {
    std::string part(size, '\0');
    Status read = ReadInto(
        content, at, {reinterpret_cast<std::byte*>(part.data()), size}, cache_);
    if (!read) return std::move(read).error();
    return part;
  }

  const std::string text_ = Lines(30'000'000);
  const std::string stored_ = "xyz" + RawDeflate(text_, 1);
  const std::shared_ptr<const Source> source_ =
      std::make_shared<const MemorySource>(stored_);
  BlockCache cache_{10 * limits::kMiB};
};

TEST_F(LargeMember, IsReadInAnyOrder) {
  const Content content = Index()->Open();
  ASSERT_EQ(content.size(), text_.size());
  for (const uint64_t at : {29'999'000ULL, 0ULL, 16'777'000ULL, 8'388'600ULL,
                            25'000'000ULL, 1'000ULL}) {
    const auto part = Window(content, at, 1000);
    ASSERT_TRUE(Ok(part));
    EXPECT_TRUE(*part == text_.substr(at, 1000)) << at;
  }
  for (uint64_t at = 0; at < text_.size(); at += 1'000'000) {
    ASSERT_TRUE(*Window(content, at, 1'000'000) == text_.substr(at, 1'000'000));
  }
  EXPECT_LE(cache_.stats().bytes, 10 * limits::kMiB);
}

TEST_F(LargeMember, ServesNothingOfOneThatIsDamaged) {
  const auto index = Index(/*crc_error=*/1);
  EXPECT_TRUE(Fails(Window(index->Open(), 0, 10), Code::kChecksum));
  EXPECT_TRUE(Fails(Window(index->Open(), 20'000'000, 10), Code::kCorrupt));
}

TEST_F(LargeMember, HasExactlyItsSize) {
  for (const int more : {-1, 1}) {
    const auto index = std::make_shared<const zip::InflateIndex>(
        zip::DeflateData{
            source_,
            3,
            stored_.size() - 3,
            static_cast<uint64_t>(static_cast<int64_t>(text_.size()) + more),
            {}},
        std::make_shared<AtomicVerdict>(Verdict::kUnknown));
    EXPECT_TRUE(Fails(Window(index->Open(), 0, 10), Code::kCorrupt)) << more;
  }
}

}  // namespace
}  // namespace ctxfs::zip
