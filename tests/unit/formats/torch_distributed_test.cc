// SPDX-License-Identifier: Apache-2.0
//
// Distributed checkpoints whose index names types that no golden one has;
// others are in golden/torch-distributed.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/container/format.h"
#include "core/formats/torch/limits.h"
#include "tests/unit/testing/files.h"
#include "tests/unit/testing/pickle_builder.h"
#include "tests/unit/testing/result.h"
#include "tests/unit/testing/zip_builder.h"

namespace ctxfs::torch {
namespace {

constexpr char kIndexModule[] = "torch.distributed.checkpoint.metadata";

/// .metadata and the one file beside it.
class FolderSource final : public Source {
 public:
  FolderSource(std::string index, std::string pieces)
      : index_(std::move(index)), pieces_(std::move(pieces)) {}

  uint64_t size() const override { return index_.size(); }
  Status ReadAt(uint64_t offset, MutableBytes out,
                const Request& request) const override {
    return index_.ReadAt(offset, out, request);
  }
  Result<std::shared_ptr<const Source>> OpenSibling(
      const std::string& path, const Request& /*request*/) const override {
    if (path != "pieces") return Error{Code::kNotFound, "not there"};
    return std::shared_ptr<const Source>(
        std::make_shared<MemorySource>(pieces_));
  }

 private:
  MemorySource index_;
  std::string pieces_;
};

std::string Integer(uint64_t value) { return "J" + Le(value, 4); }

std::string Numbers(const std::vector<uint64_t>& numbers) {
  std::string text = "(";
  for (const uint64_t number : numbers) text += Integer(number);
  return text + "t";
}

/// A dataclass: a call without arguments, and its fields.
std::string Instance(const std::string& module, const std::string& name,
                     const std::string& fields) {
  return "c" + module + "\n" + name + "\n)\x81}(" + fields + "ub";
}

std::string TypeCalled(const std::string& global) {
  return "c" + global + "\n";
}

/// What torch.save writes of a tensor: `type` is its dtype's opcodes.
std::string Saved(const std::string& type, uint64_t elements,
                  const std::string& bytes) {
  return BuildZip(
      {{"top/data.pkl",
        "ctorch._utils\n_rebuild_tensor_v3\n((" + Text("storage") +
            "ctorch.storage\nUntypedStorage\n" + Text("0") + Text("cpu") +
            Integer(bytes.size()) + "tQ" + Integer(0) + Numbers({elements}) +
            Numbers({1}) + "\x89}" + type + "tR."},
       {"top/data/0", bytes},
       {"top/version", "3\n"}});
}

/// Makes a checkpoint of tensors of one dimension.
class Folder {
 public:
  /// Adds a tensor. `size` and `type` are its size and its dtype's opcodes;
  /// `chunks` are the elements and the piece of each.
  void Add(const std::string& name, const std::string& size,
           const std::string& type,
           const std::vector<std::pair<uint64_t, std::string>>& chunks) {
    std::string list = "](";
    uint64_t at = 0;
    for (const auto& [elements, piece] : chunks) {
      list += Instance(kIndexModule, "ChunkStorageMetadata",
                       Text("offsets") + Numbers({at}) + Text("sizes") +
                           Numbers({elements}));
      storage_ +=
          Instance(kIndexModule, "MetadataIndex",
                   Text("fqn") + Text(name) + Text("offset") + Numbers({at})) +
          Instance("torch.distributed.checkpoint.filesystem", "_StorageInfo",
                   Text("relative_path") + Text("pieces") + Text("offset") +
                       Integer(pieces_.size()) + Text("length") +
                       Integer(piece.size()));
      pieces_ += piece;
      at += elements;
    }
    values_ += Text(name) +
               Instance(kIndexModule, "TensorStorageMetadata",
                        Text("properties") +
                            Instance(kIndexModule, "TensorProperties",
                                     Text("dtype") + type) +
                            Text("size") + size + Text("chunks") + list + "e");
  }

  std::shared_ptr<const Container> Open() const {
    const std::string index =
        "\x80\x02" +
        Instance(kIndexModule, "Metadata",
                 Text("state_dict_metadata") + "}(" + values_ + "u" +
                     Text("planner_data") + "N" + Text("storage_data") + "}(" +
                     storage_ + "u") +
        ".";
    const auto opened =
        OpenContainer(std::make_shared<FolderSource>(index, pieces_), {});
    EXPECT_TRUE(Ok(opened));
    return opened ? *opened : nullptr;
  }

 private:
  std::string values_;
  std::string storage_;
  std::string pieces_;
};

std::string WarningsOf(const Container& container) {
  return container.Info(LoneContext())["warnings"].dump();
}

class DistributedTypes : public testing::Test {
 protected:
  DistributedTypes() {
    folder_.Add("sound", Numbers({2}), kFloat,
                {{2, Saved(kFloat, 2, "12345678")}});
  }

  /// Whether the tensor beside all others is as it was stored.
  void ExpectSound(const Container& checkpoint) {
    EXPECT_EQ(*ReadAll(*OpenEntry(checkpoint, 0), cache_), "12345678");
    EXPECT_EQ(DescribeEntry(checkpoint, 0).dtype, "f32");
  }

  const std::string kFloat = TypeCalled("torch\nfloat32");
  const std::string kUnknown = TypeCalled("torch\nfloat6_e3m2fn");
  Folder folder_;
  BlockCache cache_{1 << 20};
};

TEST_F(DistributedTypes, Item41_9_OneChunkOfAnUnknownDtypeIsBytes) {
  folder_.Add("new", Numbers({8}), kUnknown,
              {{8, Saved(kUnknown, 8, "abcdef")}});
  folder_.Add("other", Numbers({2}), kUnknown,
              {{2, Saved(kFloat, 2, "ABCDEFGH")}});
  folder_.Add("empty", Numbers({0}), kUnknown, {});
  const auto checkpoint = folder_.Open();
  ASSERT_NE(checkpoint, nullptr);
  ASSERT_EQ(EntryCount(*checkpoint), 4U);
  ExpectSound(*checkpoint);
  const std::vector<std::string> bytes = {"", "abcdef", "ABCDEFGH", ""};
  for (uint32_t entry = 1; entry < 4; ++entry) {
    EXPECT_EQ(*ReadAll(*OpenEntry(*checkpoint, entry), cache_), bytes[entry]);
    EXPECT_EQ(EntrySize(*checkpoint, entry), bytes[entry].size());
    const EntryInfo info = DescribeEntry(*checkpoint, entry);
    EXPECT_EQ(info.dtype, "u8");
    EXPECT_EQ(info.shape, std::vector<uint64_t>{bytes[entry].size()});
    EXPECT_EQ(info.note,
              "the bytes of its piece: its dtype torch.float6_e3m2fn is "
              "unknown");
  }
  EXPECT_EQ(WarningsOf(*checkpoint), "[]");
  const Json info = checkpoint->Info(LoneContext());
  ASSERT_FALSE(info["globals"].empty());
  for (const Json& global : info["globals"]) {
    EXPECT_TRUE(global["safe"]) << global;
  }
}

TEST_F(DistributedTypes, Item41_9_ChunksOfAnUnknownDtypeAreNamed) {
  folder_.Add(
      "two", Numbers({16}), kUnknown,
      {{8, Saved(kUnknown, 8, "abcdef")}, {8, Saved(kUnknown, 8, "ghijkl")}});
  const auto checkpoint = folder_.Open();
  ASSERT_NE(checkpoint, nullptr);
  ASSERT_EQ(EntryCount(*checkpoint), 2U);
  ExpectSound(*checkpoint);
  EXPECT_TRUE(Fails(OpenEntry(*checkpoint, 1), Code::kUnsupported));
  EXPECT_EQ(EntryFault(*checkpoint, 1)->what,
            "tensor 'two': its 2 chunks cannot be joined: its dtype "
            "torch.float6_e3m2fn is unknown");
  EXPECT_EQ(DescribeEntry(*checkpoint, 1).dtype, "");
  EXPECT_NE(WarningsOf(*checkpoint).find("unknown_dtype: tensors"),
            std::string::npos);
}

TEST_F(DistributedTypes, Item41_9_DamageIsDamageWhateverTheDtype) {
  const std::string piece = Saved(kUnknown, 8, "abcdef");
  folder_.Add("part", Numbers({9}), kUnknown, {{8, piece}});
  folder_.Add("cut", Numbers({8}), kUnknown,
              {{8, piece.substr(0, piece.size() - 1)}});
  folder_.Add("untyped", Numbers({8}), "N", {{8, piece}});
  folder_.Add("called", Numbers({8}), TypeCalled("os\nsystem"), {{8, piece}});
  folder_.Add("unsized", "N", kFloat, {{8, piece}});
  const auto checkpoint = folder_.Open();
  ASSERT_NE(checkpoint, nullptr);
  ASSERT_EQ(EntryCount(*checkpoint), 6U);
  ExpectSound(*checkpoint);
  for (uint32_t entry = 1; entry < 6; ++entry) {
    EXPECT_TRUE(Fails(OpenEntry(*checkpoint, entry), Code::kCorrupt)) << entry;
    EXPECT_EQ(EntrySize(*checkpoint, entry), 0U) << entry;
  }
  EXPECT_EQ(EntryFault(*checkpoint, 3)->what,
            "tensor 'untyped': it has no dtype");
  EXPECT_EQ(EntryFault(*checkpoint, 5)->what,
            "tensor 'unsized': it has no size");
}

TEST_F(DistributedTypes, Item41_9_OnlySoManyPiecesAreOpenedForTheirSizes) {
  const std::string piece = Saved(kUnknown, 1, "a");
  for (uint32_t i = 0; i <= kMaxMeasured; ++i) {
    folder_.Add(std::to_string(i), Numbers({1}), kUnknown, {{1, piece}});
  }
  const auto checkpoint = folder_.Open();
  ASSERT_NE(checkpoint, nullptr);
  ExpectSound(*checkpoint);
  EXPECT_EQ(*ReadAll(*OpenEntry(*checkpoint, kMaxMeasured), cache_), "a");
  EXPECT_TRUE(
      Fails(OpenEntry(*checkpoint, kMaxMeasured + 1), Code::kUnsupported));
}

}  // namespace
}  // namespace ctxfs::torch
