// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/container/interfaces/has_episode.h"
#include "core/tree/container_tree.h"
#include "core/views/list/views.h"
#include "core/views/tables/signal_columns.h"
#include "core/views/tables/step_seconds.h"
#include "core/views/view.h"
#include "tests/unit/testing/fake_arrays.h"
#include "tests/unit/testing/result.h"

namespace ctxfs {
namespace {

template <typename T>
std::string Packed(const std::vector<T>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

/// Two steps of a vector, a scalar, a matrix, and pictures.
Episode TwoSteps() {
  Episode episode;
  episode.steps = 2;
  episode.signals = {
      Array("pos", DType::kF32, {2, 2}, Packed<float>({1, 2, 3, 4})),
      Array("done", DType::kBool, {2}, std::string("\0\1", 2)),
      Array("m", DType::kU8, {2, 1, 2}, "\x01\x02\x03\x04"),
      Array("rgb", DType::kU8, {2, 5, 5, 3}, std::string(150, 'x')),
      Array("z", DType::kC64, {2}, std::string(16, 'z'))};
  return episode;
}

/// A container that is an episode.
class FakeEpisode final : public FakeContainer, public HasEpisode {
 public:
  explicit FakeEpisode(Episode episode)
      : FakeContainer({}), episode_(std::move(episode)) {}

  Exports Export() const override {
    Exports exports;
    exports.arrays = [this](const ReadContext& /*context*/) {
      return episode_.signals;
    };
    return exports;
  }
  bool MayBeEpisode() const override { return true; }
  std::optional<Episode> AsEpisode(
      const ReadContext& /*context*/) const override {
    return episode_;
  }

 private:
  const Episode episode_;
};

std::shared_ptr<FakeEpisode> ContainerOf(const Episode& episode) {
  return std::make_shared<FakeEpisode>(episode);
}

/// The files of the view, by name.
std::map<std::string, std::string> FilesOf(
    const std::shared_ptr<const Container>& container) {
  const ContainerTree tree(
      *ViewsDirectory(container, *ParseViews("signals")).open(LoneContext()));
  BlockCache cache(1 << 20);
  std::map<std::string, std::string> files;
  for (NodeId node = 0; node < tree.tree().node_count(); ++node) {
    if (tree.IsDirectory(node)) continue;
    const Result<Content> content = tree.Open(node, cache);
    EXPECT_TRUE(Ok(content)) << tree.Path(node);
    if (content) files[tree.Path(node)] = *ReadAll(*content, cache);
  }
  return files;
}

std::vector<double> SecondsIn(const Episode& episode) {
  BlockCache cache(0);
  const Result<Content> content = SecondsOf(episode)->open(cache);
  EXPECT_TRUE(Ok(content));
  const Result<std::string> bytes = ReadAll(*content, cache);
  EXPECT_TRUE(Ok(bytes));
  std::vector<double> seconds(bytes->size() / sizeof(double));
  std::memcpy(seconds.data(), bytes->data(), bytes->size());
  // Any window is a part of the whole.
  std::string window(5, '\0');
  EXPECT_TRUE(Ok(
      ReadInto(*content, 6, std::as_writable_bytes(std::span(window)), cache)));
  EXPECT_EQ(window, bytes->substr(6, 5));
  return seconds;
}

TEST(SignalsTest, Item43_9_EachComponentIsAColumn) {
  const auto files = FilesOf(ContainerOf(TwoSteps()));
  ASSERT_EQ(files.size(), 3U);
  EXPECT_EQ(files.at("signals.csv"),
            "step,pos.0,pos.1,done,m.0.0,m.0.1\n"
            "0,1.0,2.0,false,1,2\n"
            "1,3.0,4.0,true,3,4\n");
  EXPECT_TRUE(files.at("signals.arrow").starts_with("ARROW1"));
  EXPECT_EQ(files.at("signals.left_out.txt"),
            "signals.csv and signals.arrow have 5 columns of 3 signals, and "
            "not:\n"
            "'rgb': u8 [2, 5, 5, 3]: 75 values a step, and at most 64 become "
            "columns\n"
            "'z': c64 [2]: its type is not that of a column\n");
}

TEST(SignalsTest, Item43_9_TheFirstColumnIsTheTimeIfItIsKnown) {
  Episode episode = TwoSteps();
  episode.clock.divisor = 30;
  EXPECT_TRUE(FilesOf(ContainerOf(episode))
                  .at("signals.csv")
                  .starts_with("time,pos.0,pos.1,done,m.0.0,m.0.1\n0.0,1.0"));
  EXPECT_EQ(SecondsIn(episode), (std::vector<double>{0, 1.0 / 30}));
  episode.clock.ticks =
      Array("ticks", DType::kI32, {2}, Packed<int32_t>({60, 61}));
  EXPECT_EQ(SecondsIn(episode), (std::vector<double>{2, 61.0 / 30}));
  episode.clock.from_first = true;
  EXPECT_EQ(SecondsIn(episode), (std::vector<double>{0, 1.0 / 30}));
}

TEST(SignalsTest, Item43_9_TimesAreExactFromTheFirst) {
  Episode episode = TwoSteps();
  episode.clock = {.divisor = 1e9, .from_first = true};
  const int64_t now = 1'700'000'000'123'456'789;
  episode.clock.ticks =
      Array("ns", DType::kI64, {2}, Packed<int64_t>({now, now + 1}));
  EXPECT_EQ(SecondsIn(episode), (std::vector<double>{0, 1e-9}));
  episode.clock.ticks =
      Array("ns", DType::kI64, {2}, Packed<int64_t>({INT64_MIN, INT64_MAX}));
  EXPECT_EQ(SecondsIn(episode)[1], 18446744073.709551615);
  episode.clock.ticks =
      Array("ns", DType::kI8, {2}, Packed<int8_t>({127, -128}));
  EXPECT_EQ(SecondsIn(episode)[1], -255e-9);
}

TEST(SignalsTest, Item43_9_AStoredRateIsUsed) {
  Episode episode = TwoSteps();
  episode.clock.divisor = 1;
  episode.clock.rate = Array("fps", DType::kU8, {}, "\x0a");
  EXPECT_EQ(SecondsIn(episode), (std::vector<double>{0, 0.1}));
  episode.clock.rate = Array("dt", DType::kF64, {1}, Packed<double>({0.5}));
  episode.clock.rate_is_period = true;
  EXPECT_EQ(SecondsIn(episode), (std::vector<double>{0, 0.5}));
  for (const double bad : {0.0, -1.0, double{INFINITY}, double{NAN}}) {
    episode.clock.rate = Array("dt", DType::kF64, {}, Packed<double>({bad}));
    EXPECT_TRUE(std::isnan(SecondsIn(episode)[1])) << bad;
  }
}

TEST(SignalsTest, Item43_9_AnIncompleteEpisodeHasNotesOnly) {
  const auto container = ContainerOf(TwoSteps());
  container->Warn({"a chunk is missing", kNoOffset, Severity::kDamage});
  const auto files = FilesOf(container);
  ASSERT_EQ(files.size(), 2U);
  EXPECT_EQ(files.at("signals.csv.incomplete.txt"),
            "There is no signals.csv, because it would not be complete: a "
            "chunk is missing\n");
  EXPECT_EQ(files.count("signals.arrow.incomplete.txt"), 1U);
}

TEST(SignalsTest, Item43_9_NamesAreUniqueAndHarmless) {
  Episode episode;
  episode.steps = 1;
  for (const char* name : {"step", "=1+1", "a.0", "a\"\n", "\xff"}) {
    episode.signals.push_back(Array(name, DType::kU8, {1}, "\x07"));
  }
  episode.signals.push_back(Array("a", DType::kU8, {1, 1}, "\x07"));
  const auto files = FilesOf(ContainerOf(episode));
  EXPECT_EQ(files.count("signals.left_out.txt"), 0U);
  EXPECT_EQ(files.at("signals.csv"),
            "step,step~2,'=1+1,a.0,\"a\"\"\n\",\xef\xbf\xbd,a.0~2\n"
            "0,7,7,7,7,7,7\n");
}

TEST(SignalsTest, Item43_9_WithoutSignalsThereIsNoTable) {
  Episode episode;
  episode.steps = uint64_t{1} << 60;  // as a container may claim
  episode.clock.divisor = 1;
  episode.signals = {Array("none", DType::kU8, {episode.steps, 0}, "")};
  const auto files = FilesOf(ContainerOf(episode));
  ASSERT_EQ(files.size(), 1U);
  EXPECT_TRUE(files.at("signals.left_out.txt")
                  .starts_with("There is no signals.csv or signals.arrow"));
}

TEST(SignalsTest, Item43_9_ColumnsAreBounded) {
  Episode episode;
  episode.steps = 1;
  for (int i = 0; i < 40; ++i) {
    episode.signals.push_back(Array(std::string(300, 'n'), DType::kU8, {1, 64},
                                    std::string(64, 'v')));
  }
  for (int i = 0; i < 100'000; ++i) {
    episode.left_out.push_back({"name", "no array"});
  }
  const SignalTable made = MakeSignalTable(episode);
  EXPECT_EQ(made.signals, 15U);
  EXPECT_EQ(made.table.columns.size(), 1 + 15 * 64U);
  EXPECT_EQ(made.left_out.size(), 100'025U);
  const auto files = FilesOf(ContainerOf(episode));
  EXPECT_LT(files.at("signals.left_out.txt").size(), 70'000U);
}

}  // namespace
}  // namespace ctxfs
