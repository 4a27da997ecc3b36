// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace ctxfs {

/// The privileges of a serving thread.
struct Privileges {
  /// Opens files as nobody (uid and gid 65534, no other groups) instead of the
  /// user of the process.
  bool nobody = false;
  /// Keeps CAP_DAC_READ_SEARCH: reads files regardless of permission bits.
  bool read_all = false;

  /// Returns a text for messages, such as "as nobody, without capabilities".
  std::string Text() const;
};

/// Returns the least privileges that can open `container`, an absolute path,
/// and the FUSE device. Tries them in temporary threads, so the caller keeps
/// its own.
Privileges LeastPrivileges(const std::string& container);

/// Drops all capabilities that `kept` does not name and, if kept.nobody,
/// changes the user for file access to nobody, in the calling thread and every
/// thread that it starts later. Returns false if the kernel refuses a part;
/// other parts may be done.
///
/// The real user stays (only setfsuid is called): any process of nobody could
/// kill a thread whose real user is nobody.
bool DropPrivileges(const Privileges& kept);

}  // namespace ctxfs
