// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace ctxfs {

/// The privileges that a thread which serves files keeps.
struct Privileges {
  /// Files are opened as nobody (uid and gid 65534, no other groups), and not
  /// as the user of the process.
  bool nobody = false;
  /// CAP_DAC_READ_SEARCH: files are read whatever their permission bits.
  bool read_all = false;

  /// For messages: "as nobody, without capabilities".
  std::string Text() const;
};

/// Returns the least privileges with which `container`, an absolute path, and
/// the FUSE device can be opened. Changes nothing for the caller: the attempts
/// are made by threads that then end.
Privileges LeastPrivileges(const std::string& container);

/// Takes all capabilities and, if asked, the user for file access from the
/// calling thread, and so from every thread that it starts from then on.
/// Returns false, with part of it done, if the kernel refuses any of it.
///
/// Only the user for file access changes (setfsuid): a thread whose real user
/// were nobody could be killed by every other process of nobody.
bool DropPrivileges(const Privileges& kept);

}  // namespace ctxfs
