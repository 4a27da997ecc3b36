// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "core/content/content.h"
#include "core/formats/cowrie/arrays.h"
#include "core/io/source.h"

namespace ctxfs::cowrie {

/// The size of the array's file, which follows from its dtype and shape. The
/// decoder has compared these with the stored bytes.
uint64_t CowrieArraySize(const CowrieArray& array);

/// The elements of an array that was found in `data`, little-endian. Elements
/// that have to be decoded are cached under `key`; arrays with the same offset
/// are decoded together and need the same key.
Content CowrieElements(const CowrieArray& array,
                       std::shared_ptr<const Source> data, Key key);

}  // namespace ctxfs::cowrie
