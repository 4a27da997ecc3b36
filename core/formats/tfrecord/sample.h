// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/container/container.h"
#include "core/formats/tfrecord/example_wire.h"
#include "core/formats/tfrecord/numbers.h"

namespace ctxfs::tfrecord {

/// A file of a sample: a value, or the numbers of a list.
struct SampleFile {
  std::string path;
  Span value = {};  // if `numbers` is null
  std::shared_ptr<const Numbers> numbers = nullptr;
  std::vector<uint64_t> shape = {};  // of numbers

  uint64_t size() const {
    return numbers == nullptr ? value.size()
                              : numbers->count * numbers->width();
  }
};

/// Returns the files of a record (docs/formats/tfrecord.md, section 4), in the
/// order of its features; nullopt if it has too many. Fails only if interrupted
/// or refused memory.
Maybe<std::vector<SampleFile>> FilesOf(const Example& example, RecordKind kind,
                                       const RecordBytes& record,
                                       const ReadContext& context);

/// The directory views/samples/N: the features of a record as files.
class Sample final : public Container {
 public:
  Sample(NumberSource source, std::shared_ptr<const AtomicVerdict> verdict,
         std::vector<SampleFile> files)
      : Container(source.source, /*part=*/true),
        from_(std::move(source)),
        verdict_(std::move(verdict)),
        files_(std::move(files)) {}

  Tables Files() const override;

 private:
  void AddInfo(Json& /*info*/, const ReadContext& /*context*/) const override {}
  Content Open(uint32_t file) const;
  EntryInfo Describe(const SampleFile& file) const;

  const NumberSource from_;
  const std::shared_ptr<const AtomicVerdict> verdict_;  // null: no checksum
  const std::vector<SampleFile> files_;
  const uint64_t owner_ = NewOwner();
};

}  // namespace ctxfs::tfrecord
