// SPDX-License-Identifier: Apache-2.0
//
// Replaces urls.cc in a build without CTXFS_REMOTE.
#include "core/api/urls.h"

namespace ctxfs::api {

Status ServeUrls(const char* /*program*/, const Request& /*request*/) {
  return Error{Code::kUnsupported,
               "this build of libctxfs cannot open URLs; download the file"};
}

}  // namespace ctxfs::api
