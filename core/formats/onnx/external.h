// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/mutex.h"
#include "core/base/result.h"
#include "core/io/source.h"

namespace ctxfs::onnx {

/// Normalises a location of external data to a path below the model's directory
/// (docs/formats/onnx.md, section 6); nullopt if it is absolute, leads outside,
/// names no file, is too long, or contains a NUL.
std::optional<std::string> LocationBelow(std::string_view location);

/// A model's files of external data. The last few stay open. Thread-safe.
class ExternalFiles {
 public:
  /// `alone`: whether Open refuses all files.
  ExternalFiles(std::shared_ptr<const Source> model, bool alone)
      : model_(std::move(model)), alone_(alone) {}

  /// Opens the file at `location`. The error is permanent (Error::Permanent) if
  /// the file is missing or is not a regular file, and with `alone`.
  Result<std::shared_ptr<const Source>> Open(const std::string& location,
                                             const Request& request) const;

 private:
  struct Opened {
    std::string location;
    std::shared_ptr<const Source> file;
  };

  const std::shared_ptr<const Source> model_;
  const bool alone_;
  mutable Mutex mutex_;
  mutable std::deque<Opened> opened_ CTXFS_GUARDED_BY(mutex_);
};

}  // namespace ctxfs::onnx
