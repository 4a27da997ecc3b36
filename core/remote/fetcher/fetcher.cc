// SPDX-License-Identifier: Apache-2.0
#include "core/remote/fetcher/fetcher.h"

#include <malloc.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <memory>
#include <sstream>
#include <utility>
#include <vector>

#include "core/base/text/text.h"
#include "core/remote/client/channel.h"
#include "core/remote/client/messages.h"
#include "core/remote/fetcher/answers.h"
#include "core/remote/fetcher/aws_metadata.h"
#include "core/remote/fetcher/cache_writer.h"
#include "core/remote/fetcher/curl.h"
#include "core/remote/fetcher/fetch_job.h"
#include "core/remote/fetcher/transfer_thread.h"

namespace ctxfs::remote {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// Threads that run transfers. More threads would gain nothing, because the
// server or the cache's disk is the limit.
constexpr size_t kThreads = 2;

class Fetcher {
 public:
  Fetcher(int socket, const SharedSlots& slots, const Settings& settings,
          const std::string& certificates, BlockStore* cache, uint32_t epoch)
      : socket_(socket),
        slots_(slots),
        settings_(std::make_shared<const Settings>(settings)),
        cache_(cache),
        epoch_(epoch) {
    if (settings.metadata) metadata_.emplace(*settings.metadata);
    if (cache != nullptr) writer_.emplace(*cache, slots, socket);
    for (auto& thread : threads_) {
      thread = std::make_unique<TransferThread>(socket, certificates, slots,
                                                writer_ ? &*writer_ : nullptr);
    }
  }
  Fetcher(const Fetcher&) = delete;
  Fetcher& operator=(const Fetcher&) = delete;

  bool Run() {
    constexpr int kLongest = 10'000;  // milliseconds
    while (!broken()) {
      struct pollfd readable {
        socket_, POLLIN, 0
      };
      if (::poll(&readable, 1, kLongest) < 0 && errno != EINTR) return false;
      if (readable.revents == 0) continue;
      const Outcome received = ReceiveAll();
      if (received != Outcome::kNothingMore) return received == Outcome::kEnd;
    }
    return false;
  }

 private:
  enum class Outcome { kNothingMore, kEnd, kFailed };

  bool broken() const {
    return broken_ || (writer_ && writer_->broken()) ||
           std::ranges::any_of(
               threads_, [](const auto& thread) { return thread->broken(); });
  }

  Outcome ReceiveAll() {
    std::string message(kMaxMessageBytes, '\0');
    while (true) {
      const ssize_t n =
          ::recv(socket_, message.data(), message.size(), MSG_DONTWAIT);
      if (n == 0) return Outcome::kEnd;
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EAGAIN) return Outcome::kNothingMore;
      if (n < 0 && errno == ECONNRESET) return Outcome::kEnd;
      if (n < 0) return Outcome::kFailed;
      auto request = DecodeRequest(
          std::string_view(message).substr(0, static_cast<size_t>(n)));
      if (request && request->epoch == epoch_) Accept(std::move(*request));
    }
  }

  void Accept(FetchRequest request) {
    FetchJob job;
    job.request = std::move(request);
    job.reply.id = job.request.id;
    job.reply.epoch = epoch_;
    job.settings = settings_;
    job.deadline = Clock::now() + settings_->timeout;
    job.next = Clock::now();
    for (const uint16_t slot : job.request.slots) {
      if (slot >= SharedSlots::kCount) return;
    }
    if (job.request.flush) return Flush(std::move(job.reply));
    const FetchRequest& asked = job.request;
    Result<Location> location =
        asked.page ? LocatePage(asked.url, *asked.page, settings_->endpoints)
                   : Locate(asked.url, settings_->endpoints);
    if (!location) return Reply(job, std::move(location).error());
    job.location = std::move(*location);
    if (settings_->offline) {
      if (Status known = TakeLastAnswer(job); !known) {
        return Reply(job, known.error());
      }
    }
    if (!settings_->offline && asked.tail && ReplyWithLastTail(job)) return;
    Plan(job);
    if (ReplyFromCache(job)) return;
    if (settings_->offline) return Reply(job, job.NotCached());
    if (metadata_ && job.location.service == Service::kS3) {
      if (Status renewed = RenewKeys(); !renewed) {
        return Reply(job, renewed.error());
      }
      job.settings = settings_;
    }
    NextThread().Add(std::move(job));
  }

  /// Replies when the cache has what was fetched before.
  void Flush(FetchReply reply) {
    if (writer_) {
      CacheWriter::Task task;
      task.reply = std::move(reply);
      return writer_->Add(std::move(task));
    }
    broken_ = !SendMessage(socket_, Encode(reply)) || broken_;
  }

  Status RenewKeys() {
    Settings renewed = *settings_;
    CTXFS_TRY(metadata_->Renew(renewed.aws));
    settings_ = std::make_shared<const Settings>(std::move(renewed));
    return {};
  }

  /// Returns the first thread with few jobs, which likely has an open
  /// connection without one, or else the thread with the fewest jobs.
  TransferThread& NextThread() {
    constexpr size_t kFew = 4;
    const auto waits = [](const auto& thread) {
      const size_t jobs = thread->jobs();
      return jobs < kFew ? 0 : jobs;
    };
    return **std::ranges::min_element(threads_, {}, waits);
  }

  /// Completes a request without an identity from its last cached response.
  Status TakeLastAnswer(FetchJob& job) {
    FetchRequest& request = job.request;
    if (request.identity) return {};
    const auto last = cache_ == nullptr ? std::nullopt
                                        : LastAnswer(*cache_, job.location.url);
    if (!last) return job.NotCached();
    if (last->error) return *last->error;
    job.reply.identity = last->identity;
    job.reply.last_modified = last->last_modified;
    job.reply.page_bytes = last->page_bytes;
    job.reply.link = last->link;
    request.identity = last->identity;
    // Requests as many granules as the page or object has, but at least one,
    // because any request must have one.
    const uint64_t granules =
        (std::max<uint64_t>(last->identity.size, 1) - 1) / kGranuleBytes + 1;
    request.first = request.tail ? FirstOfTail(last->identity.size) : 0;
    request.slots.resize(
        std::min<size_t>(request.slots.size(), granules - request.first));
    return {};
  }

  /// Replies with the tail of the object from its last opening, if the cache
  /// has it. The opening then checks that the object is unchanged.
  bool ReplyWithLastTail(FetchJob& job) {
    const FetchRequest request = job.request;
    if (cache_ != nullptr && TakeLastAnswer(job)) {
      Plan(job);
      if (ReplyFromCache(job)) return true;
    }
    job.request = request;
    job.reply = {};
    job.reply.id = request.id;
    job.reply.epoch = epoch_;
    job.out.clear();
    return false;
  }

  /// Bytes of granule `number` of the request, counted from 0.
  uint64_t BytesOf(const FetchRequest& request, size_t number) const {
    if (!request.identity) return kGranuleBytes;
    return GranuleSize(request.identity->size, request.first + number);
  }

  /// Takes granules from the cache, and plans the rest as one range.
  void Plan(FetchJob& job) {
    const FetchRequest& request = job.request;
    std::vector<MutableBytes> slots;
    for (size_t i = 0; i < request.slots.size(); ++i) {
      slots.push_back(slots_.At(request.slots[i])
                          .first(static_cast<size_t>(BytesOf(request, i))));
    }
    size_t from = slots.size();
    size_t to = 0;
    for (size_t i = 0; i < slots.size();) {
      const size_t next = NextCached(job, i);
      size_t cached = 0;
      if (next == i) cached = PassFile(job, i);
      if (next == i && cached == 0) cached = TakeCached(job, slots, i);
      if (cached > 0) {
        i += cached;
        continue;
      }
      from = std::min(from, i);
      i = std::max(next, i + 1);
      to = i;
    }
    job.asked = {(request.first + from) * kGranuleBytes, 0, request.identity,
                 request.page.has_value(), request.tail && !request.identity};
    for (size_t i = from; i < to; ++i) {
      job.asked.length += slots[i].size();
      job.out.push_back(slots[i]);
    }
  }

  /// Replies if the cache has all granules of the request; returns whether it
  /// has replied. Passes files only if the request is then complete and the
  /// files can be sent. Otherwise copies the contents of the files into the
  /// slots, plans again, and replies if that made the request complete.
  bool ReplyFromCache(FetchJob& job) {
    const bool complete = job.asked.length == 0;
    if (complete && (job.files.empty() || PassFiles(job))) {
      job.reply.kept = true;
      if (job.files.empty()) Reply(job);
      return true;
    }
    if (job.files.empty()) return false;
    job.files.clear();
    job.reply.cached = 0;
    job.request.takes_files = false;
    job.out.clear();
    Plan(job);
    return ReplyFromCache(job);
  }

  /// Replies with files; false if they cannot be passed, for instance because
  /// too many are in flight.
  bool PassFiles(FetchJob& job) {
    std::vector<int> descriptors;
    for (const BlockFile& file : job.files) {
      descriptors.push_back(file.descriptor());
      job.reply.files.push_back({file.first(), file.count()});
    }
    job.reply.digest = job.files.front().digest();
    const bool passed = SendMessage(socket_, Encode(job.reply), descriptors);
    job.reply.files.clear();
    return passed;
  }

  /// Returns the index in the request of the first granule, from index `i` on,
  /// that the cache seems to have; if there is none, how many granules the
  /// request has. One such call is faster than looking up each granule.
  size_t NextCached(const FetchJob& job, size_t i) const {
    const FetchRequest& request = job.request;
    const uint64_t end = request.first + request.slots.size();
    if (cache_ == nullptr || !request.identity) return request.slots.size();
    const uint64_t next = cache_->NextKept(job.CacheKey(*request.identity),
                                           request.first + i, end);
    return static_cast<size_t>(next - request.first);
  }

  /// Opens a file to be passed that has granule `i` of the request, and returns
  /// the number of consecutive granules of the request in it. 0: there is none,
  /// or it is so short that copying costs no more.
  size_t PassFile(FetchJob& job, size_t i) {
    constexpr uint32_t kLeastBlocks = 8;
    const FetchRequest& request = job.request;
    if (!request.takes_files || cache_ == nullptr || !request.identity ||
        job.files.size() >= kMaxPassed) {
      return 0;
    }
    std::optional<BlockFile> file =
        cache_->OpenFile(job.CacheKey(*request.identity), request.first + i);
    if (!file || file->count() < kLeastBlocks) return 0;
    const uint64_t covered = file->end() - request.first - i;
    job.files.push_back(std::move(*file));
    return static_cast<size_t>(
        std::min<uint64_t>(covered, request.slots.size() - i));
  }

  /// Fills slots from number `i` on from the cache; returns their number.
  size_t TakeCached(FetchJob& job, const std::vector<MutableBytes>& slots,
                    size_t i) {
    const FetchRequest& request = job.request;
    if (cache_ == nullptr || !request.identity) return 0;
    const auto wanted = std::span<const MutableBytes>(slots).subspan(i);
    const size_t cached = cache_->Read(job.CacheKey(*request.identity),
                                       request.first + i, wanted);
    for (const MutableBytes slot : wanted.first(cached)) {
      job.reply.cached += slot.size();
    }
    return cached;
  }

  void Reply(FetchJob& job, std::optional<Error> error = std::nullopt) {
    job.reply.error = std::move(error);
    broken_ = !SendMessage(socket_, Encode(job.reply)) || broken_;
  }

  const int socket_;
  const SharedSlots& slots_;
  std::shared_ptr<const Settings> settings_;
  std::optional<AwsMetadata> metadata_;
  BlockStore* const cache_;
  const uint32_t epoch_;
  bool broken_ = false;
  std::optional<CacheWriter> writer_;
  // Last: destroyed before the writer of the cache, which they use.
  std::array<std::unique_ptr<TransferThread>, kThreads> threads_;
};

}  // namespace

Result<std::string> LoadCertificates(const Settings& settings) {
  CTXFS_TRY(Curl::Load());
  const bool given = !settings.ca_file.empty();
  const std::string path =
      given ? settings.ca_file : "/etc/ssl/certs/ca-certificates.crt";
  std::ifstream file(path, std::ios::binary);
  std::ostringstream all;
  all << file.rdbuf();
  std::string text = std::move(all).str();
  if (given && (!file || text.empty())) {
    return Error{Code::kIo,
                 "the certificates in " + Quote(path) + " cannot be read"};
  }
  return text;
}

bool RunFetcher(int socket, const SharedSlots& slots, const Settings& settings,
                const std::string& certificates, BlockStore* cache,
                uint32_t epoch) {
  // Each transfer allocates a buffer. Keeps malloc from mapping it separately,
  // because then its pages would be faulted in again each time.
  constexpr int kMaxKept = 16 << 20;
  (void)::mallopt(M_MMAP_THRESHOLD, kMaxKept);
  (void)::mallopt(M_TRIM_THRESHOLD, kMaxKept);
  return Fetcher(socket, slots, settings, certificates, cache, epoch).Run();
}

}  // namespace ctxfs::remote
