// SPDX-License-Identifier: Apache-2.0
#include "core/remote/stores/listing.h"

#include <fmt/core.h>
#include <time.h>

#include <algorithm>
#include <functional>
#include <tuple>
#include <utility>

#include "core/base/heap/heap_allowance.h"
#include "core/base/limits.h"
#include "core/remote/stores/secrets.h"
#include "core/remote/stores/url.h"

namespace ctxfs::remote {
namespace {

// Maximum consecutive pages without a name, as after deletions of keys.
constexpr unsigned kMaxEmptyPages = 100;
constexpr unsigned kMaxPages = 10'000;
constexpr uint64_t kMaxListingBytes = 512 * limits::kMiB;

Error Wrong(const std::string& how) {
  return {Code::kUnsupported, "the server sends a wrong listing: " + how};
}

uint64_t BytesOfName(const StoreName& name) {
  return sizeof(StoreName) + name.name.capacity() + name.version.capacity();
}

}  // namespace

ListingBuilder::ListingBuilder(std::string directory)
    : directory_(std::move(directory)), prefix_(PathOfDirectory(directory_)) {}

void ListingBuilder::LeaveOut(const std::string& name) {
  if (listing_->left_out++ == 0) {
    listing_->first_left_out = Secrets().Shown(name);
  }
}

Status ListingBuilder::AddKey(StoreName key) {
  if (!key.name.starts_with(prefix_)) {
    return Wrong("a key is not in the directory that was asked for: '" +
                 Secrets().Shown(key.name) + "'");
  }
  // An empty object with the directory's own name is a placeholder for it.
  if (key.name.size() == prefix_.size() && !key.directory && key.size == 0) {
    return {};
  }
  key.name.erase(0, prefix_.size());
  if (key.name.find('/') != key.name.npos) {
    return Wrong("a key is deeper than what was asked for: '" +
                 Secrets().Shown(key.name) + "'");
  }
  if (!CheckName(directory_, key.name, key.directory)) {
    LeaveOut(key.name);
    return {};
  }
  bytes_ += BytesOfName(key);
  if (listing_->names.size() == limits::kDirectoryNames ||
      bytes_ > kMaxListingBytes) {
    return Error{Code::kLimit,
                 fmt::format("the directory holds more than {} names",
                             listing_->names.size())};
  }
  CTXFS_TRY(AdmitGrowth(listing_->names));
  listing_->names.push_back(std::move(key));
  return {};
}

Status ListingBuilder::Add(ListingPage page) {
  empty_pages_ = page.keys.empty() ? empty_pages_ + 1 : 0;
  if (!page.next.empty()) {
    if (HadToken(page.next)) {
      return Wrong("its pages have no end: two have the same next one");
    }
    if (empty_pages_ > kMaxEmptyPages || ++pages_ >= kMaxPages) {
      return Wrong("its pages have no end");
    }
    tokens_.insert(std::hash<std::string>()(page.next));
  }
  for (StoreName& key : page.keys) CTXFS_TRY(AddKey(std::move(key)));
  next_ = std::move(page.next);
  return {};
}

bool ListingBuilder::HadToken(const std::string& token) const {
  return tokens_.contains(std::hash<std::string>()(token));
}

std::shared_ptr<StoreListing> ListingBuilder::Finish() {
  auto& names = listing_->names;
  const auto key = [](const StoreName& one) {
    return std::tuple(std::string_view(one.name), one.directory);
  };
  std::ranges::stable_sort(names, {}, key);
  const auto same = [&](const StoreName& one, const StoreName& other) {
    return key(one) == key(other);
  };
  names.erase(std::unique(names.begin(), names.end(), same), names.end());
  names.shrink_to_fit();
  return listing_;
}

int64_t TimeOf(const std::string& text) {
  struct tm parts {};
  const char* end = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (end == nullptr) return 0;
  int64_t nanoseconds = 0;
  if (*end == '.') {
    int64_t unit = 1'000'000'000;
    for (++end; *end >= '0' && *end <= '9'; ++end) {
      unit /= 10;
      nanoseconds += (*end - '0') * unit;
    }
  }
  const time_t seconds = ::timegm(&parts);
  constexpr int64_t kMax = INT64_MAX / 1'000'000'000 - 1;
  if (std::string_view(end) != "Z" || seconds <= 0 || seconds > kMax) return 0;
  return int64_t{seconds} * 1'000'000'000 + nanoseconds;
}

}  // namespace ctxfs::remote
