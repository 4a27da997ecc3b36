// SPDX-License-Identifier: Apache-2.0
//
// views/samples/N: the features of a record as files (docs/formats/tfrecord.md,
// section 4).
#include <utility>

#include "core/container/file_set.h"
#include "core/formats/tfrecord/limits.h"
#include "core/formats/tfrecord/sample.h"
#include "core/formats/tfrecord/tfrecord.h"

namespace ctxfs::tfrecord {
namespace {

/// The files of a record; none if it has too many or is no sample.
Result<std::vector<SampleFile>> SampleFilesOf(const TfRecord& file,
                                              uint32_t record,
                                              const ReadContext& context) {
  using Files = std::vector<SampleFile>;
  const auto parsed = file.Parse(record, kMaxSample, context);
  if (!parsed && !parsed.error().Permanent()) return parsed.error();
  if (!parsed) return Files();
  auto files =
      CTXFS_TRY(FilesOf(parsed->example, file.kind(), parsed->data, context));
  return std::move(files).value_or(Files());
}

}  // namespace

Result<std::shared_ptr<const Container>> TfRecord::OpenSample(
    uint32_t record, const ReadContext& context) const {
  auto files = CTXFS_TRY(SampleFilesOf(*this, record, context));
  NumberSource from = CTXFS_TRY(SourceOf(record, context));
  const auto verdict = options_.verify ? VerdictOf(record) : nullptr;
  return std::shared_ptr<const Container>(std::make_shared<const Sample>(
      std::move(from), verdict, std::move(files)));
}

std::shared_ptr<const FileTable> TfRecord::SampleDirectories() const {
  const auto open = [this](uint32_t record, const ReadContext& context) {
    return OpenSample(record, context);
  };
  return MakeTable(
      {.placement = {.role = Role::kViews,
                     .directory = "samples",
                     .numbering = Numbering{.open_directory = open}},
       .count = count(),
       .path = &NoPath,
       .open = [](uint32_t /*record*/, const ReadContext& /*context*/)
           -> Result<Content> { return Content(); },
       .owner = Share(*this)});
}

}  // namespace ctxfs::tfrecord
