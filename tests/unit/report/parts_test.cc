// SPDX-License-Identifier: Apache-2.0
//
// The parts of a report: rows, layers, lanes, pictures, tables, tokenizers.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "core/report/entry_rows.h"
#include "core/report/script_json.h"
#include "core/report/sections/contact_sheet.h"
#include "core/report/sections/lane_plot.h"
#include "core/report/sections/layer_sizes.h"
#include "core/report/sections/sample_sheet.h"
#include "core/report/sections/table_preview.h"
#include "core/report/sections/tokenizer_summary.h"
#include "core/views/pictures/picture_of.h"
#include "tests/unit/testing/fake_arrays.h"
#include "tests/unit/testing/result.h"

namespace ctxfs {
namespace {

using namespace std::string_literals;

std::string FloatBytes(const std::vector<float>& values) {
  std::string bytes(values.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

TEST(ScriptJsonTest, NothingLeavesAScript) {
  const std::string hostile =
      "</script><!--<script>&amp;\"'\\\x01\x1f\x7f\xff\xe2\x80\xa8\xf0\x9f\x98"
      "\x80 \xed\xa0\x80"s;
  const std::string text = ScriptJson(hostile);
  for (const char c : text) {
    EXPECT_TRUE(c >= ' ' && c < '\x7f') << int{c};
    EXPECT_TRUE(c != '<' && c != '>' && c != '&') << text;
  }
  // It is the same text, but for what is not UTF-8.
  EXPECT_EQ(Json::parse(text).get<std::string>().substr(0, 30),
            hostile.substr(0, 30));
  EXPECT_NE(text.find("\\u003c/script\\u003e"), std::string::npos);
  EXPECT_NE(text.find("\\ufffd"), std::string::npos);
  EXPECT_NE(text.find("\\u2028"), std::string::npos);
}

TEST(ScriptJsonTest, TextIsCutBetweenCharacters) {
  EXPECT_EQ(CutText("abc", 3), "abc");
  EXPECT_EQ(CutText("abcd", 3), "abc\u2026");
  EXPECT_EQ(CutText("a\u00e9\u00e9", 2), "a\u2026");
  EXPECT_EQ(CutText("\x80\x80\x80\x80\x80\x80", 5), "\x80\x80\u2026");
  EXPECT_EQ(CutText("abc", 0), "\u2026");
}

TEST(ScriptJsonTest, NumbersAreShort) {
  EXPECT_EQ(Rounded(1.0 / 3).dump(), "0.333333");
  EXPECT_EQ(Rounded(1.0 / 3, 4).dump(), "0.3333");
  EXPECT_EQ(Rounded(-123456789.0).dump(), "-123457000.0");
  EXPECT_TRUE(Rounded(NAN).is_null());
  EXPECT_EQ(ScriptJson(INFINITY), "null");
}

std::string TypeOf(const std::string& file) {
  const Result<const char*> type = PictureType(AsBytes(file));
  return type ? *type : type.error().what;
}

TEST(SampleSheetTest, Item32_6_PicturesThatABrowserMayDecode) {
  const auto png = [](const std::string& width, const std::string& height) {
    return "\x89PNG\r\n\x1A\n\0\0\0\x0DIHDR"s + width + height;
  };
  EXPECT_EQ(TypeOf(png("\0\0\x10\0"s, "\0\0\0\1"s)), "image/png");
  EXPECT_EQ(TypeOf(png("\0\0\x10\1"s, "\0\0\0\1"s)),
            "a picture of more than 4096 pixels a side");
  EXPECT_EQ(TypeOf(png("\0\0\0\1"s, "\x80\0\0\0"s)),
            "a picture of more than 4096 pixels a side");
  EXPECT_EQ(TypeOf(png("\0\0\0\0"s, "\0\0\0\1"s)), "a picture of unknown size");
  EXPECT_EQ(TypeOf(png("\0\0\0\1"s, "\0\0\0"s)), "a picture of unknown size");
  // A segment, a fill byte, a table that is no frame, and a frame 258 high and
  // 16 wide.
  const std::string jpeg =
      "\xFF\xD8\xFF\xE0\0\4ab\xFF\xFF\xC4\0\3c\xFF\xC2\0\x0B\x08\1\2\0\x10"s;
  EXPECT_EQ(TypeOf(jpeg), "image/jpeg");
  for (size_t size = 3; size < jpeg.size(); ++size) {
    EXPECT_EQ(TypeOf(jpeg.substr(0, size)), "a picture of unknown size");
  }
  std::string wide = jpeg;
  wide[wide.size() - 2] = '\x20';
  EXPECT_EQ(TypeOf(wide), "a picture of more than 4096 pixels a side");
  for (const char* other : {"", "GIF89a", "<svg/>", "\xFF\xD8", "\x89PNG"}) {
    EXPECT_EQ(TypeOf(other), "neither JPEG nor PNG") << other;
  }
}

TEST(ScriptJsonTest, Item32_6_ATextOfAPageIsAsciiWithoutMarkup) {
  EXPECT_EQ(HtmlText("a.gguf"), "a.gguf");
  EXPECT_EQ(HtmlText("<b>&\"'"), "&#60;b&#62;&#38;&#34;&#39;");
  EXPECT_EQ(HtmlText("\u00e9\u2603\U0001f600"), "&#233;&#9731;&#128512;");
  EXPECT_EQ(HtmlText("a\nb\u202e\xff"), "a\\x0ab\\xe2\\x80\\xae\\xff");
}

EntryInfo Entry(const std::string& name, uint64_t size) {
  EntryInfo info;
  info.name = name;
  info.kind = "tensor";
  info.size = size;
  info.stored_size = size / 2;
  info.codec = "zstd";
  info.dtype = "f32";
  info.shape = std::vector<uint64_t>{size / 4, 1};
  return info;
}

TEST(EntryRowsTest, ARowHasTheColumns) {
  EntryRows rows(10, 1000);
  rows.Add(Entry("a<b", 8));
  EntryInfo bare;
  bare.offset = kNoOffset;
  rows.Add(bare);
  const Json text = Json::parse(rows.Text());
  EXPECT_EQ(text["words"],
            Json::parse(R"(["tensor", "zstd", "f32", "", "none"])"));
  EXPECT_EQ(text["rows"], Json::parse(R"([
      ["a<b", 0, 1, 2, "[2,1]", "", 2, 8, 4, 0, ""],
      [null, 3, 4, 3, "", "", null, 0, 0, null, ""]])"));
}

TEST(EntryRowsTest, RowsAndBytesAreBounded) {
  EntryRows few(3, UINT64_MAX);
  EntryRows small(UINT64_MAX, 10'000);
  for (int i = 0; i < 100; ++i) {
    few.Add(Entry("name", 4));
    small.Add(Entry(std::string(100'000, 'n'), 4));
  }
  EXPECT_EQ(few.rows(), 3U);
  EXPECT_EQ(small.rows(), 10U) << "a name is cut after 1000 bytes";
  EXPECT_LT(small.bytes(), 12'000U);
}

TEST(EntryRowsTest, WordsAreBounded) {
  EntryRows rows(10'000, UINT64_MAX);
  for (int i = 0; i < 5000; ++i) {
    EntryInfo info;
    info.codec = "method " + std::to_string(i);
    rows.Add(info);
  }
  const Json words = Json::parse(rows.Text())["words"];
  EXPECT_EQ(words.size(), 1001U);
  EXPECT_EQ(words.back(), "(other)");
}

TEST(LayerSizesTest, LayersArePartsOfNames) {
  const std::pair<const char*, const char*> kLayers[] = {
      {"model.layers.3.mlp.weight", "model.layers.3"},
      {"layers/11/weight", "layers/11"},
      {"blk.0.attn_q.weight", "blk.0"},
      {"model.embed_tokens.weight", "model.embed_tokens"},
      {"signal/rgb", "signal"},
      {"frames/000001", "frames"},
      {"0.weight", "0"},
      {"reward", "reward"},
      {"/x", "/x"},
      {"", ""},
  };
  for (const auto& [name, layer] : kLayers) {
    EXPECT_EQ(LayerOf(name), layer) << name;
  }
}

TEST(LayerSizesTest, Item43_6_ModulesAreTheSameInAllLayers) {
  const std::pair<const char*, const char*> kModules[] = {
      {"model.layers.3.mlp.weight", "model.layers.*.mlp"},
      {"model.layers.12.experts.7.up.weight", "model.layers.*.experts.*.up"},
      {"layers/11/weight", "layers/*"},
      {"blk.0.attn_q.weight", "blk.*.attn_q"},
      {"lm_head.weight", "lm_head"},
      {"0.weight", "*"},
      {"reward", "reward"},
      {"/x", "/x"},
      {"a..b", "a."},
      {"", ""},
  };
  for (const auto& [name, module] : kModules) {
    EXPECT_EQ(ModuleOf(name), module) << name;
  }
  EXPECT_LE(ModuleOf(std::string(1'000'000, '.')).size(), 200U);
}

TEST(LayerSizesTest, Item43_6_GroupsAreBounded) {
  SizeGroups groups;
  for (int i = 0; i < 20'000; ++i) {
    groups.Add(std::to_string(i) + std::string(500, 'x'), 1, UINT64_MAX);
  }
  const std::vector<SizeGroup> largest = groups.Largest(10);
  ASSERT_EQ(largest.size(), 11U);
  EXPECT_EQ(largest.front().name.size(), 200U);
  EXPECT_EQ(largest.back().name, "(other)");
  EXPECT_EQ(largest.back().entries, 19'990U);
  EXPECT_EQ(largest.back().bytes, 19'990U);
  EXPECT_EQ(largest.back().elements, UINT64_MAX);
}

TEST(LayerSizesTest, TheLargestAreInTheirOrder) {
  LayerSizes layers;
  layers.Add("a.0.x", 10);
  layers.Add("b.0.x", 1);
  layers.Add("c.0.x", 30);
  layers.Add("a.0.y", 10);
  layers.Add("d.0.x", UINT64_MAX);
  EXPECT_EQ(layers.Largest(2),
            Json::parse(R"-([["c.0", 30, 1], ["d.0", 18446744073709551615, 1],
                            ["(other)", 21, 3]])-"));
  EXPECT_EQ(layers.Largest(9).size(), 4U);
}

Json PlotOf(const ArrayInfo& array, const ArrayInfo* seconds = nullptr) {
  BlockCache cache(0);
  const Result<Json> plot = LanePlot(array, seconds, cache);
  EXPECT_TRUE(Ok(plot));
  return plot ? *plot : Json();
}

TEST(LanePlotTest, AShortLaneHasAllItsSteps) {
  const Json plot = PlotOf(
      Array("s", DType::kF32, {3, 2}, FloatBytes({1, 10, 2, NAN, 3, 30})));
  EXPECT_EQ(plot["steps"], 3);
  EXPECT_EQ(plot["lines"],
            Json::parse(R"([{"y": [1, 2, 3]}, {"y": [10, null, 30]}])"));
}

TEST(LanePlotTest, ALongLaneKeepsItsPeaks) {
  std::vector<float> values(100'000, 1);
  values[12'345] = -7;
  values[77'777] = 99;
  const Json plot =
      PlotOf(Array("s", DType::kF32, {values.size()}, FloatBytes(values)));
  const Json& line = plot["lines"][0];
  ASSERT_EQ(line["x"].size(), line["y"].size());
  EXPECT_LE(line["x"].size(), 1000U);
  bool low = false;
  bool high = false;
  for (size_t i = 0; i < line["x"].size(); ++i) {
    low |= line["x"][i] == 12'345 && line["y"][i] == -7;
    high |= line["x"][i] == 77'777 && line["y"][i] == 99;
    EXPECT_TRUE(i == 0 || line["x"][i - 1] < line["x"][i]);
  }
  EXPECT_TRUE(low && high);
}

TEST(LanePlotTest, ALongLaneHasTheEndsAndTheGapsOfEachChannel) {
  std::vector<float> values;
  for (int step = 0; step < 2'500; ++step) {
    values.push_back(static_cast<float>(step));
    values.push_back(step >= 1'020 && step < 1'030 ? NAN : 0);
  }
  const Json plot =
      PlotOf(Array("s", DType::kF32, {2'500, 2}, FloatBytes(values)));
  Json ramp = Json::array();
  Json first_of_span = Json::array();
  Json zeros = Json::array();
  for (int step = 0; step < 2'500; step += 5) {
    ramp.push_back(step);
    ramp.push_back(step + 4);
    first_of_span.push_back(step);
    const bool gap = step == 1'020 || step == 1'025;
    zeros.push_back(gap ? Json() : Json(0));
  }
  EXPECT_EQ(plot["lines"][0]["x"], ramp);
  EXPECT_EQ(plot["lines"][0]["y"], ramp);
  EXPECT_EQ(plot["lines"][1]["x"], first_of_span);
  EXPECT_EQ(plot["lines"][1]["y"], zeros);
}

TEST(LanePlotTest, Item43_9_ALaneIsDrawnOverSeconds) {
  const ArrayInfo lane =
      Array("s", DType::kF32, {3, 2}, FloatBytes({1, 10, 2, 20, 3, 30}));
  const ArrayInfo seconds =
      Array("time", DType::kF32, {3}, FloatBytes({0, 0.25, 2}));
  const Json plot = PlotOf(lane, &seconds);
  EXPECT_EQ(plot["x"], Json::parse("[0.0, 0.25, 2.0]"));
  EXPECT_EQ(plot["end"], 2.0);
  EXPECT_EQ(plot["lines"],
            Json::parse(R"([{"y": [1, 2, 3]}, {"y": [10, 20, 30]}])"));
  EXPECT_FALSE(PlotOf(lane).contains("x"));
  EXPECT_FALSE(PlotOf(lane).contains("end"));
  const ArrayInfo never =
      Array("time", DType::kF32, {3}, FloatBytes({0, NAN, 2}));
  BlockCache cache(0);
  EXPECT_FALSE(LanePlot(lane, &never, cache));
}

TEST(LanePlotTest, Item43_9_ALongLaneHasThePeaksInSeconds) {
  std::vector<float> values;
  std::vector<float> times;
  for (int step = 0; step < 2'500; ++step) {
    values.push_back(static_cast<float>(step));
    times.push_back(static_cast<float>(step) / 2);
  }
  const ArrayInfo seconds =
      Array("time", DType::kF32, {2'500}, FloatBytes(times));
  const Json plot =
      PlotOf(Array("s", DType::kF32, {2'500}, FloatBytes(values)), &seconds);
  EXPECT_FALSE(plot.contains("x"));
  EXPECT_EQ(plot["end"], 1'249.5);
  ASSERT_EQ(plot["lines"][0]["x"].size(), 1'000U);
  EXPECT_EQ(plot["lines"][0]["x"][1], 2.0);
  EXPECT_EQ(plot["lines"][0]["y"][1], 4);
  EXPECT_EQ(plot["lines"][0]["x"][999], 1'249.5);
}

TEST(LanePlotTest, ManyChannelsAreEightLines) {
  const ArrayInfo array =
      Array("s", DType::kU8, {2, 64}, std::string(128, 'a'));
  EXPECT_TRUE(IsPlottable(array));
  EXPECT_EQ(PlotOf(array)["lines"].size(), 8U);
  for (const std::vector<uint64_t>& shape :
       {std::vector<uint64_t>{}, {1}, {2, 65}, {2, 0}, {2, 2, 2}}) {
    EXPECT_FALSE(IsPlottable(Array("s", DType::kU8, shape, "")));
  }
  EXPECT_FALSE(IsPlottable(Array("s", DType::kC64, {2}, "")));
  EXPECT_FALSE(IsPlottable(Array("s", DType::kU8, {kPlottedBytes + 1}, "")));
}

TEST(ContactSheetTest, PixelsAreMeans) {
  const Picture picture{.width = 4, .height = 2, .channels = 1, .depth = 8};
  const std::string pixels = "\x00\x04\x64\x68\x08\x0c\x6c\x70"s;
  Picture small;
  const Buffer shrunk = Shrink(picture, AsBytes(pixels), 2, small);
  EXPECT_EQ(small.width, 2U);
  EXPECT_EQ(small.height, 1U);
  EXPECT_EQ(AsText(shrunk.span()), "\x06\x6a"s);
}

TEST(ContactSheetTest, SixteenBitsAreSpread) {
  const Picture picture{.width = 3, .height = 1, .channels = 1, .depth = 16};
  const std::string pixels = "\x00\x10\x80\x10\x00\x11"s;
  Picture small;
  const Buffer shrunk = Shrink(picture, AsBytes(pixels), 96, small);
  EXPECT_EQ(small.depth, 8U);
  EXPECT_EQ(AsText(shrunk.span()), "\x00\x7f\xff"s);
}

TEST(ContactSheetTest, AThinPictureKeepsAPixel) {
  const Picture picture{.width = 1000, .height = 1, .channels = 3, .depth = 8};
  Picture small;
  const Buffer shrunk =
      Shrink(picture, AsBytes(std::string(3000, 'x')), 96, small);
  EXPECT_EQ(small.width, 96U);
  EXPECT_EQ(small.height, 1U);
  EXPECT_EQ(AsText(shrunk.span()), std::string(96 * 3, 'x'));
}

TEST(ContactSheetTest, AtMostTwelvePicturesFromFirstToLast) {
  BlockCache cache(0);
  const ArrayInfo array =
      Array("v", DType::kU8, {100, 2, 2}, std::string(400, 'p'));
  const auto picture = PictureOf(array);
  ASSERT_TRUE(picture);
  const Result<Json> sheet = ContactSheet(array, *picture, cache);
  ASSERT_TRUE(Ok(sheet));
  const Json& pictures = (*sheet)["pictures"];
  ASSERT_EQ(pictures.size(), 12U);
  EXPECT_EQ(pictures.front()["number"], 0);
  EXPECT_EQ(pictures.back()["number"], 99);
  // The signature of PNG in base64.
  EXPECT_TRUE(pictures[0]["png"].get<std::string>().starts_with("iVBORw0KGgo"));
  EXPECT_EQ(ContactSheetBytes(array, *picture), 12U * 4);
}

TableColumn Column(std::string name, CellKind kind, std::string bytes) {
  TableColumn column;
  column.name = std::move(name);
  column.kind = kind;
  column.open = [bytes =
                     std::move(bytes)](const ReadContext&) -> Result<Content> {
    return TextContent(bytes);
  };
  return column;
}

TEST(TablePreviewTest, CellsAreText) {
  BlockCache cache(0);
  Table table;
  table.rows = 3;
  table.columns = {Column("n", CellKind::kNumber, "\1\2\3"),
                   Column("t", CellKind::kText, "\"<a>\"\nnull\n\"b\"\n"),
                   Column("short", CellKind::kNumber, "\1"),
                   Column("more", CellKind::kNumber, "\1\2\3")};
  table.columns[0].open_valid = [](const ReadContext&) -> Result<Content> {
    return TextContent("\1\0\1"s);
  };
  const auto container =
      std::make_shared<const FakeContainer>(FakeContainer::Names{});
  const Result<Json> preview = TablePreview(container, table, 3, cache);
  ASSERT_TRUE(Ok(preview));
  EXPECT_EQ((*preview)["rows"], 3);
  EXPECT_EQ((*preview)["more"], 1);
  const Json& columns = (*preview)["columns"];
  ASSERT_EQ(columns.size(), 3U);
  EXPECT_EQ(columns[0]["type"], "u8");
  EXPECT_EQ(columns[0]["cells"], Json::parse(R"(["1", null, "3"])"));
  EXPECT_EQ(columns[1]["cells"], Json::parse(R"(["<a>", null, "b"])"));
  EXPECT_TRUE(columns[2].contains("error"));
}

TEST(TablePreviewTest, LargeCellsAreCut) {
  BlockCache cache(0);
  Table table;
  table.rows = 2;
  const std::string line = "\"" + std::string(40'000, 'x') + "\"\n";
  table.columns = {Column("t", CellKind::kText, line + line)};
  // A row of more than is read of a column of numbers.
  table.columns.push_back(Column("n", CellKind::kNumber, ""));
  table.columns[1].per_row = uint64_t{1} << 40;
  const auto container =
      std::make_shared<const FakeContainer>(FakeContainer::Names{});
  const Result<Json> preview = TablePreview(container, table, 9, cache);
  ASSERT_TRUE(Ok(preview));
  const Json& cells = (*preview)["columns"][0]["cells"];
  ASSERT_EQ(cells.size(), 1U) << "the second ends after what is read";
  EXPECT_EQ(cells[0], std::string(80, 'x') + "\u2026");
  EXPECT_EQ((*preview)["columns"][1]["cells"], Json::array());
}

TEST(TokenizerSummaryTest, BytePairs) {
  const Result<Json> summary = TokenizerSummary(R"({
    "version": "1.0", "added_tokens": [
      {"id": 0, "content": "<s>", "special": true}, {"id": 1, "content": 7}],
    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2},
              "merges": ["a b", ["a", "b"]]}})",
                                                Request());
  ASSERT_TRUE(Ok(summary));
  EXPECT_EQ(*summary, Json::parse(R"({"type": "BPE", "tokens": 3, "merges": 2,
      "added": 2, "first_tokens": ["a", "b", "ab"], "added_tokens": ["<s>"]})"));
}

TEST(TokenizerSummaryTest, PiecesWithScores) {
  const Result<Json> summary = TokenizerSummary(
      R"({"model": {"type": "Unigram", "vocab": [["<unk>", 0], ["x", -1.5]]}})",
      Request());
  ASSERT_TRUE(Ok(summary));
  EXPECT_EQ((*summary)["tokens"], 2);
  EXPECT_EQ((*summary)["first_tokens"], Json::parse(R"(["<unk>", "x"])"));
}

TEST(TokenizerSummaryTest, OddTokenizers) {
  for (const char* odd :
       {"{}", "[]", "3", R"({"model": 3})", R"({"model": {"vocab": 3}})",
        R"({"model": {"vocab": {"a": {"b": 1}}}})",
        R"({"added_tokens": {}})"}) {
    const Result<Json> summary = TokenizerSummary(odd, Request());
    ASSERT_TRUE(Ok(summary)) << odd;
    EXPECT_EQ((*summary)["tokens"], 0) << odd;
  }
  EXPECT_TRUE(Fails(TokenizerSummary("{", Request()), Code::kCorrupt));
}

}  // namespace
}  // namespace ctxfs
