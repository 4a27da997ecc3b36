// SPDX-License-Identifier: Apache-2.0
//
// What is requested for readers of an object.
#include "core/remote/client/remote_source.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/limits.h"
#include "core/remote/client/channel.h"
#include "tests/unit/testing/result.h"

namespace ctxfs::remote {
namespace {

using limits::kKiB;
using limits::kMiB;

constexpr uint64_t kPiece = 128 * kKiB;
constexpr uint64_t kEntry = 16 * kMiB;
constexpr uint64_t kEntries = 32;

/// A source whose fetcher answers at once, as if the server were far away.
class Readers : public testing::Test {
 protected:
  void SetUp() override {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    socket_ = Fd(ends[1]);
    client_ = std::make_shared<FetchClient>(Fd(ends[0]), *SharedSlots::Make(),
                                            std::chrono::minutes(1));
    source_ = std::make_unique<RemoteSource>(
        client_,
        client_->Known("http://host/o", {"\"e\"", "", kEntries * kEntry}, 0));
    thread_ = std::thread([this] { Serve(); });
  }
  void TearDown() override {
    source_.reset();
    client_.reset();
    thread_.join();
  }

  void Serve() {
    while (true) {
      const auto request = DecodeRequest(ReceiveMessage(socket_.get()).text);
      if (!request) return;
      requested_.push_back(request->slots.size() * kGranuleBytes);
      FetchReply reply;
      reply.id = request->id;
      reply.received = requested_.back();
      reply.first_us = 20'000;
      (void)SendMessage(socket_.get(), Encode(reply));
    }
  }

  /// Reads a piece of an entry as a mount does.
  Status ReadPiece(uint64_t entry, uint64_t at) {
    std::vector<std::byte> out(kPiece);
    const Ahead ahead{kEntry - at - kPiece, Ahead::Likelihood::kIfOnward};
    return source_->ReadAt(entry * kEntry + at, out, Request().With(ahead));
  }

  Fd socket_{-1};
  std::shared_ptr<FetchClient> client_;
  std::unique_ptr<RemoteSource> source_;
  std::vector<uint64_t> requested_;  // while nobody reads, by the test
  std::thread thread_;
};

TEST_F(Readers, Item44_3_ManyReadersAtATimeHaveLargeRequests) {
  for (uint64_t at = 0; at < kEntry; at += kPiece) {
    for (uint64_t entry = 0; entry < kEntries; ++entry) {
      ASSERT_TRUE(Ok(ReadPiece(entry, at)));
    }
  }
  // At most eight are small: two by which a reader is known to go on, and those
  // while its window grows; the others are half of its share, or more.
  const auto small = static_cast<uint64_t>(std::ranges::count_if(
      requested_, [](uint64_t bytes) { return bytes < 512 * kKiB; }));
  EXPECT_LE(small, 8 * kEntries);
  EXPECT_LE(requested_.size(), kEntries * (8 + kEntry / (512 * kKiB)));
}

TEST_F(Readers, Item44_3_ReadsInAnotherOrderAreOfOneReader) {
  // The second read comes before the first one, so both begin a stream.
  for (const uint64_t at : {2 * kPiece, uint64_t{0}}) {
    ASSERT_TRUE(Ok(ReadPiece(0, at)));
  }
  for (uint64_t at = kPiece; at < kEntry / 2; at += kPiece) {
    ASSERT_TRUE(Ok(ReadPiece(0, at)));
  }
  uint64_t other = 0;
  EXPECT_EQ(client_->Share(&other).most, 16 * kMiB);
}

TEST_F(Readers, Item44_3_WhatWasPrefetchedForAReaderThatStoppedMakesRoom) {
  const RemoteObject object =
      client_->Known("http://host/o", {"\"e\"", "", kEntries * kEntry}, 0);
  for (uint64_t entry = 0; entry < 8; ++entry) {
    (void)client_->Prefetch(object, entry * kEntry, kEntry);
  }
  EXPECT_FALSE(client_->Has(object, 7 * kEntry));
  for (uint64_t at = 0; at < kEntry / 2; at += kPiece) {
    ASSERT_TRUE(Ok(ReadPiece(20, at)));
  }
  EXPECT_TRUE(client_->Has(object, 20 * kEntry + kEntry / 2 + kMiB));
}

}  // namespace
}  // namespace ctxfs::remote
