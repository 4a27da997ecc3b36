// SPDX-License-Identifier: Apache-2.0
//
// Opens split models (docs/formats/gguf.md, section 7): the first part states
// the number of parts, and their file names follow a pattern.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "core/base/errors.h"
#include "core/base/heap/heap_allowance.h"
#include "core/base/limits.h"
#include "core/base/text/text.h"
#include "core/formats/gguf/gguf.h"
#include "core/formats/gguf/header.h"
#include "core/formats/gguf/limits.h"
#include "core/io/download_cache.h"

namespace ctxfs::gguf {
namespace {

/// Returns "-00001-of-00003.gguf"; `number` starts at 1.
std::string SplitSuffix(int64_t number, int64_t count) {
  char text[64];
  std::snprintf(text, sizeof(text), "-%05lld-of-%05lld.gguf",
                static_cast<long long>(number), static_cast<long long>(count));
  return text;
}

}  // namespace

std::vector<std::string> GgufContainer::PartsBeside(
    const ReadContext& /*context*/) const {
  std::vector<std::string> files;
  for (size_t i = 1; i < parts_.size(); ++i) files.push_back(parts_[i].file);
  return files;
}

void GgufContainer::WarnOfSplit(std::string what, Severity severity) {
  if (split_warnings_.size() < kMaxFaults) {
    split_warnings_.push_back({std::move(what), kNoOffset, severity});
  }
}

void GgufContainer::AddPart(Part part) {
  part.first = count_;
  count_ += static_cast<uint32_t>(part.header->tensors.size());
  parts_.push_back(std::move(part));
}

Status GgufContainer::LoadParts(const ReadContext& context) {
  const auto number = CTXFS_TRY(
      GgufInteger(header(), *source(), "split.no", kGgufUint16, context));
  const auto count = CTXFS_TRY(
      GgufInteger(header(), *source(), "split.count", kGgufUint16, context));
  if (number != 0 || count.value_or(0) < 2) return {};
  const std::string own = source()->name();
  const std::string suffix = SplitSuffix(1, *count);
  if (options_.alone || !own.ends_with(suffix)) {
    WarnOfSplit(
        "split: the other parts cannot be found, since the file is not called "
        "NAME" +
            suffix,
        Severity::kDamage);
    return {};
  }
  const std::string stem = own.substr(0, own.size() - suffix.size());
  parts_.front().file = own;
  for (int64_t i = 1; i < *count; ++i) {
    CTXFS_TRY(context.Check());
    const std::string file = stem + SplitSuffix(i + 1, *count);
    if (parts_.size() == kMaxParts) {
      WarnOfSplit(
          fmt::format(
              "split: {} and those after it are over the limit of {} parts",
              Quote(file), kMaxParts),
          Severity::kDamage);
      break;
    }
    CTXFS_TRY(LoadPart(file, i, *count, context));
  }
  return CheckSplit(context);
}

Status GgufContainer::LoadPart(const std::string& file, int64_t number,
                               int64_t count, const ReadContext& context) {
  const auto without = [&](const std::string& why) {
    WarnOfSplit("split: the part " + Quote(file) + " " + why,
                Severity::kDamage);
    return Status();
  };
  Result<std::shared_ptr<const Source>> opened =
      source()->OpenSibling(file, context);
  if (!opened) {
    const Error& error = opened.error();
    if (options_.FailsWith(error)) return Within(Quote(file), error);
    if (error.code == Code::kNotFound) return without(WhyMissing(error));
    return without("cannot be read: " + error.what);
  }
  std::array<std::byte, 4> magic{};
  if ((*opened)->size() >= magic.size()) {
    const Status read = (*opened)->ReadAt(0, magic, context);
    if (!read && options_.FailsWith(read.error())) {
      return Within(Quote(file), read.error());
    }
  }
  if (LoadLe<uint32_t>(magic.data()) != kGgufMagic) {
    return without("cannot be read: it is not a GGUF file");
  }
  Result<GgufHeader> header =
      ReadGgufHeader(**opened, options_.salvage, context);
  if (!header) {
    const Error& error = header.error();
    if (options_.FailsWith(error)) return Within(Quote(file), error);
    return without("cannot be read: " + error.Text());
  }
  for (const auto& [key, wanted] :
       {std::pair("split.no", number), std::pair("split.count", count)}) {
    const Maybe<int64_t> own =
        GgufInteger(*header, **opened, key, kGgufUint16, context);
    if (!own && options_.FailsWith(own.error())) {
      return Within(Quote(file), own.error());
    }
    if (own && *own == wanted) continue;
    return without(own ? "does not match: its split.no or split.count is wrong"
                       : "cannot be read: " + own.error().Text());
  }
  if (count_ + header->tensors.size() > limits::kEntries) {
    return Error{
        Code::kLimit,
        fmt::format("the parts have more than {} tensors", limits::kEntries)};
  }
  AddStoredSize((*opened)->stored_size());
  AddPart({*std::move(opened),
           std::make_shared<const GgufHeader>(*std::move(header)), file, 0});
  return {};
}

Status GgufContainer::CheckSplit(const Request& request) {
  const auto total = CTXFS_TRY(GgufInteger(
      header(), *source(), "split.tensors.count", kGgufInt32, request));
  if (total && *total != count_) {
    WarnOfSplit(
        fmt::format(
            "split: split.tensors.count is {}, but the parts have {} tensors",
            *total, count_),
        Severity::kNote);
  }
  std::vector<std::string_view> names;
  CTXFS_TRY(HeapAllowance::Admit(count_ * sizeof(std::string_view)));
  names.reserve(count_);
  for (uint32_t i = 0; i < count_; ++i) names.push_back(TensorName(i));
  std::sort(names.begin(), names.end());
  for (size_t i = 1; i < names.size(); ++i) {
    if (names[i] == names[i - 1]) {
      WarnOfSplit("split: two tensors of different parts have the name " +
                      Quote(names[i]),
                  Severity::kNote);
    }
  }
  return {};
}

}  // namespace ctxfs::gguf
