// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/container/container.h"
#include "core/content/content.h"
#include "core/formats/tfrecord/example.h"

namespace ctxfs::tfrecord {

/// A file of a sample: one value of bytes, or numbers.
struct SampleFile {
  std::string path;
  Feature data;
  std::vector<uint64_t> shape = {};  // of numbers
};

/// Returns the files of a record (docs/formats/tfrecord.md, section 4), in the
/// order of its features. Fails with kLimit if they exceed kMaxFiles or
/// kMaxNames.
Result<std::vector<SampleFile>> FilesOf(const Example& example, RecordKind kind,
                                        const RecordBytes& record,
                                        const ReadContext& context);

/// A record as the directory views/samples/N.
struct Sample {
  Range record;
  std::shared_ptr<const AtomicVerdict> verdict;  // null: no checksum
  std::vector<SampleFile> files;
};
std::shared_ptr<const Container> DirectoryOf(Sample sample);

/// Returns the text of EntryInfo::verified for a record. `verdict` may be null.
const char* VerifiedTextOf(const AtomicVerdict* verdict);

}  // namespace ctxfs::tfrecord
