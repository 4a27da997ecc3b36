// SPDX-License-Identifier: Apache-2.0
#include "core/remote/fetcher.h"

#include <malloc.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <list>
#include <memory>
#include <random>
#include <sstream>
#include <utility>
#include <vector>

#include "core/base/seed.h"
#include "core/base/text.h"
#include "core/remote/answers.h"
#include "core/remote/aws_metadata.h"
#include "core/remote/cache_writer.h"
#include "core/remote/channel.h"
#include "core/remote/curl.h"
#include "core/remote/fetch_job.h"
#include "core/remote/messages.h"
#include "core/remote/transfer.h"

namespace ctxfs::remote {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr long kMostConnections = 8;
constexpr size_t kMostActive = 16;
constexpr milliseconds kFirstDelay(100);
constexpr milliseconds kLongestDelay(8000);
// Few, so that opening fails soon if the host does not exist.
constexpr unsigned kMostOpenAttempts = 3;

class Fetcher {
 public:
  Fetcher(int socket, const SharedSlots& slots, const Settings& settings,
          const std::string& certificates, BlockStore* cache, uint32_t epoch)
      : socket_(socket),
        slots_(slots),
        settings_(settings),
        certificates_(certificates),
        cache_(cache),
        epoch_(epoch),
        multi_(Curl::Get().multi_init()) {
    if (multi_ == nullptr) throw std::bad_alloc();
    if (settings.metadata) metadata_.emplace(*settings.metadata);
    if (cache != nullptr) writer_.emplace(*cache, socket);
    Curl::Get().multi_setopt(multi_.get(), CURLMOPT_MAX_TOTAL_CONNECTIONS,
                             kMostConnections);
    Curl::Get().multi_setopt(multi_.get(), CURLMOPT_MAXCONNECTS,
                             kMostConnections);
  }
  // A transfer leaves the multi handle before that is freed.
  ~Fetcher() {
    for (FetchJob& job : jobs_) Stop(job);
  }
  Fetcher(const Fetcher&) = delete;
  Fetcher& operator=(const Fetcher&) = delete;

  bool Run() {
    while (true) {
      curl_waitfd socket{socket_, CURL_WAIT_POLLIN, 0};
      if (Curl::Get().multi_poll(multi_.get(), &socket, 1, UntilNext(),
                                 nullptr) != CURLM_OK) {
        return false;
      }
      if (socket.revents != 0) {
        const Outcome received = ReceiveAll();
        if (received != Outcome::kNothingMore) {
          return received == Outcome::kEnd;
        }
      }
      StartDue();
      int running = 0;
      (void)Curl::Get().multi_perform(multi_.get(), &running);
      FinishDone();
      if (broken_ || (writer_ && writer_->broken())) return false;
    }
  }

 private:
  enum class Outcome { kNothingMore, kEnd, kFailed };
  using Jobs = std::list<FetchJob>;
  struct FreeMulti {
    void operator()(CURLM* multi) const { Curl::Get().multi_cleanup(multi); }
  };

  Outcome ReceiveAll() {
    std::string message(kMostMessageBytes, '\0');
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
    job.deadline = Clock::now() + settings_.timeout;
    job.next = Clock::now();
    for (const uint16_t slot : job.request.slots) {
      if (slot >= SharedSlots::kCount) return;
    }
    const FetchRequest& asked = job.request;
    Result<Location> location =
        asked.page ? LocatePage(asked.url, *asked.page, settings_.endpoints)
                   : Locate(asked.url, settings_.endpoints);
    if (!location) return Reply(job, std::move(location).error());
    job.location = std::move(*location);
    if (settings_.offline) {
      if (Status known = TakeLastAnswer(job); !known) {
        return Reply(job, known.error());
      }
    }
    if (!settings_.offline && asked.tail && ReplyWithLastTail(job)) return;
    Plan(job);
    if (ReplyFromCache(job)) return;
    if (settings_.offline) return Reply(job, job.NotCached());
    if (metadata_ && job.location.service == Service::kS3) {
      if (Status renewed = metadata_->Renew(settings_.aws); !renewed) {
        return Reply(job, renewed.error());
      }
    }
    jobs_.push_back(std::move(job));
  }

  /// Completes a request that has no identity by the last answer to it.
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
    // As many as the page or object has; at least one, as in any request.
    const uint64_t granules =
        (std::max<uint64_t>(last->identity.size, 1) - 1) / kGranuleBytes + 1;
    request.first = request.tail ? FirstOfTail(last->identity.size) : 0;
    request.slots.resize(
        std::min<size_t>(request.slots.size(), granules - request.first));
    return {};
  }

  /// Replies with the tail that the object had when it was opened last, if the
  /// cache has it. Whether it still is that object is told by its opening.
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

  /// Takes what the cache has, and asks for the rest in one range.
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

  /// Replies if the cache has all that was asked for. If not, or if files
  /// cannot be passed, what files have is copied into the slots.
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

  /// Replies with files; false if they cannot be passed, such as when too many
  /// are on their way.
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

  /// The first granule of the request from number `i` on that the cache seems
  /// to have: looking each of many up takes long. Their count if there is none.
  size_t NextCached(const FetchJob& job, size_t i) const {
    const FetchRequest& request = job.request;
    const uint64_t end = request.first + request.slots.size();
    if (cache_ == nullptr || !request.identity) return request.slots.size();
    const uint64_t next = cache_->NextKept(job.CacheKey(*request.identity),
                                           request.first + i, end);
    return static_cast<size_t>(next - request.first);
  }

  /// Opens a file to be passed that has granule `i` of the request, and returns
  /// how many of the request's granules it has from there on. 0: there is none,
  /// or it is so short that copying is as good.
  size_t PassFile(FetchJob& job, size_t i) {
    constexpr uint32_t kLeastBlocks = 8;
    const FetchRequest& request = job.request;
    if (!request.takes_files || cache_ == nullptr || !request.identity ||
        job.files.size() >= kMostPassed) {
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

  /// Fills slots from number `i` on from the cache; returns how many.
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

  /// Milliseconds until the next attempt is due.
  int UntilNext() const {
    constexpr milliseconds kLongest(10'000);
    milliseconds wait = kLongest;
    const Clock::time_point now = Clock::now();
    for (const FetchJob& job : jobs_) {
      if (job.transfer != nullptr) continue;
      if (active_ >= kMostActive) break;
      const auto left = std::chrono::ceil<milliseconds>(job.next - now);
      wait = std::clamp(left, milliseconds(0), wait);
    }
    return static_cast<int>(wait.count());
  }

  void StartDue() {
    const Clock::time_point now = Clock::now();
    for (FetchJob& job : jobs_) {
      if (active_ >= kMostActive) return;
      if (job.transfer == nullptr && job.next <= now) Start(job);
    }
  }

  void Start(FetchJob& job) {
    const auto left = std::max(
        milliseconds(1),
        std::chrono::duration_cast<milliseconds>(job.deadline - Clock::now()));
    job.started = Clock::now();
    job.transfer = std::make_unique<Transfer>(
        job.location, settings_, certificates_, job.asked, job.out, left);
    ++job.attempts;
    ++job.reply.requests;
    ++active_;
    (void)Curl::Get().multi_add_handle(multi_.get(), job.transfer->handle());
  }

  void Stop(FetchJob& job) {
    if (job.transfer == nullptr) return;
    (void)Curl::Get().multi_remove_handle(multi_.get(), job.transfer->handle());
    job.transfer.reset();
    --active_;
  }

  void FinishDone() {
    int left = 0;
    while (CURLMsg* const message =
               Curl::Get().multi_info_read(multi_.get(), &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      CURL* const easy = message->easy_handle;
      const CURLcode result = message->data.result;
      const auto job = std::ranges::find_if(jobs_, [easy](const FetchJob& one) {
        return one.transfer != nullptr && one.transfer->handle() == easy;
      });
      if (job != jobs_.end()) Finish(job, result);
    }
  }

  void Finish(Jobs::iterator job, CURLcode result) {
    const Result<Promise> promise = job->transfer->Finish(result);
    const std::optional<uint64_t> retry_after = job->transfer->retry_after();
    job->reply.took_us.push_back(job->Took());
    job->reply.received += job->transfer->received();
    job->reply.last_modified = job->transfer->last_modified();
    job->reply.link = job->transfer->link();
    Stop(*job);
    if (!promise && promise.error().sys_errno == EAGAIN &&
        Delay(*job, retry_after)) {
      return;
    }
    if (promise) {
      job->reply.identity = promise->identity;
      if (job->request.page) job->reply.page_bytes = promise->length;
      uint64_t length = promise->length;
      if (job->asked.tail) {
        const uint64_t size = promise->identity.size;
        job->asked.offset = FirstOfTail(size) * kGranuleBytes;
        length = size - job->asked.offset;
      }
      Keep(*job, length);
    } else {
      Fail(*job, promise.error());
    }
    jobs_.erase(job);
  }

  /// Sets the time of the next attempt; false if there is none before the
  /// deadline.
  bool Delay(FetchJob& job, std::optional<uint64_t> retry_after) {
    if (job.asked.tail) return false;
    if (!job.request.identity && !retry_after &&
        job.attempts >= kMostOpenAttempts) {
      return false;
    }
    const unsigned doublings = std::min(job.attempts - 1, 7U);
    const milliseconds most =
        std::min(kFirstDelay * (1 << doublings), kLongestDelay);
    // Jitter: clients that failed together do not come back together.
    milliseconds delay(std::uniform_int_distribution<int64_t>(
        most.count() / 2, most.count())(random_));
    if (retry_after) {
      // Compared in seconds: converting a huge number would overflow.
      if (*retry_after > 3600) return false;
      delay = std::max(delay,
                       milliseconds(1000 * static_cast<int64_t>(*retry_after)));
    }
    job.next = Clock::now() + delay;
    return job.next < job.deadline;
  }

  /// Replies, and keeps the `length` bytes that were fetched.
  void Keep(FetchJob& job, uint64_t length) {
    if (!writer_) return Reply(job);
    CacheWriter::Task task;
    for (const MutableBytes granule : job.out) {
      const uint64_t bytes = std::min<uint64_t>(length, granule.size());
      if (bytes == 0) break;
      task.blocks.push_back(granule.first(static_cast<size_t>(bytes)));
      length -= bytes;
    }
    if (job.request.page) job.reply.identity = IdentityOfPage(task.blocks);
    task.key = job.CacheKey(job.reply.identity);
    task.first = job.asked.offset / kGranuleBytes;
    AddTask(job, std::move(task));
  }

  /// Replies with an error, and keeps it if it says that there is no such
  /// object.
  void Fail(FetchJob& job, const Error& error) {
    if (!writer_ || job.request.identity || job.asked.tail ||
        error.sys_errno != ENOENT) {
      return Reply(job, error);
    }
    job.reply.error = error;
    AddTask(job, {});
  }

  void AddTask(const FetchJob& job, CacheWriter::Task task) {
    if (!job.request.identity && !job.asked.tail) {
      task.record_key = AnswerKey(job.location.url);
      task.record = AnswerRecord(job.reply);
    }
    task.reply = job.reply;
    writer_->Add(std::move(task));
  }

  void Reply(FetchJob& job, std::optional<Error> error = std::nullopt) {
    job.reply.error = std::move(error);
    broken_ = !SendMessage(socket_, Encode(job.reply)) || broken_;
  }

  const int socket_;
  const SharedSlots& slots_;
  Settings settings_;
  std::optional<AwsMetadata> metadata_;
  const std::string& certificates_;
  BlockStore* const cache_;
  const uint32_t epoch_;
  std::unique_ptr<CURLM, FreeMulti> multi_;
  std::mt19937_64 random_{RandomSeed()};
  Jobs jobs_;
  size_t active_ = 0;  // jobs with a transfer
  bool broken_ = false;
  std::optional<CacheWriter> writer_;
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
  // Each transfer has a buffer: as a mapping of its own, its pages would be
  // new each time.
  constexpr int kMostKept = 16 << 20;
  (void)::mallopt(M_MMAP_THRESHOLD, kMostKept);
  (void)::mallopt(M_TRIM_THRESHOLD, kMostKept);
  return Fetcher(socket, slots, settings, certificates, cache, epoch).Run();
}

}  // namespace ctxfs::remote
