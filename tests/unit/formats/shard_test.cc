// SPDX-License-Identifier: Apache-2.0
#include "core/formats/shard/shard.h"

#include <gtest/gtest.h>

#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/limits.h"
#include "core/container/open.h"
#include "tests/unit/testing/faulty_source.h"
#include "tests/unit/testing/files.h"
#include "tests/unit/testing/result.h"
#include "tests/unit/testing/shard_builder.h"

namespace ctxfs::shard {
namespace {

// Index to 208, names to 214, then "a" at 214, "b" at 224, "c" at 232 to 238.
std::string Three(uint16_t flags = 0x0020, uint8_t role = 1) {
  return BuildShard(
      {{Raw("a", "0123456789"), Raw("b", "abcdefgh"), Raw("c", "ABCDEF")},
       flags,
       role});
}
constexpr uint64_t kStrings = 208;
constexpr uint64_t kData = 214;
constexpr uint64_t kSize = 238;

std::vector<std::string> Names(const Container& container) {
  std::vector<std::string> names;
  for (uint32_t i = 0; i < EntryCount(container); ++i) {
    names.emplace_back(EntryName(container, i).value_or("(none)"));
  }
  return names;
}

/// What can be read of every entry, "!" for what cannot.
std::vector<std::string> Readable(const Container& container) {
  std::vector<std::string> all;
  for (uint32_t i = 0; i < EntryCount(container); ++i) {
    const Result<std::string> bytes = ReadEntry(container, i);
    if (EntryFault(container, i)) {
      EXPECT_EQ(EntrySize(container, i), 0U);
    } else if (bytes) {
      EXPECT_EQ(EntrySize(container, i), bytes->size());
    }
    all.push_back(bytes ? *bytes : "!");
  }
  return all;
}

const std::vector<std::string> kAll = {"0123456789", "abcdefgh", "ABCDEF"};

/// One fault in Three(): how it is refused, and what salvage shows of it
/// (nothing: it refuses too).
struct Fault {
  const char* what;
  std::function<void(std::string&)> damage;
  Code code;
  uint64_t offset;
  std::optional<std::vector<std::string>> salvaged;
};

template <typename T>
std::function<void(std::string&)> Put(uint64_t offset, T value) {
  return [=](std::string& bytes) { Poke(bytes, offset, value); };
}

std::vector<Fault> Faults() {
  const uint64_t data_of_b = RecordField(1, kDataOffsetField);
  const uint64_t size_of_b = RecordField(1, kDiskSizeField);
  const std::vector<std::string> no_b = {kAll[0], "!", kAll[2]};
  const auto move_b = [&](uint64_t to, uint64_t size) {
    return [=](std::string& bytes) {
      Poke(bytes, data_of_b, to);
      Poke(bytes, size_of_b, size);
    };
  };
  return {
      {"version 0", Put(4, uint8_t{0}), Code::kVersion, 4, {}},
      {"version 1", Put(4, uint8_t{1}), Code::kVersion, 4, {}},
      {"version 3", Put(4, uint8_t{3}), Code::kVersion, 4, {}},
      {"version 255", Put(4, uint8_t{255}), Code::kVersion, 4, {}},
      {"records of 0", Put(10, uint16_t{0}), Code::kCorrupt, 10, {}},
      {"records of 47", Put(10, uint16_t{47}), Code::kCorrupt, 10, {}},
      {"records of 64", Put(10, uint16_t{64}), Code::kCorrupt, 10, {}},
      {"records of 65535", Put(10, uint16_t{65535}), Code::kCorrupt, 10, {}},
      {"10,000,001 entries", Put(12, 10'000'001U), Code::kLimit, 12, {}},
      {"2^32-1 entries", Put(12, UINT32_MAX), Code::kLimit, 12, {}},
      {"10,000,000 entries", Put(12, 10'000'000U), Code::kCorrupt, 12, {}},
      {"4 entries", Put(12, 4U), Code::kCorrupt, 12, {}},
      {"total one more", Put(40, kSize + 1), Code::kCorrupt, 40, kAll},
      {"total one less", Put(40, kSize - 1), Code::kCorrupt, 40, kAll},
      {"total 0", Put(40, uint64_t{0}), Code::kCorrupt, 40, kAll},
      {"total 2^64-1", Put(40, UINT64_MAX), Code::kCorrupt, 40, kAll},
      {"cut by one byte", [](std::string& bytes) { bytes.pop_back(); },
       Code::kCorrupt, 40, std::vector{kAll[0], kAll[1], std::string("!")}},
      {"cut after a", [](std::string& bytes) { bytes.resize(224); },
       Code::kCorrupt, 40, std::vector<std::string>{kAll[0], "!", "!"}},
      {"cut within the index",
       [](std::string& bytes) { bytes.resize(207); },
       Code::kCorrupt,
       40,
       {}},
      {"a byte too many", [](std::string& bytes) { bytes += 'x'; },
       Code::kCorrupt, 40, kAll},
      {"strings after data", Put(16, kData + 1), Code::kCorrupt, 16, kAll},
      {"strings at the end", Put(16, kSize), Code::kCorrupt, 16, kAll},
      {"strings past the end", Put(16, kSize + 1), Code::kCorrupt, 16, kAll},
      {"strings at 2^64-1", Put(16, UINT64_MAX), Code::kCorrupt, 16, kAll},
      {"data before strings", Put(24, kStrings - 1), Code::kCorrupt, 16, kAll},
      {"data at 0", Put(24, uint64_t{0}), Code::kCorrupt, 16, kAll},
      {"data past the end", Put(24, kSize + 1), Code::kCorrupt, 24, kAll},
      {"data at 2^64-1", Put(24, UINT64_MAX), Code::kCorrupt, 24, kAll},
      {"b before the data", Put(data_of_b, kData - 1), Code::kCorrupt,
       data_of_b, no_b},
      {"b at 0", Put(data_of_b, uint64_t{0}), Code::kCorrupt, data_of_b, no_b},
      {"b past the end", Put(size_of_b, kSize - 224 + 1), Code::kCorrupt,
       data_of_b, no_b},
      {"b of 2^64-1 bytes", Put(size_of_b, UINT64_MAX), Code::kCorrupt,
       data_of_b, no_b},
      {"b whose end wraps", move_b(UINT64_MAX - 7, 16), Code::kCorrupt,
       data_of_b, no_b},
      {"nothing past the end", move_b(kSize + 1, 0), Code::kCorrupt, data_of_b,
       no_b},
      // Of overlapping entries the checksums tell whose the bytes are.
      {"b within a", Put(data_of_b, kData + 1), Code::kCorrupt, data_of_b,
       no_b},
      {"b sharing a's last byte", Put(data_of_b, uint64_t{223}), Code::kCorrupt,
       data_of_b, no_b},
      {"b around c", move_b(224, 14), Code::kCorrupt,
       RecordField(2, kDataOffsetField), no_b},
      {"b where a is", move_b(kData, 10), Code::kCorrupt, data_of_b, no_b},
  };
}

TEST(ShardOpen, RefusesEachFaultWithItsByte) {
  for (const Fault& fault : Faults()) {
    std::string bytes = Three();
    fault.damage(bytes);
    EXPECT_TRUE(Fails(OpenBytes(bytes), fault.code, fault.offset))
        << fault.what;
    EXPECT_TRUE(Fails(OpenBytes(bytes, kNoVerify), fault.code, fault.offset))
        << fault.what;
  }
}

TEST(ShardOpen, SalvagesWhatIsWhole) {
  for (const Fault& fault : Faults()) {
    SCOPED_TRACE(fault.what);
    std::string bytes = Three();
    fault.damage(bytes);
    const ContainerResult opened = OpenBytes(bytes, kSalvage);
    EXPECT_EQ(opened.has_value(), fault.salvaged.has_value())
        << Ok(opened).message();
    if (!opened || !fault.salvaged) continue;
    EXPECT_EQ(Readable(**opened), *fault.salvaged);
    EXPECT_FALSE((*opened)->Info(LoneContext())["warnings"].empty());
    for (uint32_t i = 0; i < 3; ++i) {
      const std::optional<Error> entry_fault = EntryFault(**opened, i);
      if (!entry_fault) continue;
      EXPECT_TRUE(Fails(OpenEntry(**opened, i), entry_fault->code,
                        RecordField(i, kDataOffsetField)));
      EXPECT_EQ(DescribeEntry(**opened, i).note, entry_fault->what);
    }
  }
}

TEST(ShardOpen, SalvagesNamesWhereOnlyTheirEndIsWrong) {
  for (const uint64_t data : {kSize + 1U, UINT64_MAX}) {
    std::string bytes = Three();
    Poke(bytes, 24, data);
    const ContainerResult opened = OpenBytes(bytes, kSalvage);
    ASSERT_TRUE(Ok(opened));
    EXPECT_EQ(Names(**opened), (std::vector<std::string>{"a", "b", "c"}));
  }
}

TEST(ShardOpen, OverlapsWithoutChecksumsBelongToNoEntry) {
  std::string bytes = Three(0);
  Poke(bytes, RecordField(1, kDataOffsetField), uint64_t{kData + 4});
  for (uint32_t i = 0; i < 3; ++i) {
    Poke(bytes, RecordField(i, kChecksumField), uint32_t{0});
  }
  EXPECT_TRUE(Fails(OpenBytes(bytes), Code::kCorrupt,
                    RecordField(1, kDataOffsetField)));
  const ContainerResult opened = OpenBytes(bytes, kSalvage);
  ASSERT_TRUE(Ok(opened));
  EXPECT_EQ(Readable(**opened), (std::vector<std::string>{"!", "!", "ABCDEF"}));
}

TEST(ShardOpen, TakesOverlapsInAnEpisode) {
  std::string bytes = Three(0x0020, /*role=*/5);
  Poke(bytes, RecordField(1, kDataOffsetField), uint64_t{kData + 4});
  Poke(bytes, RecordField(1, kChecksumField), Crc32c(AsBytes("456789ab")));
  const ContainerResult opened = OpenBytes(bytes);
  ASSERT_TRUE(Ok(opened));
  EXPECT_EQ(Readable(**opened),
            (std::vector<std::string>{"0123456789", "456789ab", "ABCDEF"}));
}

TEST(ShardOpen, RefusesAFileThatEndsWithinTheHeader) {
  const std::string bytes = Three();
  for (size_t size = 4; size < 64; ++size) {
    for (const OpenOptions& options : {OpenOptions{}, kSalvage}) {
      EXPECT_TRUE(Fails(OpenBytes(bytes.substr(0, size), options),
                        Code::kCorrupt, size));
    }
  }
}

TEST(ShardOpen, AcceptsWhatReadersIgnore) {
  const auto fine = [](const char* what, const std::string& bytes) {
    const ContainerResult opened = OpenBytes(bytes);
    ASSERT_TRUE(Ok(opened)) << what;
    EXPECT_EQ(Readable(**opened), kAll) << what;
    EXPECT_EQ(Names(**opened), (std::vector<std::string>{"a", "b", "c"}));
  };
  for (int role = 0; role < 256; ++role) {
    fine("role", Three(0x0020, static_cast<uint8_t>(role)));
  }
  for (const auto flags : std::initializer_list<uint16_t>{
           0x0000, 0x00A2, 0x0035, 0x1F20, 0xFFFF}) {
    fine("flags", Three(flags));
  }
  for (const auto value : std::initializer_list<uint8_t>{1, 12, 64, 255}) {
    std::string bytes = Three();
    Poke(bytes, 8, value);   // alignment, which no data here keeps
    Poke(bytes, 9, value);   // compression_default
    Poke(bytes, 50, value);  // reserved
    Poke(bytes, RecordField(1, 0), uint64_t{value});          // name hash
    Poke(bytes, RecordField(1, kOrigSizeField), UINT64_MAX);  // of raw data
    fine("ignored fields", bytes);
  }
}

TEST(ShardOpen, TakesDataInAnyOrder) {
  std::string bytes = Three();
  // a and b, ten and eight bytes, change places.
  bytes.replace(kData, 18, "abcdefgh0123456789");
  Poke(bytes, RecordField(0, kDataOffsetField), uint64_t{222});
  Poke(bytes, RecordField(1, kDataOffsetField), uint64_t{214});
  const ContainerResult opened = OpenBytes(bytes);
  ASSERT_TRUE(Ok(opened));
  EXPECT_EQ(Readable(**opened), kAll);
}

TEST(ShardOpen, LetsEmptyEntriesLieAnywhere) {
  for (const uint64_t at : {kData, kData + 5, uint64_t{224}, kSize}) {
    std::string bytes = Three();
    Poke(bytes, RecordField(1, kDataOffsetField), at);
    Poke(bytes, RecordField(1, kDiskSizeField), uint64_t{0});
    Poke(bytes, RecordField(1, kChecksumField), uint32_t{0});
    const ContainerResult opened = OpenBytes(bytes);
    ASSERT_TRUE(Ok(opened)) << at;
    EXPECT_EQ(Readable(**opened),
              (std::vector<std::string>{kAll[0], "", kAll[2]}));
  }
}

TEST(ShardOpen, AcceptsAContainerWithoutEntries) {
  const std::string bytes = BuildShard({});
  ASSERT_EQ(bytes.size(), 64U);
  const ContainerResult opened = OpenBytes(bytes);
  ASSERT_TRUE(Ok(opened));
  EXPECT_EQ(EntryCount(**opened), 0U);
}

TEST(ShardOpen, GivesNoNameThatLiesOutsideTheTable) {
  struct Case {
    uint32_t offset;
    uint16_t length;
    std::optional<std::string> name;
  };
  const std::string b_to_pad("b\0c\0", 4);
  const Case cases[] = {
      {2, 1, "b"},         {2, 4, b_to_pad},
      {6, 0, ""},          {0, 0, ""},
      {2, 5, {}},          {6, 1, {}},
      {7, 0, {}},          {5, 1, std::string(1, '\0')},
      {UINT32_MAX, 1, {}}, {UINT32_MAX, UINT16_MAX, {}},
      {0, UINT16_MAX, {}}, {0, 3, std::string("a\0b", 3)},
  };
  for (const Case& c : cases) {
    std::string bytes = Three();
    Poke(bytes, RecordField(1, kNameOffsetField), c.offset);
    Poke(bytes, RecordField(1, kNameLengthField), c.length);
    const ContainerResult opened = OpenBytes(bytes);
    ASSERT_TRUE(Ok(opened));
    EXPECT_EQ(EntryName(**opened, 1), c.name) << c.offset << " " << c.length;
    EXPECT_EQ(Readable(**opened), kAll);
    const Json warnings = (*opened)->Info(LoneContext())["warnings"];
    ASSERT_EQ(warnings.size(), c.name ? 0U : 1U);
    if (!c.name) {
      EXPECT_EQ(warnings[0].get<std::string>().find("byte 120: "), 0U)
          << "where the record has its name's offset";
    }
  }
}

TEST(ShardOpen, KeepsNamesAsTheyAre) {
  const std::vector<std::string> odd = {"",          ".",
                                        "..",        "../escape",
                                        "/absolute", "a//b",
                                        "dir/",      "\\",
                                        "\n",        std::string("nul\0nul", 7),
                                        "\xff\xfe",  "dup",
                                        "dup",       std::string(65535, 'n')};
  ShardSpec spec;
  for (const std::string& name : odd) {
    spec.entries.push_back(Raw(name, "of " + std::to_string(name.size())));
  }
  const ContainerResult opened = OpenBytes(BuildShard(spec));
  ASSERT_TRUE(Ok(opened));
  EXPECT_TRUE(Names(**opened) == odd);
}

TEST(ShardOpen, BoundsTheNamesAndNotTheGapBehindThem) {
  std::string head = BuildShard({{Raw("", "")}});
  const uint64_t size = 64 + 48 + 2 * limits::kNameBytes;
  Poke(head, 24, size);
  Poke(head, 40, size);
  Poke(head, RecordField(0, kDataOffsetField), size);
  const auto open = [&](uint64_t name_end) {
    Poke(head, RecordField(0, kNameOffsetField),
         static_cast<uint32_t>(name_end - 1));
    Poke(head, RecordField(0, kNameLengthField), uint16_t{1});
    return OpenAs<ShardContainer>(std::make_shared<SparseSource>(head, size),
                                  {});
  };
  EXPECT_TRUE(Ok(open(10))) << "a streamed file's gap counts as table";
  EXPECT_TRUE(Ok(open(limits::kNameBytes)));
  EXPECT_TRUE(Fails(open(limits::kNameBytes + 1), Code::kLimit, 16));
}

// If every entry used the same 64 KiB as its name, the tree would need
// gigabytes.
TEST(ShardOpen, CountsNameBytesThatAreShared) {
  constexpr uint16_t kLength = 65'535;
  const auto open = [](uint32_t entries) {
    ShardSpec spec;
    spec.entries.resize(entries);
    spec.entries[0].name = std::string(kLength, 'n');
    std::string bytes = BuildShard(spec);
    for (uint32_t i = 0; i < entries; ++i) {
      Poke(bytes, RecordField(i, kNameOffsetField), uint32_t{0});
      Poke(bytes, RecordField(i, kNameLengthField), kLength);
    }
    return OpenBytes(std::move(bytes));
  };
  constexpr uint32_t kMax = limits::kNameBytes / kLength;
  EXPECT_TRUE(Ok(open(kMax)));
  EXPECT_TRUE(Fails(open(kMax + 1), Code::kLimit, 16));
}

TEST(ShardOpen, ReadsNothingOfTheData) {
  const std::string bytes =
      BuildShard({{Raw("a", Noise(5000)), ZstdEntry("b", Prose(5000))},
                  0x0030,
                  1,
                  0,
                  R"({"schema_version":"shard-v2.1"})",
                  std::string(3000, '\0')});
  const auto source = std::make_shared<FaultySource>(bytes);
  const ContainerResult opened = OpenAs<ShardContainer>(source, {});
  ASSERT_TRUE(Ok(opened));
  EXPECT_EQ(EntrySize(**opened, 1), 5000U);
  // Header, index, names, and the metadata, which may speak of encryption.
  const uint64_t names_end = 64 + 2 * 48 + 3;
  const uint64_t metadata = bytes.size() - 31;
  ASSERT_EQ(bytes.substr(metadata, 2), "{\"");
  for (const auto& access : source->accesses()) {
    EXPECT_TRUE(access.offset + access.length <= names_end ||
                access.offset >= metadata)
        << access.length << " bytes at " << access.offset;
  }
}

}  // namespace
}  // namespace ctxfs::shard
