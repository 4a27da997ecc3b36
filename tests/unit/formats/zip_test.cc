// SPDX-License-Identifier: Apache-2.0
//
// What golden/zip and golden/npz do not show: stores that fail, what is read
// when, and members that are decoded in parts.
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>

#include "core/base/limits.h"
#include "core/compressed/seekable_deflate.h"
#include "core/container/format.h"
#include "core/formats/npy/header.h"
#include "core/io/spill_file.h"
#include "tests/unit/testing/faulty_source.h"
#include "tests/unit/testing/files.h"
#include "tests/unit/testing/heap.h"
#include "tests/unit/testing/result.h"
#include "tests/unit/testing/temp_dir.h"
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

constexpr uint16_t kMethods[] = {0, 8, 9, 12, 14, 93, 95};
constexpr uint16_t kStreamed[] = {12, 14, 93, 95};

TEST(Zip, Item28_4_EveryMethod) {
  const std::string text = Prose(10'000);
  std::vector<ZipMember> members;
  for (const uint16_t method : kMethods) {
    members.push_back({std::to_string(method), text, method});
  }
  const auto zip = Open(BuildZip(members, "a comment"));
  ASSERT_TRUE(Ok(zip));
  BlockCache cache(limits::kMiB);
  for (uint32_t i = 0; i < members.size(); ++i) {
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
  for (const uint16_t method : kMethods) {
    ZipMember bad{"bad", Prose(3000), method};
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

TEST(Zip, Item28_4_MethodsThatAreNotDecodedAreNamedOnce) {
  ZipMember locked{"l", "x"};
  locked.flags |= 1;
  const auto zip = Open(BuildZip({{"a", "x", 98},
                                  {"b", "y", 98},
                                  {"c", "z", 6},
                                  {"d", "z", 77},
                                  {"e", "z", 99},
                                  locked}));
  ASSERT_TRUE(Ok(zip));
  EXPECT_TRUE(
      Fails((*zip)->Entries()->Open(0, LoneContext()), Code::kUnsupported));
  EXPECT_TRUE(Fails((*zip)->Entries()->Open(5, LoneContext()), Code::kLocked));
  EXPECT_EQ(DescribeEntry(**zip, 0).note,
            "its data, PPMd (method 98), cannot be decoded");
  std::string told;
  for (const Warning& warning : (*zip)->warnings()) {
    EXPECT_EQ(warning.severity, Severity::kPartial);
    told += warning.text + "\n";
  }
  EXPECT_EQ(told,
            "encrypted: ZipCrypto: the data of 1 member, the first is 'l'\n"
            "method_unsupported: AES encryption (method 99): the data of 1 "
            "member, the first is 'e'\n"
            "method_unsupported: Implode (method 6): the data of 1 member, the "
            "first is 'c'\n"
            "method_unsupported: PPMd (method 98): the data of 2 members, the "
            "first is 'a'\n"
            "method_unsupported: method 77: the data of 1 member, the first is "
            "'d'\n");
}

TEST(Zip, Item28_4_MembersLargerThanTheCacheGoThroughAFile) {
  const std::string text = Prose(100'000) + std::string(11'000'000, 'x');
  const TempDir dir;
  for (const uint16_t method : kStreamed) {
    BlockCache cache(10 * limits::kMiB);
    auto file = SpillFile::Make(dir.Path(""), limits::kGiB);
    ASSERT_TRUE(Ok(file));
    cache.SpillTo(*file);
    ZipMember bad{"bad", text, method};
    bad.crc_error = 1;
    const auto zip = Open(BuildZip({{"good", text, method}, bad}));
    ASSERT_TRUE(Ok(zip));
    const auto read = ReadAt(**zip, 0, cache);
    ASSERT_TRUE(Ok(read)) << method;
    EXPECT_TRUE(*read == text) << method;
    EXPECT_EQ(cache.stats().bytes, 0U) << method;
    EXPECT_EQ(cache.stats().produced, text.size()) << method << ": once";
    EXPECT_TRUE(Fails(ReadAt(**zip, 1, cache), Code::kChecksum)) << method;
  }
}

/// The warnings of an archive whose bytes are `bytes`.
std::string Told(const std::string& bytes) {
  const auto zip = Open(bytes);
  if (!zip) return zip.error().Text();
  std::string told;
  for (const Warning& warning : (*zip)->warnings()) {
    told +=
        warning.Text() + (warning.severity == Severity::kPartial ? "" : "?");
  }
  for (const Error& fault : (*zip)->Inspect(LoneContext())) {
    told += fault.Text();
    EXPECT_EQ(fault.code, Code::kUnsupported);
  }
  return told;
}

TEST(Zip, Item28_3_AnArchiveBehindOthersIsAPart) {
  const std::string a = BuildZip({{"a", "1"}}, "comment");
  const std::string b = BuildZip({{"b", "22"}});
  EXPECT_EQ(Told(a), "");
  EXPECT_EQ(Told(a + b),
            "byte 0: bytes_before: the last of 2 archives in a row is shown; "
            "those in the " +
                std::to_string(a.size()) + " bytes before it are not");
  EXPECT_EQ(Told("#!" + a + b),
            "byte 0: bytes_before: the last of 2 archives in a row is shown; "
            "those in the " +
                std::to_string(a.size() + 2) + " bytes before it are not");
}

TEST(Zip, Item28_3_OnlyAProgramMayBeBeforeAnArchive) {
  const std::string zip = BuildZip({{"a", "1"}});
  for (const std::string program : {"MZ\x90", "\177ELF", "#!/bin/sh\n"}) {
    EXPECT_EQ(Told(program + std::string(5000, 'x') + zip), "") << program;
  }
  EXPECT_EQ(Told(std::string("PK\3\4", 4) + std::string(5000, 'x') + zip),
            "byte 0: bytes_before: 5004 bytes before the first member are no "
            "part of the archive, and start like zip");
  EXPECT_EQ(
      Told(std::string("\x1f\x8b\x08") + std::string(50, 'x') + zip),
      "byte 0: bytes_before: 53 bytes before the first member are no part "
      "of the archive, and start like a gzip file");
}

TEST(Zip, Item28_3_BytesAfterTheEndRecord) {
  const std::string zip = BuildZip({{"a", "1"}}, "comment");
  const std::string at =
      "byte " + std::to_string(zip.size()) + ": bytes_after: ";
  EXPECT_EQ(Told(zip + "more"),
            at + "4 bytes after the end record are no part of the archive");
  EXPECT_EQ(Told(zip + "%PDF-1.4"), at +
                                        "8 bytes after the end record are no "
                                        "part of the archive, and start like a "
                                        "PDF document");
  EXPECT_EQ(
      Told(zip + std::string(512, '\0')),
      at + "512 bytes after the end record are no part of the archive, and "
           "are all zero?");
}

/// Two members with `gap` between them.
std::string WithGap(const std::string& gap, uint16_t flags = 0x0800) {
  ZipMember first{"a", "1"};
  first.flags = flags;
  first.after = gap;
  return BuildZip({first, {"b", "2"}});
}

TEST(Zip, Item28_3_GapsBetweenMembers) {
  EXPECT_EQ(Told(WithGap(std::string(60'000, '\0'))), "") << "alignment";
  EXPECT_EQ(Told(WithGap("PK\7\x8" + std::string(20, 'x'), 0x0808)), "")
      << "a data descriptor";
  EXPECT_EQ(Told(WithGap("PK\7\x8" + std::string(20, 'x'))),
            "byte 32: gap: 24 bytes in 1 gaps between members belong to none");
  EXPECT_EQ(Told(WithGap(std::string(200'000, 'x'))),
            "byte 32: gap: 200000 bytes in 1 gaps between members belong to "
            "none");
  const std::string block = "secret" + Le(24 + 6, 8) + "APK Sig Block 42";
  ZipMember last{"b", "2"};
  last.after = Le(24 + 6, 8) + block;
  EXPECT_EQ(Told(BuildZip({last})), "") << "signatures of Android";
}

TEST(Zip, Item28_11_ALocatorThatPointsOutsideTheFile) {
  const std::string member = BuildZip({{"a", "content"}});
  const size_t end = member.size() - 22;
  const uint64_t directory = LoadLe<uint32_t>(
      reinterpret_cast<const std::byte*>(member.data() + end + 16));
  const auto zip64 = [&](uint64_t locator) {
    return member.substr(0, end) + Le(0x06064B50, 4) + Le(44, 8) + Le(45, 2) +
           Le(45, 2) + Le(0, 8) + Le(1, 8) + Le(1, 8) + Le(end - directory, 8) +
           Le(directory, 8) + Le(0x07064B50, 4) + Le(0, 4) + Le(locator, 8) +
           Le(1, 4) + member.substr(end);
  };
  EXPECT_EQ(Told(zip64(end)), "");
  for (const uint64_t outside : {uint64_t{100'000}, UINT64_MAX - 7}) {
    const auto source = std::make_shared<MemorySource>(zip64(outside));
    const auto refused = OpenContainer(source, {});
    ASSERT_TRUE(Fails(refused, Code::kCorrupt));
    EXPECT_TRUE(refused.error().what.starts_with("zip64: ")) << outside;
    const auto salvaged = OpenContainer(source, {.salvage = true});
    ASSERT_TRUE(Ok(salvaged));
    BlockCache cache(limits::kMiB);
    EXPECT_EQ(*ReadAt(**salvaged, 0, cache), "content");
    EXPECT_EQ((*salvaged)->Faults().size(), 1U);
  }
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
  for (const uint16_t method : kMethods) {
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
    return npy::ReadWholeArray(AsBytes(file), file.size() + data);
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
  std::shared_ptr<const SeekableDeflate> Index(uint32_t crc_error = 0) {
    return std::make_shared<const SeekableDeflate>(
        DeflateData{source_,
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

TEST_F(LargeMember, Item28_15_PlacesAreInTheCacheAndNotInTheIndex) {
  if (!CountsHeap()) GTEST_SKIP() << "the heap is not counted";
  const auto index = Index();
  const Content content = index->Open();
  const int64_t before = HeapBytes();
  for (const uint64_t at : {20'000'000ULL, 0ULL, 9'000'000ULL, 29'000'000ULL}) {
    ASSERT_TRUE(*Window(content, at, 1000) == text_.substr(at, 1000)) << at;
  }
  cache_.Drop();
  EXPECT_LT(HeapBytes() - before, 64 * 1024);
  // Without places it is decoded from the start, and says the same.
  EXPECT_TRUE(*Window(content, 25'000'000, 1000) ==
              text_.substr(25'000'000, 1000));
}

TEST_F(LargeMember, Item28_15_SequentialReadingDecodesEachPartOnce) {
  const Content content = Index()->Open();
  for (uint64_t at = 0; at < text_.size(); at += 1'000'000) {
    ASSERT_TRUE(Window(content, at, 1'000'000));
  }
  EXPECT_LT(cache_.stats().produced, text_.size() + 6 * 90 * limits::kKiB)
      << "three places, kept again at most once";
}

TEST(Zip, Item28_15_AHandleOfAMemberOfATebibyteTakesAKibibyte) {
  if (!CountsHeap()) GTEST_SKIP() << "the heap is not counted";
  constexpr uint64_t kSize = uint64_t{1} << 40;
  const auto index = std::make_shared<const SeekableDeflate>(
      DeflateData{std::make_shared<MemorySource>("x"), 0, 1, kSize, {}},
      std::make_shared<AtomicVerdict>(Verdict::kUnknown));
  std::vector<Content> handles(200);
  const int64_t before = HeapBytes();
  for (Content& handle : handles) handle = index->Open();
  EXPECT_LT(HeapBytes() - before, 200 * 1024);
  EXPECT_EQ(handles.back().size(), kSize);
}

TEST(Zip, Item28_18_AMemberOfTheGreatestRatioIsRead) {
  const std::string zeros(200'000'000, '\0');
  const std::string stored = RawDeflate(zeros, 9);
  ASSERT_GT(zeros.size() / stored.size(), 1020U);
  const auto index = std::make_shared<const SeekableDeflate>(
      DeflateData{std::make_shared<MemorySource>(stored),
                  0,
                  stored.size(),
                  zeros.size(),
                  {}},
      std::make_shared<AtomicVerdict>(Verdict::kUnknown));
  BlockCache cache(32 * limits::kMiB);
  // Without what a small file may cause in any case.
  Work work = WorkLimit{.base = 0}.On(stored.size());
  const ReadContext context = ReadContext(cache).With(work);
  std::string last(10, 'x');
  EXPECT_TRUE(Ok(ReadInto(
      index->Open(), zeros.size() - 10,
      {reinterpret_cast<std::byte*>(last.data()), last.size()}, context)));
  EXPECT_EQ(last, std::string(10, '\0'));
}

TEST_F(LargeMember, ServesNothingOfOneThatIsDamaged) {
  const auto index = Index(/*crc_error=*/1);
  EXPECT_TRUE(Fails(Window(index->Open(), 0, 10), Code::kChecksum));
  EXPECT_TRUE(Fails(Window(index->Open(), 20'000'000, 10), Code::kCorrupt));
}

TEST_F(LargeMember, HasExactlyItsSize) {
  for (const int more : {-1, 1}) {
    const auto index = std::make_shared<const SeekableDeflate>(
        DeflateData{
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
