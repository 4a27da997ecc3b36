// SPDX-License-Identifier: Apache-2.0
//
// The report of a container, and the page that it is on.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/limits.h"
#include "core/base/sanitized.h"
#include "core/report/container_report.h"
#include "core/report/found_faults.h"
#include "core/report/page.h"
#include "core/tree/container_tree.h"
#include "core/views/list/views.h"
#include "core/views/view.h"
#include "tests/unit/testing/fake_arrays.h"
#include "tests/unit/testing/interrupts.h"
#include "tests/unit/testing/result.h"

namespace ctxfs {
namespace {

using namespace std::string_literals;

const char* const kHostile =
    "</script><script>alert(1)</script>\xff\x01\"'<img src=x onerror=alert(2)>";

/// A container of so many entries that are nowhere.
class ManyEntries final : public Container {
 public:
  explicit ManyEntries(uint32_t count)
      : Container(std::make_shared<MemorySource>("")), count_(count) {}
  void AddInfo(Json& info, const ReadContext& /*context*/) const override {
    info["format"] = "many";
  }
  Tables Files() const override {
    return {std::make_shared<const Table>(count_)};
  }
  Exports Export() const override {
    return {
        .arrays = [](const ReadContext&) { return std::vector<ArrayInfo>(); }};
  }

 private:
  class Table final : public FileTable {
   public:
    explicit Table(uint32_t count)
        : FileTable({.role = Role::kEntries}), count_(count) {}
    uint32_t count() const override { return count_; }
    std::optional<std::string_view> Path(uint32_t entry,
                                         std::string& scratch) const override {
      scratch = std::to_string(entry);
      return scratch;
    }
    Result<Content> Open(uint32_t /*entry*/,
                         const ReadContext& /*context*/) const override {
      return TextContent("");
    }
    std::optional<EntryInfo> Describe(
        uint32_t entry, const ReadContext& /*context*/) const override {
      EntryInfo info;
      info.name =
          "layers." + std::to_string(entry) + "." + std::string(100, 'x');
      info.size = 1;
      return info;
    }

   private:
    const uint32_t count_;
  };

  const uint32_t count_;
};

Json ReportOf(const std::shared_ptr<const Container>& container,
              ReportDepth depth, ReportRoom room = {}) {
  BlockCache cache(limits::kMiB);
  const Result<std::string> report =
      ContainerReport(container, "name", {.depth = depth}, room, cache);
  EXPECT_TRUE(Ok(report));
  return report ? Json::parse(*report) : Json();
}

/// What views/overview.html holds.
std::string OverviewOf(const std::shared_ptr<const Container>& container) {
  const ContainerTree tree(
      *ViewsDirectory(container, *ParseViews("overview")).open(LoneContext()));
  const auto node = tree.Lookup(ContainerTree::kRoot, "overview.html");
  BlockCache cache(limits::kMiB);
  if (!node) return "";
  const Result<Content> content = tree.Open(*node, cache);
  EXPECT_TRUE(Ok(content));
  EXPECT_EQ(tree.SizeCost(*node), Cost::kDecode)
      << "a listing does not make it";
  EXPECT_EQ(*tree.Size(*node, cache), content->size());
  return *ReadAll(*content, cache);
}

std::shared_ptr<FakeArrays> Episode() {
  return std::make_shared<FakeArrays>(
      std::vector<ArrayInfo>{Array(kHostile, DType::kU8, {3}, "\1\2\3"),
                             BrokenArray("broken", DType::kF32, {2}),
                             Array("complex", DType::kC64, {1}, "12345678"),
                             Array("rgb", DType::kU8, {2, 1, 1, 3}, "abcdef"),
                             Array("empty", DType::kF32, {0}, "")},
      Exports{.bundle_name = "episode"});
}

TEST(ReportTest, TheIndexAloneIsDescribed) {
  const auto container = std::make_shared<const FakeContainer>(
      FakeContainer::Names{"a/0/x", "a/0/y", std::nullopt});
  const Json report = ReportOf(container, ReportDepth::kIndex);
  EXPECT_EQ(report["format"], "fake");
  EXPECT_EQ(report["name"], "name");
  EXPECT_EQ(report["entry_count"], 3);
  EXPECT_EQ(report["decoded_bytes"], 8 + 8 + 9);
  EXPECT_EQ(report["entries"]["rows"].size(), 3U);
  EXPECT_EQ(report["layers"], Json::parse(R"([["a/0", 16, 2], ["", 9, 1]])"));
  EXPECT_EQ(report["left_out"], Json::array());
  EXPECT_FALSE(report.contains("arrays"));
}

/// A container of several files, whose info has sizes of its own.
class SizedContainer final : public FakeContainer {
 public:
  SizedContainer() : FakeContainer({"a", "b"}) { AddStoredSize(1000); }
  void AddInfo(Json& info, const ReadContext& /*context*/) const override {
    info.update({{"format", "sized"},
                 {"stored_size", uint64_t{7}},
                 {"decoded_size", uint64_t{77}}});
  }
};

TEST(ReportTest, Item28_9_TheSizesShownFirstAreThoseOfTheFacts) {
  const auto container = std::make_shared<const SizedContainer>();
  const Json report = ReportOf(container, ReportDepth::kSampled);
  std::map<std::string, std::string> facts;
  for (const Json& fact : report["facts"]) facts.emplace(fact[0], fact[1]);
  for (const auto& [shown, fact] :
       {std::pair("container_size", "container_size"),
        std::pair("stored_bytes", "stored_size"),
        std::pair("decoded_bytes", "decoded_size")}) {
    EXPECT_EQ(report[shown].dump(), facts.at(fact)) << fact;
  }
  const uint64_t own = container->source()->size();
  EXPECT_EQ(facts.at("size_of_all_its_files"), std::to_string(own + 1000));
  const Json index = ReportOf(container, ReportDepth::kIndex);
  EXPECT_EQ(index["container_size"], own);
  EXPECT_EQ(index["decoded_bytes"], 4 + 4) << "that of the entries";
}

/// A container with a fault of its own, a part that it does not show, and a
/// remark.
class Faulty final : public FakeContainer {
 public:
  Faulty() : FakeContainer({"a", "b"}) {
    Warn({"overlaps", 80, Severity::kDamage});
    Warn({"other bytes", 90, Severity::kPartial});
    Warn({"odd", 100, Severity::kNote});
  }
  void AddInfo(Json& info, const ReadContext& /*context*/) const override {
    info["format"] = "faulty";
  }
};

TEST(ReportTest, Item28_8_FaultsOfTheContainerAreNamedOnce) {
  const auto container = std::make_shared<const Faulty>();
  BlockCache cache(limits::kMiB);
  ReportRoom room;
  const ReportOptions options{.depth = ReportDepth::kSampled};
  const FoundFaults faults = FindFaults(*container, options, room, cache);
  EXPECT_EQ(faults.damaged, 1U);
  EXPECT_EQ(faults.unchecked, 1U);
  EXPECT_TRUE(faults.entries.empty());
  const Result<std::string> text =
      ContainerReport(container, "name", options, room, cache, &faults);
  ASSERT_TRUE(Ok(text));
  const Json report = Json::parse(*text);
  EXPECT_EQ(report["faults"]["count"], 2);
  EXPECT_EQ(
      report["faults"]["listed"],
      Json::parse(
          R"([[null, "byte 80: overlaps"], [null, "byte 90: other bytes"]])"));
  EXPECT_EQ(report["warnings"], Json::parse(R"(["byte 100: odd"])"));
}

/// A container whose file ends in its third entry, and whose first entry has
/// another fault.
class Cut final : public FakeContainer {
 public:
  Cut() : FakeContainer({"a", "b", "c"}) {
    Need(source()->size() + 100);
    Warn({"entry 2: past the end", 80, Severity::kDamage});
    Warn({"the end is missing", source()->size(), Severity::kDamage});
    Warn({"2 entries cannot be read", kNoOffset, Severity::kOfEntries});
    Warn({"odd", 100, Severity::kNote});
  }
  void AddInfo(Json& info, const ReadContext& /*context*/) const override {
    info["format"] = "cut";
  }
  Tables Files() const override { return {std::make_shared<const Table>()}; }

 private:
  class Table final : public FileTable {
   public:
    Table() : FileTable({.role = Role::kEntries}) {}
    uint32_t count() const override { return 3; }
    std::optional<std::string_view> Path(uint32_t entry,
                                         std::string& scratch) const override {
      scratch = std::to_string(entry);
      return scratch;
    }
    FileFacts Facts(uint32_t entry) const override {
      FileFacts facts;
      if (entry == 2) {
        facts.fault = Error{Code::kCorrupt, "entry 2: past the end", 80};
      }
      return facts;
    }
    Result<Content> Open(uint32_t entry,
                         const ReadContext& /*context*/) const override {
      if (entry == 0) return Error{Code::kChecksum, "entry 0: mismatch", 8};
      if (entry == 2) return *Facts(entry).fault;
      return LiteralContent("");
    }
    std::optional<EntryInfo> Describe(
        uint32_t entry, const ReadContext& /*context*/) const override {
      EntryInfo info;
      info.name = std::to_string(entry);
      return info;
    }
  };
};

TEST(ReportTest, Item43_5_ACutFileIsOneFaultForAllEntriesThatItLacks) {
  const auto container = std::make_shared<const Cut>();
  BlockCache cache(limits::kMiB);
  ReportRoom room;
  const ReportOptions options{.depth = ReportDepth::kSampled};
  const FoundFaults faults = FindFaults(*container, options, room, cache);
  EXPECT_EQ(faults.damaged, 2U);
  EXPECT_EQ(faults.entries, (std::vector<uint32_t>{0, 2}));
  const Result<std::string> text =
      ContainerReport(container, "name", options, room, cache, &faults);
  ASSERT_TRUE(Ok(text));
  const Json report = Json::parse(*text);
  const Json& listed = report["faults"]["listed"];
  ASSERT_EQ(listed.size(), 2U) << listed;
  EXPECT_TRUE(listed[0][0].is_null());
  EXPECT_TRUE(listed[0][1].get<std::string>().starts_with("cut: needs "));
  EXPECT_EQ(listed[1], Json::parse(R"(["0", "byte 8: entry 0: mismatch"])"));
  EXPECT_EQ(report["faults"]["rows"], Json::parse("[0, 2]"));
  EXPECT_EQ(report["warnings"], Json::parse(R"(["byte 100: odd"])"));
  // An overview, which verifies nothing, says it too.
  const Json index = ReportOf(container, ReportDepth::kIndex);
  ASSERT_EQ(index["warnings"].size(), 1U) << index["warnings"];
  EXPECT_TRUE(
      index["warnings"][0].get<std::string>().starts_with("cut: needs "));
}

/// A container whose info differs at each call.
class Changing final : public FakeContainer {
 public:
  Changing() : FakeContainer({"a"}) {
    Warn({.text = "entry 1: overlaps",
          .offset = 80,
          .severity = Severity::kDamage});
  }
  void AddInfo(Json& info, const ReadContext& /*context*/) const override {
    ++calls_;
    info.update({{"format", "changing"},
                 {"version", 3},
                 {"role_name", "Model"},
                 {"salvaged", true},
                 {"tensors", calls_},
                 {"warnings", {"warning " + std::to_string(calls_)}}});
  }
  Exports Export() const override {
    return {
        .arrays = [](const ReadContext&) { return std::vector<ArrayInfo>(); }};
  }

 private:
  mutable int calls_ = 0;
};

TEST(ReportTest, AnOverviewHasWhatLasts) {
  const auto container = std::make_shared<const Changing>();
  const std::string page = OverviewOf(container);
  EXPECT_EQ(page, OverviewOf(container));
  const Json report = ReportOf(container, ReportDepth::kIndex);
  EXPECT_EQ(report["version"], "3");
  EXPECT_EQ(report["facts"], Json::parse(R"([["role_name", "Model"]])"));
  EXPECT_EQ(report["warnings"],
            Json::parse(R"(["byte 80: entry 1: overlaps"])"));
  const Json all = ReportOf(container, ReportDepth::kSampled);
  EXPECT_EQ(all["facts"].size(), 3U) << all["facts"];  // and the size
  EXPECT_EQ(all["warnings"].size(), 1U);
  EXPECT_TRUE(all["warnings"][0].get<std::string>().starts_with("warning "));
}

TEST(ReportTest, ValuesAreShownAndFailuresSaid) {
  const Json report = ReportOf(Episode(), ReportDepth::kSampled);
  const Json& arrays = report["arrays"];
  ASSERT_EQ(arrays.size(), 4U);
  EXPECT_EQ(arrays[0]["mean"], 2.0);
  EXPECT_EQ(arrays[0]["bins"], Json::parse("[1, 1, 1]"));
  EXPECT_EQ(arrays[1]["error"], "byte 7: broken");
  EXPECT_EQ(arrays[2]["name"], "rgb");
  EXPECT_TRUE(arrays[3]["min"].is_null());
  EXPECT_EQ(arrays[3]["read"], 0);
  ASSERT_EQ(report["lanes"].size(), 2U);
  EXPECT_EQ(report["lanes"][0]["lines"][0]["y"], Json::parse("[1, 2, 3]"));
  EXPECT_EQ(report["lanes"][1]["error"], "byte 7: broken");
  ASSERT_EQ(report["sheets"].size(), 1U);
  ASSERT_EQ(report["left_out"].size(), 1U);
  EXPECT_TRUE(report["left_out"][0].get<std::string>().starts_with(
      "1 arrays of complex numbers"));
}

TEST(ReportTest, DocumentsOfAModelAreShown) {
  auto model = std::make_shared<FakeArrays>(std::vector<ArrayInfo>{},
                                            Exports{.bundle_name = "model"});
  model->exports.documents = {
      {DocumentRole::kConfig, TextFile("c", "{\"<b>\": 1}")},
      {DocumentRole::kTokenizer,
       TextFile("t", R"({"model": {"type": "BPE", "vocab": {"x": 0}}})")},
      {DocumentRole::kVocabulary, TextFile("v", "{}")},
      {DocumentRole::kDescription, TextFile("d", std::string(100'000, 'd'))},
      {DocumentRole::kTokenizerConfig,
       RefusedFile(Role::kPrimary, "r", {Code::kCorrupt, "no", 3})}};
  const Json report = ReportOf(model, ReportDepth::kSampled);
  EXPECT_EQ(report["tokenizer"]["tokens"], 1);
  const Json& documents = report["documents"];
  ASSERT_EQ(documents.size(), 5U);
  EXPECT_EQ(documents[0]["name"], "config.json");
  EXPECT_EQ(documents[0]["text"], "{\"<b>\": 1}");
  EXPECT_EQ(documents[0]["cut"], false);
  EXPECT_FALSE(documents[2].contains("text"));
  EXPECT_EQ(documents[3]["text"].get<std::string>().size(), 16 * limits::kKiB);
  EXPECT_EQ(documents[3]["cut"], true);
  EXPECT_EQ(documents[4]["error"], "byte 3: no");
}

TEST(ReportTest, RoomIsKept) {
  ReportRoom room;
  room.rows = 0;
  room.arrays = 1;
  room.lanes = 1;
  room.sheets = 0;
  const Json report = ReportOf(Episode(), ReportDepth::kSampled, room);
  EXPECT_EQ(report["arrays"].size(), 1U);
  EXPECT_EQ(report["lanes"].size(), 1U);
  EXPECT_FALSE(report.contains("sheets"));
  EXPECT_EQ(report["left_out"].size(), 4U) << report["left_out"];
}

TEST(ReportTest, Item32_6_WithoutRoomAReportIsAsTheOverviewNeedsIt) {
  BlockCache cache(limits::kMiB);
  ReportRoom room;
  room.page_bytes = limits::kMiB;
  const Json whole = ReportOf(Episode(), ReportDepth::kSampled, room);
  EXPECT_FALSE(whole.contains("brief"));
  for (const uint64_t left : {uint64_t{0}, uint64_t{70'000}}) {
    room.page_bytes = left;
    auto many = Episode();
    if (left != 0) {
      many->exports.documents.assign(
          20, {DocumentRole::kConfig, TextFile("c", std::string(20'000, 'x'))});
    }
    const Json brief = ReportOf(many, ReportDepth::kSampled, room);
    EXPECT_EQ(brief["brief"], true) << left;
    EXPECT_FALSE(brief.contains("arrays") || brief.contains("entries"));
    for (const char* const key :
         {"name", "format", "entry_count", "decoded_bytes", "container_size"}) {
      EXPECT_EQ(brief[key], whole[key]) << key;
    }
    EXPECT_LT(brief.dump().size(), 8 * limits::kKiB);
  }
}

TEST(ReportTest, MillionsOfEntriesAreASmallPage) {
  if (CTXFS_SANITIZED != 0) GTEST_SKIP() << "takes half a minute there";
  const uint32_t count = 1'200'000;
  const auto many = std::make_shared<const ManyEntries>(count);
  const std::string page = OverviewOf(many);
  EXPECT_LT(page.size(), 20 * limits::kMiB);
  EXPECT_NE(page.find("1100000 of 1200000 entries are not in the table"),
            std::string::npos);
  EXPECT_NE(page.find("sizes and counts are those of the first 1000000 of "
                      "1200000 entries"),
            std::string::npos);
  const Json report = ReportOf(many, ReportDepth::kSampled);
  EXPECT_EQ(report["decoded_bytes"], count) << "the command counts all";
  EXPECT_EQ(report["entries"]["rows"].size(), 100'000U);
  EXPECT_EQ(report["layers"].size(), 41U);
}

TEST(ReportTest, AnInterruptEndsIt) {
  BlockCache cache(0);
  const InterruptAfter interrupt(10);
  ReportRoom room;
  const auto many = std::make_shared<const ManyEntries>(100'000'000);
  EXPECT_TRUE(
      Fails(ContainerReport(many, "", {}, room, ReadContext(cache, interrupt)),
            Code::kInterrupted));
}

TEST(ReportTest, AFailureIsAReport) {
  const Json report =
      Json::parse(FailedReport(kHostile, {Code::kCorrupt, kHostile, 40}));
  EXPECT_TRUE(report["error"].get<std::string>().starts_with("byte 40: "));
}

TEST(PageTest, NothingOfAContainerIsMarkup) {
  const PageFrame& frame = TheFrame();
  BlockCache cache(0);
  ReportRoom room;
  auto hostile = Episode();
  hostile->exports.documents = {
      {DocumentRole::kConfig, TextFile("c", kHostile)}};
  const Result<std::string> report = ContainerReport(
      hostile, kHostile, {.depth = ReportDepth::kSampled}, room, cache);
  ASSERT_TRUE(Ok(report));
  const std::string data =
      PageData(ReportDepth::kSampled, kHostile,
               {*report, FailedReport(kHostile, {Code::kIo, kHostile})}, 3);
  EXPECT_NE(data.find("alert(1)"), std::string::npos) << "it is there";
  EXPECT_EQ(data.find_first_of("<>&"), std::string::npos);
  EXPECT_TRUE(std::all_of(data.begin(), data.end(), [](char c) {
    return c == '\n' || (c >= ' ' && c < '\x7f');
  }));
  const Json parsed = Json::parse(data);
  EXPECT_EQ(parsed["depth"], "sampled");
  EXPECT_TRUE(parsed["title"].get<std::string>().starts_with("</script>"));
  EXPECT_EQ(parsed["left_out"], 3);
  EXPECT_EQ(parsed["containers"].size(), 2U);
  EXPECT_EQ(frame.head->find("{{"), std::string::npos);
  EXPECT_EQ(frame.tail->find("{{page}}"), std::string::npos);
}

TEST(PageTest, ThePolicyAllowsItsOwnScriptsAlone) {
  const std::string& head = *TheFrame().head;
  const size_t at = head.find("Content-Security-Policy\" content=\"");
  ASSERT_NE(at, std::string::npos);
  const std::string policy = head.substr(at, head.find("\">", at) - at);
  EXPECT_NE(policy.find("default-src 'none'"), std::string::npos);
  EXPECT_EQ(policy.find("unsafe"), std::string::npos);
  EXPECT_EQ(policy.find("http"), std::string::npos);
  EXPECT_LT(at, head.find("<style>")) << "it comes before what it is about";
  // Nothing is loaded from elsewhere.
  for (const std::string* part :
       {TheFrame().head.get(), TheFrame().tail.get()}) {
    EXPECT_EQ(part->find("<script src"), std::string::npos);
    EXPECT_EQ(part->find("@import"), std::string::npos);
  }
  EXPECT_NE(TheFrame().tail->find("Chart.js v"), std::string::npos);
}

TEST(OverviewTest, IsTheIndexOfAContainerWithArraysOrATable) {
  const std::string page = OverviewOf(Episode());
  EXPECT_TRUE(page.starts_with("<!doctype html>"));
  EXPECT_TRUE(page.ends_with("</html>\n"));
  EXPECT_NE(page.find("{\"depth\":\"index\""), std::string::npos);
  EXPECT_EQ(page, OverviewOf(Episode())) << "a function of the container";
  EXPECT_FALSE(MayHaveViews(FakeContainer({}), *ParseViews("overview")));
}

}  // namespace
}  // namespace ctxfs
