// SPDX-License-Identifier: Apache-2.0
//
// MEM8 files that no golden file has: hostile ones above all.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/limits.h"
#include "core/container/format.h"
#include "core/formats/mem8/limits.h"
#include "core/tree/container_tree.h"
#include "tests/unit/testing/compress.h"
#include "tests/unit/testing/files.h"
#include "tests/unit/testing/mem8_builder.h"
#include "tests/unit/testing/result.h"

namespace ctxfs::mem8 {
namespace {

using ContainerPtr = std::shared_ptr<const Container>;

Result<ContainerPtr> Open(std::string bytes, const OpenOptions& options = {}) {
  return OpenContainer(std::make_shared<MemorySource>(std::move(bytes)),
                       options);
}

Result<std::string> Read(const ContainerPtr& container, std::string_view path) {
  const ContainerTree container_tree(container);
  BlockCache cache(limits::kMiB);
  for (NodeId node = 0; node < container_tree.tree().node_count(); ++node) {
    if (container_tree.tree().Path(node) != path) continue;
    const Result<Content> content = container_tree.Open(node, cache);
    if (!content) return content.error();
    Result<std::string> bytes = ReadAll(*content, cache);
    if (bytes) {
      EXPECT_EQ(*container_tree.Size(node, cache), bytes->size());
    }
    return bytes;
  }
  return Error{Code::kNotFound, std::string(path)};
}

Json ReadJson(const ContainerPtr& container, std::string_view path) {
  const Result<std::string> text = Read(container, path);
  EXPECT_TRUE(Ok(text)) << path;
  return text ? Json::parse(*text) : Json();
}

bool Warns(const ContainerPtr& container, const std::string& text) {
  const Json info = container->Info(LoneContext());
  return std::any_of(info["warnings"].begin(), info["warnings"].end(),
                     [&text](const std::string& warning) {
                       return warning.find(text) != std::string::npos;
                     });
}

Mem8File Small() {
  Mem8File file;
  file.strings = {"src", "source"};
  file.sections = Mem8SectionBytes(1, Mem8Identity(0, 1));
  return file;
}

TEST(Mem8, EachMeaningOfALengthIsRecognised) {
  for (const auto& [also, name] : {std::pair<size_t, std::string>{0, "payload"},
                                   {3, "total"},
                                   {1, "type+payload"}}) {
    Mem8File file = Small();
    file.sections = Mem8SectionBytes(1, Mem8Identity(0, 1), also) +
                    Mem8SectionBytes(0x55, "unknown", also) +
                    Mem8SectionBytes(4, std::string(7, '\1'), also);
    const Result<ContainerPtr> container = Open(file.Build());
    ASSERT_TRUE(Ok(container));
    EXPECT_EQ(ReadJson(*container, "header.json")["length_convention"], name);
    EXPECT_EQ(EntryCount(**container), 3U);
    EXPECT_EQ(*Read(*container, ".ctxfs/raw/sections/0x0055.bin"), "unknown");
    EXPECT_EQ(ReadJson(*container, "identity.json")["purpose"], "source");
  }
}

TEST(Mem8, StopsAtATypeThatDoesNotExist) {
  Mem8File file = Small();
  file.sections += std::string(5, '\0') + Mem8SectionBytes(4, "1234567");
  const Result<ContainerPtr> container = Open(file.Build());
  ASSERT_TRUE(Ok(container));
  EXPECT_EQ(EntryCount(**container), 1U);
  EXPECT_TRUE(Warns(*container, "section of type 0x00"));
}

TEST(Mem8, SectionsThatAreTooShortHideNoOthers) {
  Mem8File file = Small();
  file.sections = Mem8SectionBytes(8, "short") + Mem8SectionBytes(2, "") +
                  Mem8SectionBytes(6, "\2\2") + file.sections;
  const Result<ContainerPtr> container = Open(file.Build());
  ASSERT_TRUE(Ok(container));
  EXPECT_EQ(EntryCount(**container), 4U);
  for (const char* name :
       {"sensor_arbitration.json", "context.json", "ai_context.json"}) {
    EXPECT_EQ(ReadJson(*container, name)["error"], "shorter than its fields");
  }
  EXPECT_EQ(ReadJson(*container, "identity.json")["path"], "src");
}

TEST(Mem8, BadStringNumbersAreNullWithOneWarning) {
  Mem8File file = Small();
  file.sections = Mem8SectionBytes(
      7, LeBytes().U8(2).U8(1).U16(1).U16(2).U16(0xFFFF).bytes());
  const Result<ContainerPtr> container = Open(file.Build());
  ASSERT_TRUE(Ok(container));
  const Json json = ReadJson(*container, "relationships.json");
  EXPECT_EQ(json["upstream"], Json({"source", nullptr}));
  EXPECT_EQ(json["downstream"], Json::array({nullptr}));
  EXPECT_EQ(json["error"], "string index out of range: 2");
}

TEST(Mem8, NumbersThatJsonLacksAreNull) {
  Mem8File file = Small();
  file.sections = Mem8SectionBytes(
      8, LeBytes().U32(0x7FC00000).U32(0x3E99999A).U8(204).U32(5).bytes());
  const Result<ContainerPtr> container = Open(file.Build());
  ASSERT_TRUE(Ok(container));
  const Json json = ReadJson(*container, "sensor_arbitration.json");
  EXPECT_TRUE(json["subconscious_weight"].is_null());
  EXPECT_EQ(json["llm_weight"], 0.3) << "the shortest that reads back";
}

TEST(Mem8, StringTablesAreBelievedByTheirBytes) {
  Mem8File file;
  // 65,535 strings in a file of a few bytes.
  EXPECT_TRUE(Fails(Open(file.BuildWith(LeBytes().U16(65535).U16(0).bytes())),
                    Code::kCorrupt, 20));
  // The second of two strings runs past the end.
  const std::string cut =
      LeBytes().U16(2).U16(8).U16(1).Raw("a").U16(9).Raw("b").bytes();
  EXPECT_TRUE(Fails(Open(file.BuildWith(cut)), Code::kCorrupt, 23));
  EXPECT_TRUE(Fails(Open(file.BuildWith("")), Code::kCorrupt, 16));
}

TEST(Mem8, AnEncryptedFileShowsItsHeaderOnly) {
  Mem8File file = Small();
  for (const uint16_t flags : std::initializer_list<uint16_t>{2, 3}) {
    file.flags = flags;
    const Result<ContainerPtr> container = Open(file.BuildWith(Noise(500)));
    ASSERT_TRUE(Ok(container));
    EXPECT_EQ(EntryCount(**container), 0U);
    EXPECT_EQ(ReadJson(*container, "header.json")["flags"], flags);
    EXPECT_TRUE(Warns(*container, "encrypted"));
    EXPECT_TRUE(ReadJson(*container, "header.json").contains("note"));
    for (const char* name : {"strings.json", ".ctxfs/summary.json"}) {
      EXPECT_TRUE(Fails(Read(*container, name), Code::kLocked, 6)) << name;
    }
    EXPECT_TRUE((*container)->Inspect(LoneContext()).empty());
  }
  file.flags = 2;
  EXPECT_TRUE(Ok(Open(file.BuildWith("")))) << "and nothing in it is read";
}

TEST(Mem8, AnEncryptedFileIsDamagedOnlyIfItsCrcSaysSo) {
  Mem8File file = Small();
  file.flags = 2;
  file.crc = 0;  // nobody computed it
  EXPECT_TRUE(
      Fails(Read(*Open(file.BuildWith(Noise(500))), ".ctxfs/summary.json"),
            Code::kLocked));
  file.crc = 12345;
  const std::string bytes = file.BuildWith(Noise(500));
  EXPECT_TRUE(
      Fails(Read(*Open(bytes), ".ctxfs/summary.json"), Code::kChecksum, 8));
  OpenOptions unchecked;
  unchecked.verify = false;
  EXPECT_TRUE(Fails(Read(*Open(bytes, unchecked), ".ctxfs/summary.json"),
                    Code::kLocked));
}

TEST(Mem8, ReservedFlagsAndTrailingBytesAreReported) {
  Mem8File file = Small();
  file.flags = 0x8020;
  EXPECT_TRUE(Warns(*Open(file.Build()), "reserved flag bits set"));
  file.flags = 1;
  const Result<ContainerPtr> packed =
      Open(file.BuildWith(Zstd(file.Body()) + "after"));
  ASSERT_TRUE(Ok(packed));
  EXPECT_TRUE(Warns(*packed, "5 bytes after the zstd frame"));
  EXPECT_EQ(ReadJson(*packed, "identity.json")["path"], "src");
}

TEST(Mem8, ReadsBigEndianNumbersWhereTheCrcSaysSo) {
  // Strings "ab"; compilation: status 2, time 0x01020304, 5 errors, 6 warnings.
  const std::string body("\0\1\0\4\0\2ab\4\0\7\2\1\2\3\4\5\6", 18);
  const std::string checked = std::string(4, '\0') + body;
  const uint32_t crc = Crc32(AsBytes(checked));
  const std::string file = "MEM8" + std::string("\1\0\0\0", 4) +
                           LeBytes().U32(__builtin_bswap32(crc)).bytes() +
                           checked;
  const Result<ContainerPtr> container = Open(file);
  ASSERT_TRUE(Ok(container));
  EXPECT_EQ(ReadJson(*container, "strings.json"), Json({"ab"}));
  EXPECT_EQ(ReadJson(*container, "compilation.json")["last_build"], 0x01020304);
  EXPECT_EQ(ReadJson(*container, "header.json")["byte_order"], "big");
}

TEST(Mem8, ManySectionsAreShownUpToALimit) {
  Mem8File file = Small();
  for (uint32_t i = 0; i < kMaxSections + 10; ++i) {
    file.sections += Mem8SectionBytes(2, std::string(1, '\0'));
  }
  const Result<ContainerPtr> container = Open(file.Build());
  ASSERT_TRUE(Ok(container));
  EXPECT_EQ(EntryCount(**container), kMaxSections);
  EXPECT_TRUE(Warns(*container, "the rest is not shown"));
  EXPECT_TRUE(Ok(Read(*container, "context~4095.json")));
}

TEST(Mem8, WhatRepeatsALongStringHasALimit) {
  // 255 concepts that name a string of 65,535 bytes twice, fifty times: 1.6 GB.
  Mem8File file;
  file.strings = {std::string(65535, 'x')};
  const std::string concepts = "\xFF" + std::string(size_t{255} * 5, '\0');
  for (int i = 0; i < 50; ++i) file.sections += Mem8SectionBytes(2, concepts);
  const Result<ContainerPtr> container = Open(file.Build());
  ASSERT_TRUE(Ok(container));
  EXPECT_TRUE(Fails(Read(*container, ".ctxfs/summary.json"), Code::kLimit));
  EXPECT_EQ(Read(*container, ".ctxfs/raw/sections/0x0002.bin")->size(), 1276U);
  EXPECT_TRUE(Ok(Read(*container, "strings.json")));
}

TEST(Mem8, AMismatchClosesEverythingUnlessNothingIsVerified) {
  Mem8File file = Small();
  file.crc = 12345;
  const Result<ContainerPtr> container = Open(file.Build());
  ASSERT_TRUE(Ok(container));
  for (const char* name : {"identity.json", ".ctxfs/summary.json",
                           "header.json", ".ctxfs/raw/sections/0x0001.bin"}) {
    EXPECT_TRUE(Fails(Read(*container, name), Code::kChecksum)) << name;
  }
  EXPECT_EQ(EntrySize(**container, 0), 0U);
  EXPECT_TRUE(EntryFault(**container, 0).has_value());
  EXPECT_EQ(*Read(*container, ".ctxfs/container"), file.Build());
  OpenOptions unchecked;
  unchecked.verify = false;
  const Result<ContainerPtr> anyway = Open(file.Build(), unchecked);
  EXPECT_EQ(ReadJson(*anyway, "identity.json")["path"], "src");
}

TEST(Mem8, AFilePackedAsAWholeIsUnpackedOnce) {
  const std::string plain = Small().Build();
  const Result<ContainerPtr> packed = Open(Zstd(plain));
  ASSERT_TRUE(Ok(packed));
  EXPECT_EQ(ReadJson(*packed, "identity.json")["path"], "src");
  EXPECT_EQ(*Read(*packed, ".ctxfs/container"), Zstd(plain));
  EXPECT_TRUE(Fails(Open(Zstd(Zstd(plain))), Code::kNotContainer));
  EXPECT_TRUE(Fails(Open(Zstd("hello")), Code::kNotContainer));
  EXPECT_TRUE(Fails(Open(Zstd(plain).substr(0, 30)), Code::kNotContainer));
  // A file that happens to be a zstd frame stays a file in a directory.
  EXPECT_FALSE(IsContainer(AsBytes(Zstd(plain)).first(32)));
}

TEST(Mem8, NamesItsRelatives) {
  const auto refusal = [](std::string bytes) {
    const Result<ContainerPtr> container = Open(std::move(bytes));
    EXPECT_TRUE(Fails(container, Code::kNotContainer));
    return container ? "" : container.error().what;
  };
  const auto names = [&refusal](const std::string& bytes, const char* kind) {
    const std::string what = refusal(bytes);
    EXPECT_NE(what.find(kind), std::string::npos) << what;
  };
  names("M8MEM\1" + Noise(50), "M8MEM memory file");
  names("M8MEGA\1" + Noise(50), "M8MEGA session file");
  names(std::string("T8R\0", 4) + Noise(50), "T8R file");
  names("MEM8,True,eJwDAAAAAAE=", "text capsule");
  names("MEM8\1" + std::string(25, '\0'), "MEM8 block file");
  names("[1, 2]", "JSON text");
  names("status: f\xC3\xBCr alle\n", "text, not binary");
  // A character that the end of what a probe sees has cut is still text.
  names(std::string(limits::kProbeBytes - 1, 'x') + "\xC3\xBC", "text, not");
  EXPECT_EQ(refusal("\x01\x02 no text"), "not a container of a known format");
}

// ---- archives ----

struct ArchiveMember {
  std::string path;
  std::string bytes;
};

std::string BuildArchive(const std::vector<ArchiveMember>& members,
                         bool relative = false) {
  size_t at = relative ? 0 : 32;
  for (const ArchiveMember& member : members) {
    if (!relative) at += 10 + member.path.size();
  }
  LeBytes table;
  std::string data;
  for (const ArchiveMember& member : members) {
    table.U16(member.path.size())
        .Raw(member.path)
        .U32(at + data.size())
        .U32(member.bytes.size());
    data += member.bytes;
  }
  return LeBytes()
      .Raw("M8AR")
      .U16(0x0100)
      .U16(members.size())
      .U32(0)
      .U32(0)
      .Raw(std::string(16, '\0'))
      .Raw(table.bytes())
      .Raw(data)
      .bytes();
}

std::vector<std::string> Paths(const ContainerTree& container_tree) {
  std::vector<std::string> paths;
  for (NodeId node = 1; node < container_tree.tree().node_count(); ++node) {
    const std::string path = container_tree.tree().Path(node);
    if (!path.starts_with(".ctxfs")) paths.push_back(path);
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

TEST(Mem8Archive, MembersAreDirectoriesOrFiles) {
  const Result<ContainerPtr> archive =
      Open(BuildArchive({{"a/.mem8", Small().Build()},
                         {"a/notes.txt", "hello"},
                         {"a", Small().Build()},
                         {"archive.json", "theirs"},
                         {"empty", ""}}));
  ASSERT_TRUE(Ok(archive));
  const ContainerTree container_tree(*archive);
  EXPECT_EQ(
      Paths(container_tree),
      (std::vector<std::string>{"a", "a/.mem8", "a/notes.txt", "archive.json",
                                "archive~2.json", "empty"}));
  EXPECT_EQ(*Read(*archive, "a/notes.txt"), "hello");
  EXPECT_EQ(*Read(*archive, "archive.json"), "theirs");
  EXPECT_EQ(*Read(*archive, "empty"), "");
  EXPECT_EQ(container_tree.sub_containers().size(), 2U);
  for (const ChildContainer& sub : container_tree.sub_containers()) {
    EXPECT_TRUE(Ok(OpenContainer(*sub.open_source(LoneContext()), {})));
  }
}

TEST(Mem8Archive, OffsetsCountFromWhereverTheyFit) {
  const std::vector<ArchiveMember> members = {{"x", Small().Build()},
                                              {"y", Small().Build()}};
  for (const bool relative : {false, true}) {
    const Result<ContainerPtr> archive = Open(BuildArchive(members, relative));
    ASSERT_TRUE(Ok(archive));
    EXPECT_EQ((*archive)->Children().size(), 2U) << relative;
  }
}

TEST(Mem8Archive, ThousandsOfEqualPathsAreNoTrouble) {
  const std::vector<ArchiveMember> members(30'000,
                                           ArchiveMember{"dup.mem8", "text"});
  const Result<ContainerPtr> archive = Open(BuildArchive(members));
  ASSERT_TRUE(Ok(archive));
  const ContainerTree container_tree(*archive);
  EXPECT_EQ(container_tree.tree().node_count(), 30'000U + 7);
  EXPECT_TRUE(Ok(Read(*archive, "dup~30000.mem8")));
  const std::vector<ArchiveMember> containers(
      5000, ArchiveMember{"dup", Small().Build()});
  const Result<ContainerPtr> nested = Open(BuildArchive(containers));
  EXPECT_EQ(ContainerTree(*nested).sub_containers().size(), 5000U);
}

TEST(Mem8Archive, AMissingTableIsRefusedAtOnce) {
  std::string bytes = BuildArchive({{"x", "y"}});
  bytes[6] = '\xFF';
  bytes[7] = '\xFF';
  EXPECT_TRUE(Fails(Open(bytes), Code::kCorrupt, 32));
  bytes = BuildArchive({{"x", "y"}});
  bytes[32] = '\xFF';  // a path of 255 bytes
  EXPECT_TRUE(Fails(Open(bytes), Code::kCorrupt, 32));
  EXPECT_TRUE(Fails(Open(bytes.substr(0, 31)), Code::kCorrupt, 31));
  EXPECT_TRUE(Ok(Open(BuildArchive({}))));
}

TEST(Mem8Archive, TablesLongerThanTheFirstLookAreReadWhole) {
  std::vector<ArchiveMember> members;
  for (int i = 0; i < 400; ++i) {
    members.push_back({std::string(250, 'd') + "/" + std::string(250, 'e') +
                           std::to_string(i),
                       "text"});
  }
  const Result<ContainerPtr> archive = Open(BuildArchive(members));
  ASSERT_TRUE(Ok(archive));
  EXPECT_EQ(EntryCount(**archive), 400U);
  EXPECT_EQ(EntryName(**archive, 399), members[399].path);
}

}  // namespace
}  // namespace ctxfs::mem8
