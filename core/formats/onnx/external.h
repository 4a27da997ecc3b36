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

/// A location of external data as a path below the model's directory, without
/// "." and ".." (docs/formats/onnx.md, section 6); nullopt for one that is
/// absolute, leads out, is too long, or holds a NUL.
std::optional<std::string> LocationBelow(std::string_view location);

/// The files beside a model that hold external data. Keeps the last few open.
/// Safe for any number of threads.
class ExternalFiles {
 public:
  /// `alone`: no file may be opened.
  ExternalFiles(std::shared_ptr<const Source> model, bool alone)
      : model_(std::move(model)), alone_(alone) {}

  /// The file at `location`. Fails for good (Error::Permanent) if it is not
  /// there or may not be opened.
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
