// SPDX-License-Identifier: Apache-2.0
//
// views/samples/N: the features of a record as files (docs/formats/tfrecord.md,
// section 4).
#include "core/formats/tfrecord/sample.h"

#include <fmt/core.h>

#include <algorithm>
#include <span>
#include <utility>

#include "core/base/errors.h"
#include "core/base/heap/heap_allowance.h"
#include "core/container/file_set.h"
#include "core/container/foreign/magics.h"
#include "core/container/part.h"
#include "core/formats/tfrecord/limits.h"

namespace ctxfs::tfrecord {
namespace {

Error TooMany() { return OverLimit("files of a sample are", kMaxFiles); }

std::string Numbered(const std::string& path, uint64_t number) {
  return fmt::format("{}/{:06}", path, number);
}

/// Makes the files of a record, one feature after the other.
class Maker {
 public:
  Maker(const RecordBytes& record, const ReadContext& context)
      : record_(record), context_(context) {}

  Status AddFeature(const std::string& path, const Feature& feature) {
    if (feature.kind == ValueKind::kNone) return {};
    if (feature.kind == ValueKind::kBytes) return AddValues(path, feature);
    return AddNumbers(path, {feature.count}, {&feature, 1});
  }

  Status AddList(const std::string& path, const FeatureList& list) {
    if (list.IsArray()) {
      std::vector<uint64_t> shape = {list.steps.size()};
      const uint64_t width = list.steps.front().count;
      if (width != 1) shape.push_back(width);
      return AddNumbers(path, std::move(shape), list.steps);
    }
    for (size_t i = 0; i < list.steps.size(); ++i) {
      CTXFS_TRY(AddFeature(Numbered(path, i), list.steps[i]));
    }
    return {};
  }

  std::vector<SampleFile> Take() && { return std::move(files_); }

 private:
  Status AddValues(const std::string& path, const Feature& feature) {
    if (feature.count > kMaxFiles) return TooMany();
    for (size_t i = 0; i < feature.runs.size(); ++i) {
      CTXFS_TRY(context_.Check());
      const Run& run = feature.runs[i];
      std::string name = feature.count == 1 ? path : Numbered(path, i);
      name += '.';
      name += ExtensionOf(record_.Of(run.span));
      CTXFS_TRY(Add({std::move(name), {ValueKind::kBytes, 1, {run}}}));
    }
    return {};
  }

  Status AddNumbers(const std::string& path, std::vector<uint64_t> shape,
                    std::span<const Feature> lists) {
    SampleFile file{path, {.kind = lists.front().kind}, std::move(shape)};
    std::vector<Run>& runs = file.data.runs;
    for (const Feature& list : lists) {
      file.data.count += list.count;
      CTXFS_TRY(AdmitGrowth(runs, list.runs.size()));
      runs.insert(runs.end(), list.runs.begin(), list.runs.end());
    }
    return Add(std::move(file));
  }

  Status Add(SampleFile file) {
    names_ += file.path.size();
    if (files_.size() == kMaxFiles || names_ > kMaxNames) return TooMany();
    CTXFS_TRY(AdmitGrowth(files_));
    files_.push_back(std::move(file));
    return {};
  }

  const RecordBytes& record_;
  const ReadContext& context_;
  uint64_t names_ = 0;  // bytes
  std::vector<SampleFile> files_;
};

/// Runs of one file.
using Runs = std::span<const Run>;

/// The place of `runs` in the container, with the bytes between them.
Span StoredOf(Runs runs) {
  if (runs.empty()) return {};
  return {runs.front().span.begin, runs.back().span.end};
}

uint64_t SizeOf(const Feature& data) {
  return data.HoldsNumbers() ? data.count * data.width()
                             : StoredOf(data.runs).size();
}

/// A block that decodes the numbers of some consecutive runs of a file.
class NumberBlock final : public Block {
 public:
  NumberBlock(Key key, std::shared_ptr<const Sample> sample,
              const Feature& data, Runs runs, uint64_t count)
      : Block(key),
        sample_(std::move(sample)),
        data_(data),
        runs_(runs),
        size_(count * data.width()) {}

  uint64_t size() const { return size_; }
  uint64_t cost() const override { return StoredOf(runs_).size() + size_; }
  const Source* made_from() const override { return record().source.get(); }
  bool verifies() const override { return record().guard != nullptr; }

  Result<Buffer> Produce(const ReadContext& context) const override {
    if (verifies()) CTXFS_TRY(record().guard->Verify(context));
    const Span span = StoredOf(runs_);
    const Buffer bytes = CTXFS_TRY(ReadBuffer(*record().source, span.begin,
                                              span.size(), "a list", context));
    const RecordBytes stored{bytes.span(), span.begin};
    Buffer out(static_cast<size_t>(size_));
    std::byte* at = out.data();
    const auto put = [&](uint64_t bits) {
      const auto number = LittleEndian<uint64_t>(&bits);
      at = std::copy_n(number.begin(), data_.width(), at);
    };
    for (const Run& run : runs_) {
      if (ForEachNumber(data_.kind, run, stored.Of(run.span), put)) continue;
      return Error{Code::kCorrupt, "a list has changed", run.span.begin};
    }
    return out;
  }

 private:
  const Range& record() const { return sample_->record; }

  const std::shared_ptr<const Sample> sample_;
  const Feature& data_;  // points into sample_, as runs_ does
  const Runs runs_;
  const uint64_t size_;
};

/// Returns a file of numbers in blocks. Runs are added to a block until it has
/// at least Run::kMaxCount numbers. A run has no more than that, so a block has
/// fewer than twice as many.
Content NumberContent(const std::shared_ptr<const Sample>& sample,
                      const Feature& data, Key key) {
  Content content;
  for (Runs left = data.runs; !left.empty(); ++key.index) {
    size_t runs = 0;
    uint64_t count = 0;
    while (runs < left.size() && count < Run::kMaxCount) {
      count += left[runs++].count;
    }
    auto block = std::make_shared<const NumberBlock>(key, sample, data,
                                                     left.first(runs), count);
    const uint64_t size = block->size();
    content.Append(Decoded{std::move(block), 0}, size);
    left = left.subspan(runs);
  }
  return content;
}

// A value of bytes, and floats that are stored without gaps, are a range of the
// container. Other numbers are decoded.
Content Open(const std::shared_ptr<const Sample>& sample, uint32_t file,
             uint64_t owner) {
  const Feature& data = sample->files[file].data;
  const Span stored = StoredOf(data.runs);
  if (data.kind == ValueKind::kInts || stored.size() != SizeOf(data)) {
    // Keys are unique: a file has fewer than 2^40 blocks, and a sample fewer
    // than 2^24 files.
    return NumberContent(sample, data, {owner, uint64_t{file} << 40});
  }
  if (data.runs.empty()) return {};
  return {Range{sample->record.source, stored.begin, sample->record.guard},
          stored.size()};
}

EntryInfo Describe(const Sample& sample, uint32_t file) {
  const SampleFile& of = sample.files[file];
  EntryInfo info;
  info.kind = "feature";
  info.size = SizeOf(of.data);
  info.verified = VerifiedTextOf(sample.verdict.get());
  info.computed = of.data.HoldsNumbers();
  if (info.computed) {
    info.dtype = of.data.kind == ValueKind::kInts ? "i64" : "f32";
    info.shape = of.shape;
  } else {
    info.stored_size = info.size;
    info.offset = StoredOf(of.data.runs).begin;
  }
  return info;
}

}  // namespace

const char* VerifiedTextOf(const AtomicVerdict* verdict) {
  return verdict == nullptr
             ? "none"
             : VerifiedText(verdict->load(std::memory_order_acquire));
}

Result<std::vector<SampleFile>> FilesOf(const Example& example, RecordKind kind,
                                        const RecordBytes& record,
                                        const ReadContext& context) {
  if (example.too_many) return TooMany();
  const bool sequence = kind == RecordKind::kSequence;
  Maker maker(record, context);
  for (const auto& [name, feature] : example.features) {
    CTXFS_TRY(maker.AddFeature((sequence ? "context/" : "") + std::string(name),
                               feature));
  }
  for (const auto& [name, list] : example.lists) {
    CTXFS_TRY(maker.AddList("feature_lists/" + std::string(name), list));
  }
  return std::move(maker).Take();
}

std::shared_ptr<const Container> DirectoryOf(Sample sample) {
  SourcePtr source = sample.record.source;
  const auto of = std::make_shared<const Sample>(std::move(sample));
  return std::make_shared<const Part>(
      std::move(source),
      MakeTable({.placement = {.role = Role::kEntries},
                 .count = static_cast<uint32_t>(of->files.size()),
                 .path = [of](uint32_t file, std::string& /*scratch*/)
                     -> std::string_view { return of->files[file].path; },
                 .open = [of, owner = NewOwner()](
                             uint32_t file, const ReadContext& /*context*/)
                     -> Result<Content> { return Open(of, file, owner); },
                 .facts =
                     [of](uint32_t file) {
                       return FileFacts{SizeOf(of->files[file].data)};
                     },
                 .describe =
                     [of](uint32_t file, const ReadContext& /*context*/) {
                       return Describe(*of, file);
                     }}));
}

}  // namespace ctxfs::tfrecord
