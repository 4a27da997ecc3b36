// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/base/bytes.h"
#include "core/base/json/json.h"
#include "core/base/result.h"
#include "core/container/container.h"
#include "core/content/read_context.h"

namespace ctxfs {

/// The MIME type of a picture that a page may show: a JPEG or PNG file of at
/// most 4096 pixels a side, because a browser decodes it. Fails with
/// kUnsupported for any other bytes.
Result<const char*> PictureType(Bytes file);

/// The first samples of a container (ShowsSamples), at most 12: [{"key",
/// "caption", "picture"?: base64 with its "type", "note"?: why there is none}].
/// Empty if it has no samples with captions or pictures. Subtracts the bytes of
/// pictures from `picture_bytes`.
Result<Json> SampleSheet(const Container& container, uint64_t& picture_bytes,
                         const ReadContext& context);

}  // namespace ctxfs
