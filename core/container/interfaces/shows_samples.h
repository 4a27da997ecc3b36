// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/content/read_context.h"

namespace ctxfs {

/// A sample of a data set, for display.
struct ShownSample {
  std::string key = {};
  std::string caption = {};  // empty for none
  std::string picture = {};  // the bytes of a JPEG or PNG file; empty for none
  std::string note = {};     // why its picture is omitted
};

/// A container of samples, some of which have captions or pictures. A separate
/// interface, like SaysFacts.
class ShowsSamples {
 public:
  /// Maximum bytes of a sample's text, and of a picture.
  static constexpr uint64_t kMaxTextBytes = 64 * 1024;
  static constexpr uint64_t kMaxPictureBytes = 256 * 1024;

  virtual ~ShowsSamples() = default;

  /// Returns at most `most` samples: the first ones with a caption, a picture,
  /// or a note that says why the picture is omitted. Omits other unreadable
  /// samples. May search only the first samples of the container.
  virtual Result<std::vector<ShownSample>> FirstSamples(
      size_t most, const ReadContext& context) const = 0;
};

}  // namespace ctxfs
