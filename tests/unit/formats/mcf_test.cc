// SPDX-License-Identifier: Apache-2.0
//
// What golden/mcf has no file for: limits, salvage, and odd ModelInfo.
#include "core/formats/mcf/mcf.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/limits.h"
#include "core/base/sanitized.h"
#include "core/formats/mcf/limits.h"
#include "core/io/source.h"
#include "core/tree/container_tree.h"
#include "core/views/list/views.h"
#include "core/views/view.h"
#include "tests/unit/testing/faulty_source.h"
#include "tests/unit/testing/files.h"

namespace ctxfs::mcf {
namespace {

void Put(std::string& bytes, uint64_t value, size_t size) {
  for (size_t i = 0; i < size; ++i) {
    bytes += static_cast<char>(value >> (8 * i) & 0xFFU);
  }
}

struct Section {
  uint32_t type;
  std::string payload;
};

/// A container of these sections, one after the other, the directory last.
std::string Mcf(const std::vector<Section>& sections) {
  std::string body;
  std::string directory;
  for (const Section& section : sections) {
    Put(directory, section.type, 4);
    Put(directory, 1, 4);
    Put(directory, 40 + body.size(), 8);
    Put(directory, section.payload.size(), 8);
    body += section.payload;
    body.resize((body.size() + 7) / 8 * 8);
  }
  std::string bytes("MCF\0\1\0\1\0", 8);
  Put(bytes, 40, 4);
  Put(bytes, sections.size(), 4);
  Put(bytes, 40 + body.size(), 8);
  Put(bytes, 40 + body.size() + directory.size(), 8);
  Put(bytes, 0, 8);
  return bytes + body + directory;
}

struct Tensor {
  uint32_t name_length = 1;
  uint32_t dtype = 6;  // u8
  uint32_t rank = 0;
  uint64_t size = 1;
};

/// A TensorIndex whose tensors share their names and dims.
Section Index(const std::vector<Tensor>& tensors, uint32_t dims,
              uint32_t names) {
  std::string bytes;
  Put(bytes, 1, 4);
  Put(bytes, 3, 4);
  Put(bytes, tensors.size(), 4);
  Put(bytes, dims, 4);
  const uint64_t dims_at = 48 + 40 * tensors.size();
  Put(bytes, 48, 8);
  Put(bytes, dims_at, 8);
  Put(bytes, dims_at + 8 * dims, 8);
  Put(bytes, names, 8);
  for (const Tensor& tensor : tensors) {
    Put(bytes, 0, 4);
    Put(bytes, tensor.name_length, 4);
    Put(bytes, tensor.dtype, 4);
    Put(bytes, tensor.rank, 4);
    Put(bytes, 0, 8);
    Put(bytes, 0, 8);  // data: the header's bytes
    Put(bytes, tensor.size, 8);
  }
  for (uint32_t i = 0; i < dims; ++i) Put(bytes, 1, 8);
  return {kMcfTensorIndex, bytes + std::string(names, 'n')};
}

std::shared_ptr<const Container> Open(std::string bytes, bool salvage = false) {
  OpenOptions options;
  options.salvage = salvage;
  auto container = OpenContainer(
      std::make_shared<const MemorySource>(std::move(bytes)), options);
  EXPECT_TRUE(container) << (container ? "" : container.error().Text());
  return container ? *container : nullptr;
}

bool Warns(const Container& container, const std::string& text) {
  return container.Info(LoneContext())["warnings"].dump().find(text) !=
         std::string::npos;
}

TEST(Mcf, TensorsOfEveryRankAreArrays) {
  const auto container = Open(Mcf({Index({{1, 6, 0, 1}, {1, 6, 3, 1}}, 3, 1)}));
  ASSERT_EQ(EntryCount(*container), 2U);
  EXPECT_EQ(ArraysOf(*container).size(), 2U);
  EXPECT_EQ(DescribeEntry(*container, 0).shape, std::vector<uint64_t>{});
  EXPECT_EQ(DescribeEntry(*container, 1).shape,
            (std::vector<uint64_t>{1, 1, 1}));
}

TEST(Mcf, SharedNamesCannotComeToMoreThanTheLimit) {
  const Tensor large{1 << 20, 6, 0, 1};
  const size_t most = limits::kNameBytes >> 20;
  const auto within = Open(Mcf({Index(std::vector(most, large), 0, 1 << 20)}));
  EXPECT_EQ(EntryCount(*within), most);
  const auto beyond =
      Open(Mcf({Index(std::vector(most + 1, large), 0, 1 << 20)}));
  EXPECT_EQ(EntryCount(*beyond), 0U);
  EXPECT_TRUE(Warns(*beyond, "no tensors"));
}

TEST(Mcf, SharedDimsCannotComeToMoreThanTheLimit) {
  constexpr uint32_t kRank = 500'000;
  const Tensor deep{1, 6, kRank, 1};
  const size_t most = kMaxDims / kRank;
  EXPECT_EQ(EntryCount(*Open(Mcf({Index(std::vector(most, deep), kRank, 1)}))),
            most);
  const auto beyond = Open(Mcf({Index(std::vector(most + 1, deep), kRank, 1)}));
  EXPECT_EQ(EntryCount(*beyond), 0U);
  EXPECT_TRUE(Warns(*beyond, "dims"));
}

TEST(Mcf, TooManyTensorsAreNone) {
  if (CTXFS_SANITIZED != 0) GTEST_SKIP() << "takes half a minute there";
  const auto container =
      Open(Mcf({Index(std::vector<Tensor>(kMaxTensors + 1), 0, 1)}));
  EXPECT_EQ(EntryCount(*container), 0U);
  EXPECT_TRUE(Warns(*container, "tensor_count"));
}

TEST(Mcf, TooManySectionsAreRefused) {
  const std::vector<Section> sections(kMaxSections + 1, {0x200, ""});
  const auto container = OpenContainer(
      std::make_shared<const MemorySource>(Mcf(sections)), OpenOptions());
  ASSERT_FALSE(container);
  EXPECT_EQ(container.error().code, Code::kLimit);
}

TEST(Mcf, SalvageLeavesOutWhatDoesNotFit) {
  std::string bytes = Mcf({{0x100, "{}"}, {0x200, "kept"}});
  bytes[40 + 16 + 8] = 4;  // the first section's offset: within the header
  EXPECT_FALSE(OpenContainer(std::make_shared<const MemorySource>(bytes),
                             OpenOptions()));
  const auto container = Open(bytes, true);
  EXPECT_TRUE(Warns(*container, "section 0"));
  const std::vector<FoundFile> files = FilesOf(*container);
  ASSERT_EQ(files.size(), 1U);
  EXPECT_EQ(files[0].path, ".ctxfs/raw/sections/0x0200.bin");
}

TEST(Mcf, DocumentsOfAChangedFileAreStale) {
  const auto source = std::make_shared<FaultySource>(Mcf({Index({{}}, 0, 1)}));
  const auto container = OpenContainer(source, OpenOptions());
  ASSERT_TRUE(container);
  const auto file = FindFile(**container, "tensors.json");
  ASSERT_TRUE(file);
  BlockCache cache(1 << 20);
  const Result<Content> content = file->Open(cache);
  ASSERT_TRUE(content);
  EXPECT_TRUE(ReadAll(*content, cache));
  source->GoStaleAfter(0);
  const Result<std::string> again = ReadAll(*content, cache);
  ASSERT_FALSE(again) << "kept bytes outlive the file that they were made from";
  EXPECT_EQ(again.error().code, Code::kStale);
}

/// The paths of all files in views/.
std::vector<std::string> ViewPaths(
    const std::shared_ptr<const Container>& container) {
  const ContainerTree views(
      *ViewsDirectory(container, AllViews()).open(LoneContext()));
  std::vector<std::string> paths;
  for (NodeId node = 0; node < views.tree().node_count(); ++node) {
    if (!views.tree().IsDirectory(node)) {
      paths.push_back(views.tree().Path(node));
    }
  }
  return paths;
}

bool Has(const std::vector<std::string>& paths, std::string_view path) {
  return std::find(paths.begin(), paths.end(), path) != paths.end();
}

TEST(Mcf, TensorsWithoutValuesAreNotPartOfAModel) {
  constexpr uint32_t kInt8 = 0x10;
  const Section config{0x100, "{}"};
  const Tensor plain{1, 6, 0, 1};
  const auto whole = Open(Mcf({Index({plain}, 0, 2), config}));
  EXPECT_TRUE(Has(ViewPaths(whole), "hf/model.safetensors"));
  EXPECT_FALSE(Warns(*whole, "have no values"));

  // Codes whose scale is lost; an unknown type; a wrong size; bytes past the
  // end of the file.
  const Tensor missing[] = {{2, kInt8, 0, 1},
                            {2, kMcfInt4, 0, 1},
                            {2, 0x77, 0, 1},
                            {2, 6, 0, 2},
                            {2, 6, 0, 1 << 20}};
  for (const Tensor& tensor : missing) {
    const auto model = Open(Mcf({Index({plain, tensor}, 0, 2), config}));
    const std::vector<std::string> paths = ViewPaths(model);
    EXPECT_FALSE(Has(paths, "hf/model.safetensors")) << tensor.dtype;
    EXPECT_FALSE(Has(paths, "hf/config.json"));
    EXPECT_FALSE(Has(paths, "model.safetensors"));
    EXPECT_TRUE(Has(paths, "model.safetensors.incomplete.txt"));
    EXPECT_TRUE(Has(paths, "hf.incomplete.txt"));
    EXPECT_TRUE(Warns(*model, "1 of 2 tensors have no values"));
    EXPECT_TRUE(Warns(*model, "tensor 1 'nn'"));
  }
}

TEST(Mcf, Item43_1_CodesWithoutTheirScaleWithholdModelSafetensors) {
  const auto model = Open(Mcf({Index({{1, 6, 0, 1}, {2, 0x10, 0, 1}}, 0, 2)}));
  const ContainerTree views(
      *ViewsDirectory(model, AllViews()).open(LoneContext()));
  EXPECT_TRUE(Has(ViewPaths(model), "npy/nn.npy")) << "as integers";
  EXPECT_FALSE(views.tree().Lookup(NameTree::kRoot, "model.safetensors"));
  const auto node =
      views.tree().Lookup(NameTree::kRoot, "model.safetensors.incomplete.txt");
  ASSERT_TRUE(node);
  BlockCache cache(1 << 20);
  const std::string note = *ReadAll(*views.Open(*node, cache), cache);
  EXPECT_NE(note.find("1 of 2 tensors have no values"), std::string::npos);
  EXPECT_NE(note.find("tensor 1 'nn'"), std::string::npos);
}

TEST(McfQuantInfo, ClipsThatAreNotNumbersAreText) {
  McfQuantRecord record;
  record.min_clip = -std::numeric_limits<float>::infinity();
  record.max_clip = std::numeric_limits<float>::infinity();
  EXPECT_EQ(McfQuantRecordJson(record)["min_clip"], "-Inf");
  EXPECT_EQ(McfQuantRecordJson(record)["max_clip"], "+Inf");
  record.min_clip = std::numeric_limits<float>::quiet_NaN();
  record.max_clip = 0.1F;
  EXPECT_EQ(McfQuantRecordJson(record)["min_clip"], "NaN");
  EXPECT_EQ(McfQuantRecordJson(record)["max_clip"], 0.1);
}

/// The 88 bytes of a ModelInfo with pairs at `pairs_at`.
std::string ModelInfo(uint32_t pair_count, uint64_t pairs_at,
                      uint64_t name_at = 0) {
  std::string info;
  Put(info, 1, 4);
  info.resize(56);
  Put(info, name_at, 8);
  Put(info, 0, 8);
  Put(info, pair_count, 4);
  Put(info, 0, 4);
  Put(info, pairs_at, 8);
  return info;
}

TEST(McfModelInfo, NamesThatAreNotTextAreHexToo) {
  std::string info = ModelInfo(0, 0, 88);
  Put(info, 2, 4);
  info += "\xFF!";
  const Result<Json> parsed = ParseMcfModelInfo(AsBytes(info), Request());
  ASSERT_TRUE(parsed);
  EXPECT_EQ((*parsed)["model_name_hex"], "ff21");
}

TEST(McfModelInfo, SharedTextsCannotComeToMoreThanTheLimit) {
  constexpr uint32_t kText = 1 << 20;
  constexpr uint32_t kPairs = 32;
  std::string info = ModelInfo(kPairs, 88);
  const uint64_t text_at = 88 + 24 * kPairs;
  for (uint32_t i = 0; i < kPairs; ++i) {
    Put(info, text_at, 8);
    Put(info, 3, 8);
    Put(info, text_at, 8);
  }
  Put(info, kText, 4);
  info += std::string(kText, 't');
  const Result<Json> parsed = ParseMcfModelInfo(AsBytes(info), Request());
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().code, Code::kLimit);
}

TEST(McfModelInfo, OffsetsAnywhereAreErrors) {
  for (const uint64_t offset :
       {uint64_t{85}, uint64_t{1} << 40, UINT64_MAX, UINT64_MAX - 4}) {
    const std::string name = ModelInfo(0, 0, offset);
    EXPECT_FALSE(ParseMcfModelInfo(AsBytes(name), Request())) << offset;
    const std::string pairs = ModelInfo(1, offset);
    EXPECT_FALSE(ParseMcfModelInfo(AsBytes(pairs), Request())) << offset;
  }
  EXPECT_FALSE(ParseMcfModelInfo(AsBytes("{}"), Request()));
  EXPECT_FALSE(ParseMcfQuantInfo(AsBytes("")));
}

}  // namespace
}  // namespace ctxfs::mcf
