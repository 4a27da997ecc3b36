// SPDX-License-Identifier: Apache-2.0
#include "fs/stats.h"

#include <gtest/gtest.h>

#include <chrono>
#include <map>
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
  stats.CountReply(1000, microseconds(5));
  stats.CountReply(24, seconds(2));
  stats.CountError();
  const auto samples = Samples(stats);
  EXPECT_EQ(samples.at("ctxfs_reads_total"), 3);
  EXPECT_EQ(samples.at("ctxfs_read_bytes_total"), 1024);
  EXPECT_EQ(samples.at("ctxfs_read_errors_total"), 1);
  EXPECT_EQ(samples.at("ctxfs_read_seconds_count"), 2);
  EXPECT_DOUBLE_EQ(samples.at("ctxfs_read_seconds_sum"), 2.000005);
}

TEST(Stats, SortTimesIntoCumulativeBuckets) {
  Stats stats;
  stats.CountReply(0, microseconds(10));  // bounds belong to their bucket
  stats.CountReply(0, microseconds(11));
  stats.CountReply(0, microseconds(160));
  stats.CountReply(0, seconds(1000));
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
  InThreads(8, [&](int) {
    for (int i = 0; i < 1000; ++i) {
      stats.CountRequest();
      stats.CountReply(3, microseconds(1));
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
  const auto samples =
      Samples(Stats(), {.passthrough = true, .passthrough_opens = 7});
  EXPECT_EQ(samples.at("ctxfs_passthrough"), 1);
  EXPECT_EQ(samples.at("ctxfs_passthrough_opens_total"), 7);
}

TEST(Stats, TellWhatIsBeingWorkedOn) {
  const auto samples = Samples(Stats(), {.pool = {3, 4, 5}});
  EXPECT_EQ(samples.at("ctxfs_requests_running"), 3);
  EXPECT_EQ(samples.at("ctxfs_requests_queued"), 4);
  EXPECT_EQ(samples.at("ctxfs_requests_given_up_total"), 5);
}

}  // namespace
}  // namespace ctxfs
