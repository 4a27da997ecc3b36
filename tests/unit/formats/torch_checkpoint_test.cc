// SPDX-License-Identifier: Apache-2.0
//
// Opening a checkpoint that is damaged or hostile; sound ones are in
// golden/torch.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "core/base/limits.h"
#include "core/container/format.h"
#include "core/formats/torch/limits.h"
#include "tests/unit/testing/faulty_source.h"
#include "tests/unit/testing/files.h"
#include "tests/unit/testing/heap.h"
#include "tests/unit/testing/pickle_builder.h"
#include "tests/unit/testing/result.h"
#include "tests/unit/testing/zip_builder.h"

namespace ctxfs::torch {
namespace {

std::string Checkpoint(const std::string& pickle, const std::string& storage) {
  return BuildZip({{"top/data.pkl", pickle},
                   {"top/data/0", storage},
                   {"top/version", "3\n"}});
}

std::string TensorPickle(const std::string& elements, const std::string& rest) {
  return "ctorch._utils\n_rebuild_tensor_v2\n((" + Text("storage") +
         "ctorch\nFloatStorage\n" + Text("0") + Text("cpu") + elements + "tQ" +
         rest +
         "\x89"
         "NtR.";
}

TEST(Checkpoint, LongStorageKeysOfTheLegacyFormAreNoBomb) {
  const std::string head =
      std::string("\x80\x02\x8A\x0A\x6C\xFC\x9C\x46\xF9", 9) +
      std::string("\x20\x6A\xA8\x50\x19.", 6) +
      std::string("\x80\x02M\xE9\x03.", 6) + "\x80\x02}." + "\x80\x02}.";
  std::string keys = "](" + Text(std::string(1 << 20, 'k')) + "q\x01";
  for (int i = 0; i < 1'000'000; ++i) keys += "h\x01";
  const auto checkpoint = OpenContainer(
      std::make_shared<MemorySource>(head + "\x80\x02" + keys + "e."), {});
  ASSERT_TRUE(Ok(checkpoint));
  EXPECT_NE((*checkpoint)
                ->Info(LoneContext())["warnings"]
                .dump()
                .find("a storage key is too long"),
            std::string::npos);
}

/// A checkpoint of one tensor of 3 elements over 12 bytes, whose type is
/// `global`.
std::shared_ptr<const Container> OfType(const std::string& global) {
  const std::string pickle =
      "ctorch._utils\n_rebuild_tensor_v3\n((" + Text("storage") +
      "ctorch.storage\nUntypedStorage\n" + Text("0") + Text("cpu") +
      "K\x0CtQK\x01K\x03\x85K\x01\x85\x89}c" + global + "\ntR.";
  const auto opened = OpenContainer(
      std::make_shared<MemorySource>(Checkpoint(pickle, "abcdefghijkl")), {});
  EXPECT_TRUE(Ok(opened));
  return *opened;
}

TEST(Checkpoint, Item41_9_AnUnknownDtypeIsBytesAndNoUnsafeGlobal) {
  for (const std::string name : {"float6_e3m2fn", "uint24", "bits32", "int9"}) {
    const auto checkpoint = OfType("torch\n" + name);
    ASSERT_EQ(checkpoint->Entries()->count(), 1U) << name;
    BlockCache cache(1 << 20);
    EXPECT_EQ(*ReadAll(*OpenEntry(*checkpoint, 0), cache), "abcdefghijkl");
    const EntryInfo info = DescribeEntry(*checkpoint, 0);
    EXPECT_EQ(info.dtype, "u8");
    EXPECT_EQ(info.shape, std::vector<uint64_t>{12});
    EXPECT_NE(info.note.find("its dtype torch." + name + " is unknown"),
              std::string::npos);
    const Json all = checkpoint->Info(LoneContext());
    EXPECT_FALSE(all["globals"].empty());
    for (const Json& global : all["globals"]) {
      EXPECT_TRUE(global["safe"]) << global;
    }
  }
  const auto known = OfType("torch\nint32");
  EXPECT_EQ(DescribeEntry(*known, 0).note,
            "it reaches past the end of its storage");
}

TEST(Checkpoint, Item41_9_WhatIsNotCalledLikeADtypeStaysUnsafe) {
  for (const char* global :
       {"torch\nsave", "torch\nconv2d", "torch\nfloaty", "torch\nint9.x",
        "os\nint9", "torch.os\nint9", "torch\nint9-"}) {
    const auto checkpoint = OfType(global);
    EXPECT_EQ(checkpoint->Entries()->count(), 0U) << global;
    bool unsafe = false;
    const Json all = checkpoint->Info(LoneContext());
    for (const Json& one : all["globals"]) {
      unsafe = unsafe || !one["safe"];
    }
    EXPECT_TRUE(unsafe) << global;
  }
}

TEST(Checkpoint, CompressedPicklesAreAsLargeAsTheirBytesJustify) {
  const auto info = [](size_t lists, uint16_t method) {
    const auto opened = OpenContainer(
        std::make_shared<MemorySource>(BuildZip(
            {{"top/data.pkl", "](" + std::string(lists, ']') + "e.", method},
             {"top/version", "3\n"}})),
        {});
    EXPECT_TRUE(Ok(opened));
    return (*opened)->Info(LoneContext())["warnings"].dump();
  };
  constexpr size_t kLists = 2 * kMaxInflated;
  EXPECT_NE(info(kLists, 8).find("compressed, and its 131076 bytes are over"),
            std::string::npos);
  EXPECT_EQ(info(kLists, 0).find("over the limit"), std::string::npos);
  EXPECT_EQ(info(kMaxInflated / 2, 8).find("over the limit"),
            std::string::npos);
}

TEST(Checkpoint, TensorsShareWhatIsEqual) {
  if (!CountsHeap()) GTEST_SKIP();
  constexpr size_t kCount = 50'000;
  const auto bytes_each = [&](const std::string& key, bool noted) {
    const auto source = std::make_shared<MemorySource>(
        Checkpoint(ManyTensors(kCount, noted, key), "four"));
    const int64_t before = HeapBytes();
    const auto opened = OpenContainer(source, {});
    EXPECT_TRUE(Ok(opened));
    EXPECT_EQ((*opened)->Info(LoneContext())["entries"], kCount);
    EXPECT_EQ(EntrySize(**opened, kCount - 1), key == "0" ? 4U : 0U);
    return (HeapBytes() - before) / static_cast<int64_t>(kCount);
  };
  // Sound ones, and ones of a storage that is not there.
  for (const std::string& key : {std::string("0"), std::string(200, 'k')}) {
    EXPECT_LT(bytes_each(key, /*noted=*/true), 160);
    EXPECT_LT(bytes_each(key, /*noted=*/false), 400);
  }
}

TEST(Checkpoint, TensorsThatDifferAreNotShared) {
  const std::string list =
      "](" + TensorPickle("K\x04", std::string("K\0K\x04\x85K\x01\x85", 8));
  std::string text = list.substr(0, list.size() - 1);
  for (const char* rest :
       {"K\x01K\x02\x85K\x01\x85", "K\x01K\x02\x85K\x02\x85"}) {
    const std::string one = TensorPickle("K\x04", rest);
    text += one.substr(0, one.size() - 1);
  }
  const auto opened = OpenContainer(std::make_shared<MemorySource>(Checkpoint(
                                        text + "e.", "aaaabbbbccccdddd")),
                                    {});
  ASSERT_TRUE(Ok(opened));
  BlockCache cache(limits::kMiB);
  const auto read = [&](uint32_t entry) {
    return *ReadAll(*OpenEntry(**opened, entry), cache);
  };
  EXPECT_EQ(read(0), "aaaabbbbccccdddd");
  EXPECT_EQ(read(1), "bbbbcccc");
  EXPECT_EQ(read(2), "bbbbdddd");
}

TEST(Checkpoint, EveryReadOfOpeningMayFail) {
  const std::string bytes =
      Checkpoint(TensorPickle("K\x04", std::string("K\0K\x04\x85K\x01\x85", 8)),
                 std::string(16, 'f'));
  for (uint64_t calls = 0;; ++calls) {
    auto source = std::make_shared<FaultySource>(bytes);
    source->FailAfter(calls);
    const auto opened = OpenContainer(source, {});
    if (opened) {
      EXPECT_EQ(EntryCount(**opened), 1U);
      EXPECT_EQ(EntrySize(**opened, 0), 16U);
      break;
    }
    ASSERT_TRUE(Fails(opened, Code::kIo)) << calls;
    ASSERT_LT(calls, 100U);
  }
}

/// What info.json says of a checkpoint.
::ctxfs::Json InfoOf(const std::string& bytes) {
  const auto opened = OpenContainer(std::make_shared<MemorySource>(bytes), {});
  EXPECT_TRUE(Ok(opened));
  return opened ? (*opened)->Info(LoneContext()) : ::ctxfs::Json();
}

TEST(Checkpoint, GlobalsOfEveryRecordThatTorchMayLoad) {
  for (const std::vector<ZipMember>& members :
       {std::vector<ZipMember>{{"top/data.pkl", "N."},
                               {"top/data.pkl", Evil() + "."}},
        std::vector<ZipMember>{{"top/data.pkl", "N."},
                               {"top/DATA.pkl", Evil() + "."}},
        std::vector<ZipMember>{{"top/data.pkl", "\xFF"},
                               {"top/constants.pkl", Evil() + "."}}}) {
    const auto info = InfoOf(BuildZip(members));
    EXPECT_EQ(info["globals"].dump(),
              R"([{"name":"posix.system","safe":false}])");
    EXPECT_EQ(info["unsafe_globals"], 1);
  }
}

TEST(Checkpoint, AnIncompleteListIsNeverSaidToBeSafe) {
  const auto info = InfoOf(Checkpoint("\x80\x02\xFF", ""));
  EXPECT_EQ(info["globals"].size(), 0U);
  EXPECT_EQ(info["unsafe_globals"], 1);
  EXPECT_EQ(info["globals_complete"], false);
  EXPECT_NE(info["warnings"].dump().find("globals_incomplete"),
            std::string::npos);
  const auto sound = InfoOf(Checkpoint("\x80\x02N.", ""));
  EXPECT_EQ(sound["unsafe_globals"], 0);
  EXPECT_EQ(sound["globals_complete"], true);
}

TEST(Checkpoint, SaysWhereItsPickleIsUnreadable) {
  const auto info = InfoOf(Checkpoint("\x80\x02K\x07h\x05.", ""));
  EXPECT_NE(info["warnings"].dump().find(
                "pickle: data.pkl: memo key 5 is not set, at byte 4 of it"),
            std::string::npos)
      << info["warnings"];
}

TEST(Checkpoint, GlobalsOfADamagedRecord) {
  std::string bytes = Checkpoint("\x80\x02" + Evil() + "K\x07.", "");
  bytes[bytes.find("K\x07") + 1] = 8;
  const auto info = InfoOf(bytes);
  EXPECT_EQ(info["unsafe_globals"], 1);
  EXPECT_EQ(info["globals"].size(), 1U);
  EXPECT_NE(info["warnings"].dump().find("pickle_crc"), std::string::npos);
}

TEST(Checkpoint, GlobalsOfAllPicklesOfTheLegacyForm) {
  const std::string magic =
      "\x80\x02\x8A\x0A\x6C\xFC\x9C\x46\xF9\x20\x6A\xA8\x50\x19.";
  const std::string protocol = "\x80\x02M\xE9\x03.";
  const auto info = InfoOf(magic + protocol + Evil() + ".\x80\x02N.\x80\x02].");
  EXPECT_EQ(info["globals"].size(), 1U);
  EXPECT_EQ(info["unsafe_globals"], 1);
}

TEST(Checkpoint, ASizeComesFromBytesThatAreThere) {
  // 2^62 elements by strides of 0 in a storage of 4 bytes.
  const std::string huge = "\x8A\x08" + Le(1ULL << 62, 8);
  const auto opened = OpenContainer(
      std::make_shared<MemorySource>(Checkpoint(
          TensorPickle("K\x01", std::string("K\0", 2) + huge + "\x85" +
                                    std::string("K\0\x85", 3)),
          "four")),
      {});
  ASSERT_TRUE(Ok(opened));
  EXPECT_EQ(EntrySize(**opened, 0), 0U);
  EXPECT_TRUE(Fails(OpenEntry(**opened, 0), Code::kCorrupt));
}

}  // namespace
}  // namespace ctxfs::torch
