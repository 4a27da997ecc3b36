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

/// Objects are fetched, kept and cached in granules of this size, which start
/// at its multiples; the last one of an object may be shorter.
constexpr uint64_t kGranuleBytes = 64 * 1024;
/// The bytes of a granule of an object of `size` bytes that has it.
inline size_t GranuleSize(uint64_t size, uint64_t granule) {
  return static_cast<size_t>(
      std::min(kGranuleBytes, size - granule * kGranuleBytes));
}

/// Granules that one request may ask for.
constexpr size_t kMaxGranules = 64;
/// Granules that the end of an object is fetched in: the last one, and a whole
/// one before it.
constexpr size_t kTailGranules = 2;
/// The number of the first one of these, of an object of `size` bytes: the
/// first that the last kTailGranules * kGranuleBytes bytes have whole.
inline uint64_t FirstOfTail(uint64_t size) {
  const uint64_t whole = kTailGranules * kGranuleBytes;
  return size <= whole ? 0 : (size - whole + kGranuleBytes - 1) / kGranuleBytes;
}
/// The granules of an object of `size` bytes.
inline uint64_t Granules(uint64_t size) {
  return size / kGranuleBytes + (size % kGranuleBytes == 0 ? 0 : 1);
}

/// Granules for a page of a listing, whose length is not known before.
constexpr size_t kPageGranules = kMaxPageBytes / kGranuleBytes;
/// HTTP requests whose times a reply tells.
constexpr size_t kMaxTimes = 1024;
/// The longest message, in bytes.
constexpr size_t kMaxMessageBytes = 16 * 1024;
/// Bytes of an error's text that a reply has: the rest is cut.
constexpr size_t kMaxErrorBytes = 4096;

/// What the fetcher is asked for: granules of an object, each into a slot of
/// the shared memory. Without an identity the object is opened: its first
/// granule is fetched, whatever it is now; or its tail, which is worth one try,
/// as a server need not support that. Or else a page of a listing, as the
/// server writes it, into the slots one after another.
struct FetchRequest {
  uint64_t id = 0;
  /// How many fetchers had ended when this was sent. A fetcher ignores requests
  /// to an earlier one, which are sent again.
  uint32_t epoch = 0;
  std::string url;  // as the user gave it
  /// For a page of the directory `url`: the token of LocatePage.
  std::optional<std::string> page;
  std::optional<Identity> identity;
  bool tail = false;   // the last granules, from FirstOfTail on
  uint64_t first = 0;  // number of the first granule
  std::vector<uint16_t> slots;
  /// Whether files of the cache may come in place of their bytes.
  bool takes_files = false;
};

/// A file of the cache (BlockFile) whose descriptor comes with a reply.
struct PassedFile {
  uint64_t first = 0;
  uint32_t count = 0;
};

/// The outcome of a request.
struct FetchReply {
  /// 0: not a reply; fetcher `epoch` has replaced one that ended.
  uint64_t id = 0;
  uint32_t epoch = 0;
  std::optional<Error> error;
  Identity identity;          // of an opened object, or that of a tail
  std::string last_modified;  // of an opened object
  uint64_t page_bytes = 0;    // of a page of a listing
  std::string link;           // the field Link of its head
  uint32_t requests = 0;      // HTTP requests that were made, repeated ones too
  uint64_t received = 0;      // bytes of bodies
  uint64_t cached = 0;        // bytes in slots that the cache had
  bool kept = false;          // the cache has what is in the slots
  uint32_t timeout_ms = 0;    // of the first message: Settings::timeout
  /// BlockStore::refusal after the blocks were written; nullopt: none were.
  std::optional<uint32_t> refusal;
  /// In the order of the descriptors, at most kMaxPassed. Slots of granules
  /// that they have are left as they were.
  std::vector<PassedFile> files;
  std::string digest;             // of the key of these files
  std::vector<uint32_t> took_us;  // of each HTTP request that ended
};

std::string Encode(const FetchRequest& request);
std::string Encode(const FetchReply& reply);
/// Changes the epoch in an encoded request.
void SetEpoch(std::string& request, uint32_t epoch);
/// nullopt if `message` is not one, or breaks a limit.
std::optional<FetchRequest> DecodeRequest(std::string_view message);
std::optional<FetchReply> DecodeReply(std::string_view message);

}  // namespace ctxfs::remote
