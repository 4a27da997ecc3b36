// SPDX-License-Identifier: Apache-2.0
//
// Files of the cache whose descriptors the client gets from the fetcher.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/base/interrupt.h"
#include "core/cache/block_store.h"
#include "core/remote/client/channel.h"
#include "core/remote/client/fetch_client.h"
#include "core/remote/client/open_descriptors.h"
#include "tests/unit/testing/interrupts.h"
#include "tests/unit/testing/result.h"
#include "tests/unit/testing/temp_dir.h"

namespace ctxfs::remote {
namespace {

constexpr uint64_t kRun = 4;  // granules in a file
const std::string kKey = "object";

/// Stands in for the fetcher: passes a file if it may and the cache has one,
/// and else copies the bytes.
class PassingFetcher {
 public:
  /// The slots begin at `slots`.
  PassingFetcher(Fd socket, std::byte* slots, const std::string& data,
                 BlockStore& store)
      : socket_(std::move(socket)),
        slots_(slots),
        data_(data),
        store_(store),
        thread_([this] { Run(); }) {}
  ~PassingFetcher() { thread_.join(); }

  std::atomic<unsigned> passed = 0;  // files
  std::atomic<unsigned> copied = 0;  // requests that took no file
  std::function<void(FetchReply&)> spoil;
  std::atomic<bool> keeps_open = false;  // files that were passed
  std::atomic<bool> passes = true;       // files at all
  std::atomic<bool> keeps = false;       // what is copied, says the reply
  std::set<uint16_t> filled;             // slots; only while nobody reads

  /// Waits until what was opened for replies is closed.
  void Settle() const {
    while (answered_ < received_) std::this_thread::yield();
  }

 private:
  void Run() {
    for (Received one = ReceiveMessage(socket_.get()); !one.text.empty();
         one = ReceiveMessage(socket_.get())) {
      ++received_;
      Answer(*DecodeRequest(one.text));
      ++answered_;
    }
  }

  void Answer(const FetchRequest& request) {
    FetchReply reply;
    reply.id = request.id;
    std::vector<BlockFile> files;
    std::vector<int> descriptors;
    reply.kept = keeps;
    if (!request.takes_files) ++copied;
    for (size_t i = 0; i < request.slots.size(); ++i) {
      const uint64_t granule = request.first + i;
      if (!files.empty() && files.back().Covers(granule)) continue;
      std::optional<BlockFile> file;
      if (passes && request.takes_files && files.size() < kMaxPassed) {
        file = store_.OpenFile(kKey, granule);
      }
      if (!file) {
        Fill(request.slots[i], granule);
        continue;
      }
      reply.files.push_back({file->first(), file->count()});
      reply.digest = file->digest();
      descriptors.push_back(file->descriptor());
      files.push_back(std::move(*file));
      ++passed;
    }
    if (!files.empty() && spoil) spoil(reply);
    (void)SendMessage(socket_.get(), Encode(reply), descriptors);
    if (keeps_open) std::ranges::move(files, std::back_inserter(open_));
  }

  void Fill(uint16_t slot, uint64_t granule) {
    filled.insert(slot);
    const Bytes bytes = AsBytes(data_).subspan(
        granule * kGranuleBytes, GranuleSize(data_.size(), granule));
    std::ranges::copy(bytes, slots_ + slot * kGranuleBytes);
  }

  const Fd socket_;
  std::byte* const slots_;
  const std::string& data_;
  BlockStore& store_;
  std::vector<BlockFile> open_;
  std::atomic<unsigned> received_ = 0;
  std::atomic<unsigned> answered_ = 0;
  std::thread thread_;
};

class PassedFiles : public testing::Test {
 protected:
  void SetUp() override {
    for (size_t i = 0; i < data_.size(); ++i) {
      data_[i] = static_cast<char>(i * 31 + i / kGranuleBytes);
    }
    for (uint64_t first = 0; first < Granules(); first += kRun) Keep(first);
  }
  void TearDown() override {
    client_.reset();
    fetcher_.reset();
  }

  uint64_t Granules() const { return (data_.size() - 1) / kGranuleBytes + 1; }
  void Keep(uint64_t first) {
    std::vector<Bytes> blocks;
    for (uint64_t i = first; i < std::min(first + kRun, Granules()); ++i) {
      blocks.push_back(AsBytes(data_).subspan(i * kGranuleBytes,
                                              GranuleSize(data_.size(), i)));
    }
    store_->Write(kKey, first, blocks);
  }
  void Start() {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    SharedSlots slots = *SharedSlots::Make();
    std::byte* const memory = slots.At(0).data();
    client_ = std::make_unique<FetchClient>(Fd(ends[0]), std::move(slots),
                                            std::chrono::minutes(1));
    fetcher_ =
        std::make_unique<PassingFetcher>(Fd(ends[1]), memory, data_, *store_);
    object_ = client_->Known("http://host/o", {"\"e\"", "", data_.size()}, 0);
  }
  /// The bytes at `offset`; empty if reading fails.
  std::string Read(uint64_t offset, size_t size) {
    std::string text(size, '\0');
    const Status read = client_->Read(
        object_, offset, std::as_writable_bytes(std::span(text)), Request());
    return read ? text : "";
  }
  std::string Expected(uint64_t offset, size_t size) const {
    return data_.substr(offset, size);
  }
  std::filesystem::path FileOf(uint64_t first) const {
    const std::string name = std::to_string(first) + "-" + std::to_string(kRun);
    for (const auto& one :
         std::filesystem::recursive_directory_iterator(dir_.Path("cache"))) {
      if (one.path().filename() == name) return one.path();
    }
    return {};
  }
  static size_t Descriptors() {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return static_cast<size_t>(std::distance(begin(all), end(all)));
  }

  /// Uses all descriptors up to the last one that is returned: there may be
  /// gaps between those that the process was started with.
  static std::vector<Fd> FillGaps() {
    int highest = 0;
    for (const auto& one :
         std::filesystem::directory_iterator("/proc/self/fd")) {
      highest = std::max(highest, std::stoi(one.path().filename()));
    }
    std::vector<Fd> gaps;
    do {
      gaps.emplace_back(::dup(STDERR_FILENO));
    } while (gaps.back().get() <= highest);
    return gaps;
  }

  TempDir dir_;
  // 72 files, and a last one that is shorter.
  std::string data_ = std::string(72 * kRun * kGranuleBytes + 12345, '\0');
  std::unique_ptr<BlockStore> store_ =
      *BlockStore::Open(dir_.Path("cache"), 1 << 30);
  std::unique_ptr<FetchClient> client_;
  std::unique_ptr<PassingFetcher> fetcher_;
  RemoteObject object_;
};

TEST_F(PassedFiles, Item30_5_AreReadInPlaceOfCopies) {
  Start();
  const size_t mib = 1 << 20;
  for (uint64_t at = 77; at + mib < data_.size(); at += mib) {
    ASSERT_EQ(Read(at, mib), Expected(at, mib)) << at;
  }
  EXPECT_EQ(Read(data_.size() - 5, 5), Expected(data_.size() - 5, 5));
  EXPECT_EQ(Read(0, data_.size()), data_);
  EXPECT_GE(fetcher_->passed, 73U);
  EXPECT_EQ(fetcher_->copied, 0U);
  EXPECT_GE(client_->stats().cached, data_.size());
}

TEST_F(PassedFiles, Item30_4_AReaderOfAllUsesTheSameSlotsAgain) {
  Start();
  fetcher_->passes = false;
  const uint64_t whole = Granules() - 1;
  for (const bool keeps : {true, false}) {
    fetcher_->keeps = keeps;
    fetcher_->filled.clear();
    for (uint64_t i = keeps ? 0 : whole / 2; i < (keeps ? whole / 2 : whole);
         ++i) {
      const uint64_t at = i * kGranuleBytes;
      client_->Prefetch(object_, at, kGranuleBytes);
      ASSERT_EQ(Read(at, kGranuleBytes), Expected(at, kGranuleBytes));
      fetcher_->Settle();
    }
    // What only this memory has stays in it.
    EXPECT_EQ(fetcher_->filled.size(), keeps ? 1 : whole - whole / 2);
  }
}

TEST_F(PassedFiles, Item30_5_NoMoreThanTheBoundStayOpen) {
  const size_t before = Descriptors();
  Start();
  EXPECT_EQ(Read(0, data_.size()), data_);
  fetcher_->Settle();
  // The two ends of the socket as well, and what ends a wait for it.
  constexpr size_t kOthers = 3;
  EXPECT_LE(Descriptors(), before + kOthers + OpenDescriptors::kMax);
  EXPECT_GT(Descriptors(), before + kOthers);
  TearDown();
  EXPECT_EQ(Descriptors(), before);
}

TEST_F(PassedFiles, Item30_5_DamageWhileAFileIsHeldIsFetchedAgain) {
  Start();
  EXPECT_EQ(Read(0, kGranuleBytes), Expected(0, kGranuleBytes));
  const Fd file(::open(FileOf(0).c_str(), O_WRONLY));
  ASSERT_TRUE(file.ok());
  const auto at =
      static_cast<off_t>(BlockFile::HeadBytes(kRun) + 2 * kGranuleBytes + 9);
  ASSERT_EQ(::pwrite(file.get(), "damage", 6, at), 6);
  EXPECT_EQ(Read(0, kRun * kGranuleBytes), Expected(0, kRun * kGranuleBytes));
  EXPECT_GE(fetcher_->copied, 1U);
  // A part of a granule, too.
  EXPECT_EQ(Read(3 * kGranuleBytes - 7, 5), Expected(3 * kGranuleBytes - 7, 5));
}

TEST_F(PassedFiles, Item30_5_AFileThatIsCutWhileItIsHeldIsFetchedAgain) {
  Start();
  const size_t size = kRun * kGranuleBytes;
  uint64_t first = 0;
  for (const uint64_t length : {BlockFile::HeadBytes(kRun) + kGranuleBytes + 3,
                                uint64_t{10}, uint64_t{0}}) {
    const uint64_t at = first * kGranuleBytes;
    EXPECT_EQ(Read(at + 5, 10), Expected(at + 5, 10));
    std::filesystem::resize_file(FileOf(first), length);
    const unsigned copied = fetcher_->copied;
    EXPECT_EQ(Read(at, size), Expected(at, size)) << length;
    EXPECT_EQ(fetcher_->copied, copied + 1) << length;
    first += kRun;
  }
}

TEST_F(PassedFiles, Item30_5_AFileThatTheCacheDroppedIsAskedForAgain) {
  Start();
  EXPECT_EQ(Read(0, kGranuleBytes), Expected(0, kGranuleBytes));
  std::filesystem::remove(FileOf(0));
  Keep(0);  // another file of the same name
  const unsigned passed = fetcher_->passed;
  EXPECT_EQ(Read(kGranuleBytes, kGranuleBytes),
            Expected(kGranuleBytes, kGranuleBytes));
  EXPECT_EQ(fetcher_->passed, passed + 1);
}

TEST_F(PassedFiles, Item30_5_WithoutRoomForDescriptorsBytesAreCopied) {
  Start();
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  const std::vector<Fd> gaps = FillGaps();
  // What the fetcher of the test opens takes the last ones.
  fetcher_->keeps_open = true;
  const rlimit none{static_cast<rlim_t>(gaps.back().get()) + 2, limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const std::string read = Read(0, 4 * kRun * kGranuleBytes);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(read, Expected(0, 4 * kRun * kGranuleBytes));
  EXPECT_GE(fetcher_->copied, 1U);
}

TEST_F(PassedFiles, Item30_BadInput_AReplyThatIsNotTrueOfItsFileIsNotBelieved) {
  const size_t size = kRun * kGranuleBytes;
  const std::vector<std::function<void(FetchReply&)>> lies = {
      [](FetchReply& reply) { reply.digest[0] ^= 1; },
      [](FetchReply& reply) { reply.digest.clear(); },
      [](FetchReply& reply) { ++reply.files[0].count; },
      [](FetchReply& reply) {
        reply.files.push_back({kRun, kRun});
      }};
  for (const auto& lie : lies) {
    Start();
    fetcher_->spoil = lie;
    EXPECT_EQ(Read(0, 2 * size), Expected(0, 2 * size));
    EXPECT_EQ(Read(3 * size, size), Expected(3 * size, size));
    EXPECT_GE(fetcher_->copied, 1U);
    TearDown();
  }
}

TEST_F(PassedFiles, Item30_BadInput_DescriptorsOfUnknownRepliesAreClosed) {
  Start();
  EXPECT_EQ(Read(0, 10), Expected(0, 10));
  fetcher_->Settle();
  const size_t before = Descriptors();
  fetcher_->spoil = [](FetchReply& reply) { reply.epoch = 9; };
  std::string text(10, '\0');
  SettableInterrupt interrupt;
  std::thread stopper([&] {
    while (fetcher_->passed < 2) std::this_thread::yield();
    interrupt.Set();
  });
  EXPECT_FALSE(client_->Read(object_, 2 * kRun * kGranuleBytes,
                             std::as_writable_bytes(std::span(text)),
                             Request(interrupt)));
  stopper.join();
  fetcher_->Settle();  // its thread may still be about to spoil the reply
  fetcher_->spoil = nullptr;
  EXPECT_EQ(Read(4 * kRun * kGranuleBytes, 10),
            Expected(4 * kRun * kGranuleBytes, 10));
  fetcher_->Settle();
  EXPECT_EQ(Descriptors(), before + 1);
}

}  // namespace
}  // namespace ctxfs::remote
