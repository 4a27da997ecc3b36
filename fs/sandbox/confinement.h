// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace ctxfs {

/// The files that serving threads may access.
struct Confinement {
  /// Directories whose files may be opened at any time.
  std::vector<std::string> trees;
  /// The absolute path of the only container. Empty if files of other owners
  /// may be opened later, as in a mirrored directory.
  std::string container;
  /// Whether directories are watched for changes.
  bool watches = false;
  /// The descriptor of the temporary file, the only writable one; -1: none.
  int spill_file = -1;
  /// The socket to the fetcher, which may send descriptors; -1: none.
  int channel = -1;
  /// Whether fstatfs is allowed.
  bool measures = false;
};

/// Confines the calling thread, and every thread that it starts later, to what
/// serving needs: reading below `trees` (EnterSandbox), the least privileges
/// (DropPrivileges) and system calls (FilterSyscalls). Logs what the kernel
/// does not support. Irreversible.
void Confine(const Confinement& confinement);

}  // namespace ctxfs
