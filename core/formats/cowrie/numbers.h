// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "core/content/content.h"
#include "core/formats/cowrie/arrays.h"
#include "core/io/source.h"

namespace ctxfs::cowrie {

/// Returns the size of the array's file, from dtype and shape. The decoder has
/// checked both against the stored bytes.
uint64_t CowrieArraySize(const CowrieArray& array);

/// Returns the elements of an array in `data`, little-endian. Elements that
/// must be decoded are cached under `key`; arrays with equal offsets are
/// decoded together and need the same key.
Content CowrieElements(const CowrieArray& array,
                       std::shared_ptr<const Source> data, Key key);

}  // namespace ctxfs::cowrie
