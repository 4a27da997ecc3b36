// SPDX-License-Identifier: Apache-2.0
#include "core/remote/client/remote_source.h"

#include <algorithm>
#include <cerrno>
#include <vector>

#include "core/io/io_error.h"
#include "core/remote/stores/url.h"

namespace ctxfs::remote {
namespace {

// Streams of a source that are known at the same time: more than programs have
// readers of one object.
constexpr size_t kMaxStreams = 128;
// Maximum prefetch for a reader that has read little.
constexpr uint64_t kMaxAheadAtFirst = 8 << 20;
// The prefetched range grows when it lacks this much, or half of Stream::ahead
// if that is less: a request for each read would make many small ones.
constexpr uint64_t kGrowth = 4 << 20;
// Announced ranges this close are fetched as one: the bytes between them take
// less time than another request.
constexpr uint64_t kTogether = 128 * 1024;
// After kLeastIndex bytes of an index were read, it is fetched in ranges, each
// kIndexGrowth times as large as everything before it. So an index of 8 MiB
// takes four round trips.
constexpr uint64_t kLeastIndex = 32 * 1024;
constexpr uint64_t kIndexGrowth = 4;
// Reads this close belong to one stream, because the kernel's reads come in any
// order.
constexpr uint64_t kClose = 128 * 1024;
// So many reads in a row count as sequential. Two random reads are often close,
// three rarely.
constexpr unsigned kInARow = 3;

}  // namespace

Result<SourcePtr> RemoteSource::Open(std::shared_ptr<FetchClient> client,
                                     const std::string& url,
                                     const Request& request, bool with_tail) {
  const RemoteObject object = CTXFS_TRY(client->Open(url, request, with_tail));
  return SourcePtr(
      std::make_shared<const RemoteSource>(std::move(client), object));
}

FileTime RemoteSource::mtime() const {
  constexpr int64_t kSecond = 1'000'000'000;
  return {object_.modified_ns / kSecond, object_.modified_ns % kSecond};
}

std::string RemoteSource::name() const { return NameOf(object_.url); }

RemoteSource::Stream& RemoteSource::StreamOf(uint64_t offset,
                                             uint64_t length) const {
  const uint64_t end = offset + length;
  const auto is_near = [offset](const Stream& one) {
    return one.next <= offset + kClose && offset <= one.next + kClose;
  };
  auto stream = std::ranges::find_if(streams_, is_near);
  if (stream != streams_.end()) {
    // Reads in another order began more streams for the same reader.
    std::erase_if(streams_, [&](const Stream& one) {
      return &one > &*stream && is_near(one);
    });
  } else {
    if (streams_.size() < kMaxStreams) streams_.emplace_back();
    stream = std::ranges::min_element(streams_, {}, &Stream::used);
    *stream = {offset, end, offset};
  }
  stream->used = ++reads_;
  stream->next = std::max(stream->next, end);
  if (++stream->reads >= kInARow) Grow(*stream);
  return *stream;
}

const AheadBudget::Window& RemoteSource::WindowOf(Stream& stream) const {
  if (stream.window.most == 0) stream.window = client_->Share(&stream.reader);
  return stream.window;
}

void RemoteSource::Grow(Stream& stream) const {
  const AheadBudget::Window& window = WindowOf(stream);
  const uint64_t read = stream.next - stream.start;
  const uint64_t most = std::min(window.most, std::max(read, kMaxAheadAtFirst));
  stream.ahead = std::min(std::max(2 * stream.ahead, window.first), most);
}

uint64_t RemoteSource::EndOf(Stream& stream, uint64_t end,
                             const Ahead& known) const {
  const uint64_t last = end + std::min(known.bytes, size() - end);
  if (last > stream.last) ++stream.entries;
  stream.last = last;
  if (stream.entries <= 1) return last;
  // After a whole entry, prefetches beyond the second one, because a reader of
  // all entries would otherwise wait at the start of each; but at most as much
  // as was read already.
  const uint64_t read = stream.next - stream.start;
  return std::max(last, stream.next + std::min(read, size() - stream.next));
}

void RemoteSource::FetchKnown(Stream& stream, uint64_t offset, uint64_t length,
                              const Ahead& known) const {
  if (known.likelihood == Ahead::Likelihood::kCertain) {
    stream.ahead = WindowOf(stream).most;
  } else {
    stream.fetched = std::max(stream.fetched, offset + length);
  }
  const uint64_t last = EndOf(stream, offset + length, known);
  const uint64_t wanted = std::min(stream.next + stream.ahead, last);
  if (wanted <= stream.fetched) return;
  uint64_t more = wanted - stream.fetched;
  const bool ends = wanted == size() ||
                    (wanted >= stream.last && stream.fetched < stream.last);
  if (!ends && more < std::min(stream.ahead / 2, kGrowth)) return;
  if (!ends && more > kGrowth) more -= more % kGrowth;
  // The number of readers may have changed.
  stream.window = client_->Share(&stream.reader);
  stream.fetched = client_->Prefetch(object_, stream.fetched, more,
                                     stream.ahead, stream.reader);
}

void RemoteSource::FetchIndex(const Stream& stream, uint64_t offset,
                              uint64_t length) const {
  if (length == 0 || client_->Has(object_, offset + length - 1)) return;
  const uint64_t before = stream.next - length - stream.start;
  if (stream.next < stream.start + length || before < kLeastIndex) return;
  const uint64_t more = std::min(
      {kIndexGrowth * before, kMaxAheadAtFirst, size() - offset - length});
  (void)client_->Prefetch(object_, offset, length + more);
}

void RemoteSource::FetchAhead(uint64_t offset, uint64_t length,
                              const Ahead& known) const {
  const MutexLock lock(mutex_);
  Stream& stream = StreamOf(offset, length);
  if (known.likelihood == Ahead::Likelihood::kUnknown) {
    FetchIndex(stream, offset, length);
  } else {
    FetchKnown(stream, offset, length, known);
  }
}

void RemoteSource::Prefetch(std::span<const SourceRange> ranges) const {
  std::vector<SourceRange> sorted;
  for (const auto& [offset, length] : ranges) {
    if (offset >= size()) continue;
    sorted.push_back({offset, std::min(length, size() - offset)});
  }
  std::ranges::sort(sorted, {}, &SourceRange::offset);
  for (size_t i = 0; i < sorted.size();) {
    const uint64_t from = sorted[i].offset;
    uint64_t end = from + sorted[i].length;
    while (++i < sorted.size() && sorted[i].offset <= end + kTogether) {
      end = std::max(end, sorted[i].offset + sorted[i].length);
    }
    (void)client_->Prefetch(object_, from, end - from);
  }
}

Status RemoteSource::ReadAt(uint64_t offset, MutableBytes out,
                            const Request& request) const {
  if (!InBounds(offset, out.size(), size())) return PastTheEnd(offset);
  CTXFS_TRY(CheckUnchanged());
  FetchAhead(offset, out.size(), request.ahead());
  Status read = client_->Read(object_, offset, out, request);
  if (!read && read.error().code == Code::kStale) {
    stale_ = true;
    if (listed_.changed) listed_.changed();
  }
  return read;
}

Status RemoteSource::CheckUnchanged() const {
  if (!stale_) return {};
  return Error{Code::kStale,
               "the object changed on the server since it was opened"};
}

Result<SourcePtr> RemoteSource::OpenBeside(const std::string& path,
                                           const Request& request) const {
  const std::string url = CTXFS_TRY(UrlBeside(object_.url, path));
  Result<SourcePtr> opened = Open(client_, url, request);
  if (!opened && opened.error().sys_errno == ENOENT) {
    return Error{Code::kNotFound, "there is no such object beside this one"};
  }
  return opened;
}

}  // namespace ctxfs::remote
