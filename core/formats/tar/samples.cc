// SPDX-License-Identifier: Apache-2.0
//
// Renders samples.jsonl of a WebDataset archive (docs/formats/tar.md, section
// 9).
#include "core/formats/tar/samples.h"

#include <fmt/core.h>

#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/heap/heap_allowance.h"
#include "core/base/json/json_writer.h"
#include "core/base/text/text.h"
#include "core/container/documents.h"
#include "core/formats/tar/limits.h"

namespace ctxfs::tar {
namespace {

// A block of lines ends once it has kMembersPerBlock members, or their names
// have kNamesPerBlock bytes. The lines of usual members then fit in the memory
// that WithinCache tries first (core/content/within_cache.h).
constexpr uint32_t kMembersPerBlock = 2048;
constexpr uint64_t kNamesPerBlock = 128 * limits::kKiB;
// Members between two interrupt checks.
constexpr uint32_t kSampleMembersPerCheck = 1024;

Error TooLong() {
  return {Code::kLimit,
          fmt::format("samples.jsonl would have more than {} bytes",
                      kMaxSampleText)};
}

/// Builds one line of samples.jsonl.
class Sample {
 public:
  explicit Sample(std::string_view key) {
    json_.PutBlanks();
    json_.BeginObject();
    json_.Member("key", key);
    json_.Key("members");
    json_.BeginObject();
  }

  Status Add(const std::string& extension, const std::string& path,
             uint64_t size) {
    json_.Key(Free(extension));
    json_.BeginObject();
    json_.Member("path", path);
    if (!IsUtf8(path)) json_.Member("path_hex", Hex(path));
    json_.Member("size", size);
    json_.EndObject();
    return json_.status();
  }

  Result<std::string> Line() && {
    json_.EndObject();
    json_.EndObject();
    json_.Append("\n");
    return std::move(json_).Take();
  }

 private:
  /// Returns `extension`, or the first unused of EXT~2, EXT~3, ....
  std::string Free(const std::string& extension) {
    const auto [known, fresh] = next_.try_emplace(extension, 2);
    if (fresh) return extension;
    while (true) {
      std::string marked = fmt::format("{}~{}", extension, known->second++);
      if (next_.try_emplace(marked, 2).second) return marked;
    }
  }

  JsonWriter json_{kMaxSampleText, TooLong()};
  std::unordered_map<std::string, uint64_t> next_;  // next number, by extension
};

/// The samples of an archive, which the blocks of lines share. Thread-safe.
class Samples : public std::enable_shared_from_this<Samples> {
 public:
  Samples(std::shared_ptr<const Members> members, const PathsInTree& paths,
          std::shared_ptr<const Source> source)
      : members_(std::move(members)),
        paths_(paths),
        source_(std::move(source)) {}

  Result<Content> Make(const ReadContext& context) const;

 private:
  /// Returns the lines of the samples that start in [first, end).
  Result<std::string> Text(uint32_t first, uint32_t end,
                           const ReadContext& context) const;
  /// Finds the end of the sample that starts at `first` or later: skips members
  /// without a key, then all members of one key. Returns the first member of
  /// the next sample, or the number of members. Fails with kLimit if the sample
  /// has more than kMaxOfSample members.
  Result<uint32_t> EndOfSample(uint32_t first,
                               const ReadContext& context) const;
  Result<uint32_t> EndOfBlock(uint32_t first, const ReadContext& context) const;
  Result<std::string> Line(const std::vector<uint32_t>& sample, uint32_t first,
                           const std::vector<std::string>& paths) const;

  const std::shared_ptr<const Members> members_;
  const PathsInTree& paths_;
  const std::shared_ptr<const Source> source_;
  const uint64_t owner_ = NewOwner();
};

Result<uint32_t> Samples::EndOfSample(uint32_t first,
                                      const ReadContext& context) const {
  std::optional<std::string_view> key;
  uint32_t in_sample = 0;
  for (uint32_t i = first; i < members_->count(); ++i) {
    if (i % kSampleMembersPerCheck == 0) {
      CTXFS_TRY(context.Check());
    }
    if (!IsOfSample(*members_, i)) continue;
    const std::string_view own = ParseSampleName(members_->name(i))->key;
    if (key && *key != own) return i;
    key = own;
    if (++in_sample > kMaxOfSample) {
      return Error{Code::kLimit,
                   fmt::format("sample {} has more than {} members", Quote(own),
                               kMaxOfSample)};
    }
  }
  return members_->count();
}

Result<uint32_t> Samples::EndOfBlock(uint32_t first,
                                     const ReadContext& context) const {
  uint32_t end = first;
  uint64_t names = 0;
  while (end < members_->count() && end - first < kMembersPerBlock &&
         names < kNamesPerBlock) {
    const uint32_t next = CTXFS_TRY(EndOfSample(end, context));
    for (; end < next; ++end) names += members_->name(end).size();
  }
  return end;
}

Result<std::string> Samples::Line(const std::vector<uint32_t>& sample,
                                  uint32_t first,
                                  const std::vector<std::string>& paths) const {
  Sample line(ParseSampleName(members_->name(sample.front()))->key);
  // Superseded members come last, so that the last of equal names has the
  // extension without "~2".
  for (const bool superseded : {false, true}) {
    for (const uint32_t member : sample) {
      if (members_->superseded(member) != superseded) continue;
      CTXFS_TRY(line.Add(ParseSampleName(members_->name(member))->extension,
                         paths[member - first], members_->FileSize(member)));
    }
  }
  return std::move(line).Line();
}

Result<std::string> Samples::Text(uint32_t first, uint32_t end,
                                  const ReadContext& context) const {
  uint64_t bytes = uint64_t{end - first} * sizeof(std::string);
  for (uint32_t i = first; i < end; ++i) bytes += members_->name(i).size();
  CTXFS_TRY(HeapAllowance::Admit(bytes));
  const std::vector<std::string> paths = paths_.Of(first, end);
  std::string text;
  std::vector<uint32_t> sample;
  for (uint32_t at = first; at < end;) {
    const uint32_t next = CTXFS_TRY(EndOfSample(at, context));
    sample.clear();
    for (; at < next; ++at) {
      if (IsOfSample(*members_, at)) sample.push_back(at);
    }
    if (sample.empty()) continue;
    const std::string line = CTXFS_TRY(Line(sample, first, paths));
    CTXFS_TRY(context.Charge(line.size()));
    CTXFS_TRY(AppendAdmitted(text, line));
  }
  return text;
}

Result<Content> Samples::Make(const ReadContext& context) const {
  Content content;
  for (uint32_t first = 0; first < members_->count();) {
    const uint32_t end = CTXFS_TRY(EndOfBlock(first, context));
    const auto text = [self = shared_from_this(), first,
                       end](const ReadContext& request) {
      return self->Text(first, end, request);
    };
    const Content block =
        CTXFS_TRY(CachedText({owner_, first}, source_, text, context));
    content.Append(block);
    if (content.size() > kMaxSampleText) {
      return TooLong();
    }
    first = end;
  }
  return content;
}

}  // namespace

std::optional<SampleName> ParseSampleName(std::string_view name) {
  const size_t slash = name.find('/');
  const std::string_view first = name.substr(0, slash);
  if (first.size() > 4 && first.starts_with("__") && first.ends_with("__")) {
    return std::nullopt;
  }
  const size_t base = name.rfind('/') + 1;  // 0 where there is no slash
  const size_t dot = name.find('.', base);
  if (dot == std::string_view::npos || dot == base) return std::nullopt;
  SampleName parsed{name.substr(0, dot), std::string(name.substr(dot + 1))};
  for (char& c : parsed.extension) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return parsed;
}

bool IsOfSample(const Members& members, uint32_t member) {
  return members.kind(member) == Kind::kFile &&
         ParseSampleName(members.name(member)).has_value();
}

std::shared_ptr<const FileTable> SamplesFile(
    std::shared_ptr<const Members> members, const PathsInTree& paths,
    std::shared_ptr<const Source> source) {
  const auto samples =
      std::make_shared<Samples>(std::move(members), paths, std::move(source));
  return KeptFile(
      Role::kViews, "samples.jsonl",
      [samples](const ReadContext& context) { return samples->Make(context); });
}

}  // namespace ctxfs::tar
