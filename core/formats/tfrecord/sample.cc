// SPDX-License-Identifier: Apache-2.0
#include "core/formats/tfrecord/sample.h"

#include <fmt/core.h>

#include <utility>

#include "core/base/heap/heap_allowance.h"
#include "core/container/file_set.h"
#include "core/container/foreign/magics.h"
#include "core/formats/tfrecord/limits.h"

namespace ctxfs::tfrecord {
namespace {

/// Makes the files of a record, one feature after the other.
class Maker {
 public:
  Maker(const RecordBytes& record, const ReadContext& context)
      : record_(record), context_(context) {}

  void AddFeature(const std::string& path, const Feature& feature);
  void AddSteps(const std::string& path, const std::vector<Feature>& steps);

  Maybe<std::vector<SampleFile>> Take() && {
    CTXFS_TRY(std::move(status_));
    if (too_many_) return std::optional<std::vector<SampleFile>>();
    return std::optional(std::move(files_));
  }

 private:
  void AddValues(const std::string& path, const Feature& feature);
  void AddValue(std::string path, Bytes value);
  void AddNumbers(const std::string& path, std::vector<uint64_t> shape,
                  std::span<const Feature> lists);
  void Add(SampleFile file);
  Result<std::shared_ptr<const Numbers>> NumbersOf(
      std::span<const Feature> lists) const;

  const RecordBytes& record_;
  const ReadContext& context_;
  Status status_;
  bool too_many_ = false;
  uint64_t names_ = 0;  // bytes
  std::vector<SampleFile> files_;
};

std::string Numbered(const std::string& path, uint64_t number) {
  return fmt::format("{}/{:06}", path, number);
}

void Maker::AddFeature(const std::string& path, const Feature& feature) {
  if (feature.kind == ValueKind::kBytes) return AddValues(path, feature);
  if (feature.kind != ValueKind::kNone) {
    AddNumbers(path, {feature.count}, {&feature, 1});
  }
}

void Maker::AddSteps(const std::string& path,
                     const std::vector<Feature>& steps) {
  if (IsRegular(steps)) {
    std::vector<uint64_t> shape = {steps.size()};
    if (steps.front().count != 1) shape.push_back(steps.front().count);
    AddNumbers(path, std::move(shape), steps);
    return;
  }
  for (size_t i = 0; i < steps.size() && status_ && !too_many_; ++i) {
    AddFeature(Numbered(path, i), steps[i]);
  }
}

void Maker::AddValues(const std::string& path, const Feature& feature) {
  uint64_t number = 0;
  ForEachValue(feature, [&](Bytes value) {
    if (!status_ || too_many_) return;
    AddValue(feature.count == 1 ? path : Numbered(path, number), value);
    ++number;
  });
}

void Maker::AddValue(std::string path, Bytes value) {
  status_ = context_.Check();
  if (!status_) return;
  path += '.';
  path += ExtensionOf(value);
  Add({.path = std::move(path), .value = record_.SpanOf(value)});
}

Result<std::shared_ptr<const Numbers>> Maker::NumbersOf(
    std::span<const Feature> lists) const {
  auto numbers = std::make_shared<Numbers>();
  numbers->kind = lists.front().kind;
  for (const Feature& list : lists) {
    CTXFS_TRY(numbers->Add(list, record_));
  }
  CTXFS_TRY(numbers->FindMarks(record_, context_));
  return std::shared_ptr<const Numbers>(std::move(numbers));
}

void Maker::AddNumbers(const std::string& path, std::vector<uint64_t> shape,
                       std::span<const Feature> lists) {
  if (!status_ || too_many_) return;
  auto numbers = NumbersOf(lists);
  if (!numbers) {
    status_ = std::move(numbers).error();
    return;
  }
  Add({.path = path,
       .numbers = *std::move(numbers),
       .shape = std::move(shape)});
}

void Maker::Add(SampleFile file) {
  names_ += file.path.size();
  too_many_ = files_.size() == kMaxFiles || names_ > kMaxNames;
  if (!too_many_) status_ = AdmitGrowth(files_);
  if (!too_many_ && status_) files_.push_back(std::move(file));
}

}  // namespace

Maybe<std::vector<SampleFile>> FilesOf(const Example& example, RecordKind kind,
                                       const RecordBytes& record,
                                       const ReadContext& context) {
  if (example.too_many) return std::optional<std::vector<SampleFile>>();
  const bool sequence = kind == RecordKind::kSequence;
  Maker maker(record, context);
  for (const auto& [name, feature] : example.features) {
    maker.AddFeature((sequence ? "context/" : "") + std::string(name), feature);
  }
  for (const auto& [name, steps] : example.lists) {
    maker.AddSteps("feature_lists/" + std::string(name), steps);
  }
  return std::move(maker).Take();
}

Content Sample::Open(uint32_t file) const {
  const SampleFile& one = files_[file];
  if (one.numbers != nullptr) {
    return NumberContent(one.numbers, from_, owner_, file);
  }
  return Content(Range{from_.source, one.value.begin, from_.guard},
                 one.value.size());
}

EntryInfo Sample::Describe(const SampleFile& file) const {
  EntryInfo info;
  info.kind = "feature";
  info.size = file.size();
  info.verified = verdict_ == nullptr
                      ? "none"
                      : VerifiedText(verdict_->load(std::memory_order_acquire));
  if (file.numbers == nullptr) {
    info.stored_size = file.value.size();
    info.offset = file.value.begin;
    return info;
  }
  info.computed = true;
  info.dtype = file.numbers->kind == ValueKind::kInts ? "i64" : "f32";
  info.shape = file.shape;
  return info;
}

Container::Tables Sample::Files() const {
  return {MakeTable(
      {.placement = {.role = Role::kEntries},
       .count = static_cast<uint32_t>(files_.size()),
       .path = [this](uint32_t file, std::string& /*scratch*/)
           -> std::string_view { return files_[file].path; },
       .open = [this](uint32_t file, const ReadContext& /*context*/)
           -> Result<Content> { return Open(file); },
       .facts =
           [this](uint32_t file) { return FileFacts{files_[file].size()}; },
       .describe =
           [this](uint32_t file, const ReadContext& /*context*/) {
             return Describe(files_[file]);
           },
       .owner = Share(*this)})};
}

}  // namespace ctxfs::tfrecord
