// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "core/content/content.h"
#include "core/formats/cowrie/arrays.h"
#include "core/io/source.h"

namespace ctxfs {

/// Bytes of the array's file: what its dtype and shape make, which the decoder
/// has compared with the bytes that are there.
uint64_t CowrieArraySize(const CowrieArray& array);

/// The elements of an array that was found in `data`, little-endian. `key` is
/// what those are kept under that have to be decoded; arrays with the same
/// offset are decoded together and share one.
Content CowrieElements(const CowrieArray& array,
                       std::shared_ptr<const Source> data, Key key);

}  // namespace ctxfs
