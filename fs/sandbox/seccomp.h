// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

namespace ctxfs {

/// Refuses the calling thread, and every thread that it starts from then on,
/// all system calls but those that serving files takes: EPERM. Nothing is
/// executed, mapped to be executed, traced or mounted any more, no socket but
/// the system log's is made, no process is started and none but this one is
/// sent a signal. Needs PR_SET_NO_NEW_PRIVS. For good.
///
/// False where it is not done: the kernel cannot, or the program is built with
/// a sanitizer, which does more than serve.
Result<bool> FilterSyscalls();

}  // namespace ctxfs
