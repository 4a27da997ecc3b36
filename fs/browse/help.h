// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fs/browse/details.h"

namespace ctxfs {

/// The keys of `ctxfs browse`, for a window of at least 76 columns.
const Details& HelpLines();

}  // namespace ctxfs
