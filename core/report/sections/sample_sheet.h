// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/base/bytes.h"
#include "core/base/json/json.h"
#include "core/base/result.h"
#include "core/container/container.h"
#include "core/content/read_context.h"

namespace ctxfs {

/// The MIME type of a picture that is safe for a browser to decode: JPEG or PNG
/// of at most 4096 pixels a side. Fails with kUnsupported for other bytes.
Result<const char*> PictureType(Bytes file);

/// At most 12 samples of a container (ShowsSamples), the first ones: [{"key",
/// "caption", "picture"?: base64 with its "type", "note"?: why it has no
/// picture}]. Empty if the container does not show samples, or none has a
/// caption, a picture or a note. Subtracts the bytes of pictures from
/// `picture_bytes`.
Result<Json> SampleSheet(const Container& container, uint64_t& picture_bytes,
                         const ReadContext& context);

}  // namespace ctxfs
