// SPDX-License-Identifier: Apache-2.0
#include "fs/fuse/stats.h"

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <memory>
#include <sstream>
#include <string>

#include "tests/unit/testing/threads.h"

namespace ctxfs {
namespace {

using std::chrono::microseconds;
using std::chrono::seconds;

/// Every sample of the text by its name and labels; each has HELP and TYPE.
std::map<std::string, double> Samples(const Stats& stats,
                                      const Stats::Others& others = {}) {
  std::map<std::string, double> samples;
  std::string described;
  std::istringstream text(stats.Text(others));
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("# HELP ")) {
      described = line.substr(7, line.find(' ', 7) - 7);
    } else if (!line.starts_with("# TYPE " + described + " ")) {
      const size_t space = line.rfind(' ');
      EXPECT_EQ(line.find(described), 0U) << line;
      const bool is_new =
          samples
              .emplace(line.substr(0, space), std::stod(line.substr(space + 1)))
              .second;
      EXPECT_TRUE(is_new) << line;
    }
  }
  return samples;
}

/// An answer of so many bytes from each place.
Window Answer(size_t memory, size_t disk, size_t container) {
  Window window;
  window.Reserve(disk + container);
  const auto made = std::make_shared<const std::string>(memory, 'x');
  window.AppendPinned(AsBytes(*made), made);
  window.AppendScratch(disk, Origin::kDisk);
  window.AppendScratch(container, Origin::kContainer);
  return window;
}

TEST(Stats, StartAtZero) {
  const auto samples = Samples(Stats());
  EXPECT_GT(samples.size(), 20U);
  for (const auto& [name, value] : samples) {
    EXPECT_EQ(value, 0) << name;
  }
}

TEST(Stats, CountRequestsRepliesAndErrors) {
  Stats stats;
  for (int i = 0; i < 3; ++i) stats.CountRequest();
  stats.CountReply(Answer(1000, 0, 0), microseconds(5));
  stats.CountReply(Answer(1, 3, 20), seconds(2));
  stats.CountError();
  const auto samples = Samples(stats);
  EXPECT_EQ(samples.at("ctxfs_reads_total"), 3);
  EXPECT_EQ(samples.at("ctxfs_read_bytes_total"), 1024);
  EXPECT_EQ(samples.at("ctxfs_read_memory_bytes_total"), 1001);
  EXPECT_EQ(samples.at("ctxfs_read_cache_dir_bytes_total"), 3);
  EXPECT_EQ(samples.at("ctxfs_read_container_bytes_total"), 20);
  EXPECT_EQ(samples.at("ctxfs_read_errors_total"), 1);
  EXPECT_EQ(samples.at("ctxfs_read_seconds_count"), 2);
  EXPECT_DOUBLE_EQ(samples.at("ctxfs_read_seconds_sum"), 2.000005);
}

TEST(Stats, TellTheLongestWait) {
  Stats stats;
  InThreads(8, [&](int i) { stats.NoteWait(microseconds(1000 + 1999 * i)); });
  stats.NoteWait(microseconds(5));
  const auto samples = Samples(stats);
  EXPECT_EQ(samples.at("ctxfs_request_longest_milliseconds"), 14);
}

TEST(Stats, SortTimesIntoCumulativeBuckets) {
  Stats stats;
  stats.CountReply({}, microseconds(10));  // bounds belong to their bucket
  stats.CountReply({}, microseconds(11));
  stats.CountReply({}, microseconds(160));
  stats.CountReply({}, seconds(1000));
  const auto samples = Samples(stats);
  const auto bucket = [&](const std::string& le) {
    return samples.at("ctxfs_read_seconds_bucket{le=\"" + le + "\"}");
  };
  EXPECT_EQ(bucket("1e-05"), 1);
  EXPECT_EQ(bucket("4e-05"), 2);
  EXPECT_EQ(bucket("0.00016"), 3);
  EXPECT_EQ(bucket("2.62144"), 3);
  EXPECT_EQ(bucket("+Inf"), 4);
}

TEST(Stats, ShowTheCacheAndTheContainer) {
  BlockCache::Stats cache;
  cache.bytes = 11;
  cache.blocks = 12;
  cache.hits = 13;
  cache.produced = uint64_t{1} << 40;
  cache.evictions = 15;
  cache.passed = 16;
  cache.failed = 17;
  const auto samples =
      Samples(Stats(), {.cache = cache, .containers = 18, .bytes = 19});
  EXPECT_EQ(samples.at("ctxfs_cache_bytes"), 11);
  EXPECT_EQ(samples.at("ctxfs_cache_blocks"), 12);
  EXPECT_EQ(samples.at("ctxfs_cache_hits_total"), 13);
  EXPECT_EQ(samples.at("ctxfs_decoded_bytes_total"), 1099511627776.0);
  EXPECT_EQ(samples.at("ctxfs_cache_evictions_total"), 15);
  EXPECT_EQ(samples.at("ctxfs_verified_passed_total"), 16);
  EXPECT_EQ(samples.at("ctxfs_verified_failed_total"), 17);
  EXPECT_EQ(samples.at("ctxfs_open_containers"), 18);
  EXPECT_EQ(samples.at("ctxfs_container_bytes_total"), 19);
}

TEST(Stats, LoseNothingAmongThreads) {
  Stats stats;
  const Window answer = Answer(1, 1, 1);
  InThreads(8, [&](int) {
    for (int i = 0; i < 1000; ++i) {
      stats.CountRequest();
      stats.CountReply(answer, microseconds(1));
      stats.CountError();
    }
  });
  const auto samples = Samples(stats);
  EXPECT_EQ(samples.at("ctxfs_reads_total"), 8000);
  EXPECT_EQ(samples.at("ctxfs_read_bytes_total"), 24'000);
  EXPECT_EQ(samples.at("ctxfs_read_errors_total"), 8000);
  EXPECT_EQ(samples.at("ctxfs_read_seconds_count"), 8000);
}

TEST(Stats, TellWhatTheKernelReadsByItself) {
  Stats stats;
  stats.CountOpen();
  stats.CountOpen();
  stats.CountUnread();
  const auto samples =
      Samples(stats, {.passthrough = true, .passthrough_opens = 7});
  EXPECT_EQ(samples.at("ctxfs_opens_total"), 2);
  EXPECT_EQ(samples.at("ctxfs_opens_without_reads_total"), 1);
  EXPECT_EQ(samples.at("ctxfs_passthrough"), 1);
  EXPECT_EQ(samples.at("ctxfs_passthrough_opens_total"), 7);
}

TEST(Stats, TellWhatIsMaterialised) {
  const auto samples = Samples(Stats(), {.made = {1, 2, 3, 4, 5}});
  EXPECT_EQ(samples.at("ctxfs_materialized_files"), 1);
  EXPECT_EQ(samples.at("ctxfs_materialized_bytes"), 2);
  EXPECT_EQ(samples.at("ctxfs_materialized_total"), 3);
  EXPECT_EQ(samples.at("ctxfs_materialized_taken_total"), 4);
  EXPECT_EQ(samples.at("ctxfs_materialized_opens_total"), 5);
}

TEST(Stats, TellWhatIsBeingWorkedOn) {
  const auto samples = Samples(Stats(), {.pool = {3, 4, 5}});
  EXPECT_EQ(samples.at("ctxfs_requests_running"), 3);
  EXPECT_EQ(samples.at("ctxfs_requests_queued"), 4);
  EXPECT_EQ(samples.at("ctxfs_requests_given_up_total"), 5);
}

}  // namespace
}  // namespace ctxfs
