// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/content/read_context.h"

namespace ctxfs {

/// A sample of a data set as people look at it.
struct ShownSample {
  std::string key = {};
  std::string caption = {};  // empty if it has none
  std::string picture = {};  // the bytes of a JPEG or PNG file; empty for none
  std::string note = {};     // why a picture that it has is left out
};

/// A container of samples, some of which have captions or pictures. Its own
/// interface, as SaysFacts is.
class ShowsSamples {
 public:
  /// Bytes of a sample's text, and of a picture that is shown.
  static constexpr uint64_t kMaxTextBytes = 64 * 1024;
  static constexpr uint64_t kMaxPictureBytes = 256 * 1024;

  virtual ~ShowsSamples() = default;

  /// The first samples that have a caption or a picture, at most `most` of
  /// them. Samples that cannot be read are left out.
  virtual Result<std::vector<ShownSample>> FirstSamples(
      size_t most, const ReadContext& context) const = 0;
};

}  // namespace ctxfs
