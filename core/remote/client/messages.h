// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/remote/stores/listing.h"
#include "core/remote/stores/response.h"

namespace ctxfs::remote {

/// The unit of fetching and caching. Granules start at multiples of this size;
/// the last one of an object may be shorter.
constexpr uint64_t kGranuleBytes = 64 * 1024;
/// The size of an existing granule of an object of `size` bytes.
inline size_t GranuleSize(uint64_t size, uint64_t granule) {
  return static_cast<size_t>(
      std::min(kGranuleBytes, size - granule * kGranuleBytes));
}

/// Maximum granules per request.
constexpr size_t kMaxGranules = 64;
/// Granules that a fetch of an object's end covers: the last one, and a whole
/// one before it.
constexpr size_t kTailGranules = 2;
/// Returns the first granule that a fetch of the end covers, for an object of
/// `size` bytes: the first one that is wholly within the last kTailGranules *
/// kGranuleBytes bytes.
inline uint64_t FirstOfTail(uint64_t size) {
  const uint64_t whole = kTailGranules * kGranuleBytes;
  return size <= whole ? 0 : (size - whole + kGranuleBytes - 1) / kGranuleBytes;
}
inline uint64_t Granules(uint64_t size) {
  return size / kGranuleBytes + (size % kGranuleBytes == 0 ? 0 : 1);
}

/// Granules that a request for a page of a listing needs: enough for the
/// longest page, because the length is not known before.
constexpr size_t kPageGranules = kMaxPageBytes / kGranuleBytes;
/// Maximum number of durations of HTTP requests in a reply.
constexpr size_t kMaxTimes = 1024;
constexpr size_t kMaxMessageBytes = 16 * 1024;
/// Maximum bytes of an error's text in a reply: the rest is cut.
constexpr size_t kMaxErrorBytes = 4096;

/// A request to the fetcher, of one of four kinds. With an identity, it
/// fetches granules of an object, each into a slot of the shared memory. With a
/// `page`, it fetches a page of a listing, unparsed, into consecutive slots.
/// With neither, it opens an object: it fetches the current first granule, or
/// the tail. A tail is tried only once, because a server need not support it.
/// With `flush` and no slots, it waits until the cache has what was fetched.
struct FetchRequest {
  uint64_t id = 0;
  /// Number of fetchers that had ended when this was sent. A fetcher ignores
  /// requests that were sent to an earlier one; the client sends them again.
  uint32_t epoch = 0;
  std::string url;  // as the user gave it
  /// Set to request a page of the directory `url`: the token for LocatePage.
  std::optional<std::string> page;
  std::optional<Identity> identity;
  bool tail = false;   // the last granules, from FirstOfTail on
  uint64_t first = 0;  // number of the first granule
  std::vector<uint16_t> slots;
  /// Whether the reply may pass files of the cache instead of their bytes.
  bool takes_files = false;
  /// Whether the reply waits until the cache has the granules; else it does not
  /// wait, and the cache may lack them.
  bool waits_for_cache = false;
  bool flush = false;
};

/// A file of the cache (BlockFile) whose descriptor is sent with a reply.
struct PassedFile {
  uint64_t first = 0;
  uint32_t count = 0;
};

struct FetchReply {
  /// 0: not a reply, but the message that fetcher `epoch` has replaced one that
  /// ended.
  uint64_t id = 0;
  uint32_t epoch = 0;
  std::optional<Error> error;
  Identity identity;          // of an opened object, or of a tail's object
  std::string last_modified;  // of an opened object
  uint64_t page_bytes = 0;    // of a page of a listing
  std::string link;           // the header field Link of the page
  uint32_t requests = 0;      // HTTP requests made, including retries
  uint64_t received = 0;      // bytes of bodies
  uint64_t cached = 0;        // bytes of the slots that came from the cache
  bool kept = false;          // the cache has, or gets, the slots' contents
  uint32_t timeout_ms = 0;    // of the first message: Settings::timeout
  /// BlockStore::refusal after the blocks were written; nullopt: nothing was
  /// written.
  std::optional<uint32_t> refusal;
  /// In the order of the descriptors, at most kMaxPassed. Slots of granules in
  /// these files are unchanged.
  std::vector<PassedFile> files;
  std::string digest;             // of the key of these files
  std::vector<uint32_t> took_us;  // of each finished HTTP request
  /// From the last HTTP request to the first byte of its response, if that was
  /// taken; 0: unknown.
  uint32_t first_us = 0;
  uint64_t skipped = 0;  // bytes that the cache does not get, as it is behind
};

std::string Encode(const FetchRequest& request);
std::string Encode(const FetchReply& reply);
/// Changes the epoch in an encoded request.
void SetEpoch(std::string& request, uint32_t epoch);
/// nullopt if `message` is malformed, or exceeds a limit.
std::optional<FetchRequest> DecodeRequest(std::string_view message);
std::optional<FetchReply> DecodeReply(std::string_view message);

}  // namespace ctxfs::remote
