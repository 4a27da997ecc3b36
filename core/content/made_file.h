// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include "core/base/bytes.h"
#include "core/io/io_error.h"
#include "core/io/source.h"
#include "core/io/spill_file.h"

namespace ctxfs {

/// A file below cache_dir with all bytes, verified, of a file in a container.
/// It is stale when the source of these bytes is stale.
class MadeFile final : public DerivedSource {
 public:
  MadeFile(SourcePtr made_from, SpillFile::Loan file)
      : DerivedSource(std::move(made_from)), file_(std::move(file)) {}

  uint64_t size() const override { return file_->size(); }
  int descriptor() const override { return file_->descriptor(); }
  bool temporary() const override { return true; }
  Status ReadAt(uint64_t offset, MutableBytes out,
                const Request& /*request*/) const override {
    if (!InBounds(offset, out.size(), size())) return PastTheEnd(offset);
    CTXFS_TRY(file_->Read(offset, out));
    return CheckAllUnchanged();
  }

 private:
  const SpillFile::Loan file_;
};

}  // namespace ctxfs
