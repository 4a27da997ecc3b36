// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace ctxfs {

/// The files that threads which serve a mount may still read.
struct Confinement {
  /// Directories: files below them may be opened at any time.
  std::vector<std::string> trees;
  /// The one file that is served, an absolute path. Empty if files of any owner
  /// may be opened later, as in a mirrored directory.
  std::string container;
  /// Whether directories are watched for changes.
  bool watches = false;
  /// The descriptor of the temporary file, which alone may be written; -1:
  /// none.
  int spill_file = -1;
  /// The socket to the fetcher, from which descriptors may come; -1: none.
  int channel = -1;
  /// Whether file systems are asked for their state.
  bool measures = false;
};

/// Confines the calling thread, and every thread that it starts from then on,
/// to what serving needs: reading below `trees` (EnterSandbox), the least
/// privileges (DropPrivileges) and system calls (FilterSyscalls). Logs what the
/// kernel cannot do. For good.
void Confine(const Confinement& confinement);

}  // namespace ctxfs
