// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "core/api/ctxfs.h"
#include "core/base/caught.h"
#include "core/base/interrupt.h"
#include "core/base/result.h"
#include "core/base/server_wait.h"
#include "core/vfs/source_tree.h"

// The types of ctxfs.h, and functions that return its errors. This header is
// internal to core/api and is not installed.

struct ctxfs_error {
  enum ctxfs_code code;
  int number;  // an errno
  uint64_t offset;
  std::string message;
  std::string path;
};

struct ctxfs_tree {
  /// An Interrupt that calls the caller's `given_up`.
  class CallerInterrupt final : public ctxfs::Interrupt {
   public:
    explicit CallerInterrupt(const ctxfs_options& options)
        : given_up_(options.given_up), argument_(options.argument) {}

    bool interrupted() const override {
      return given_up_ != nullptr && given_up_(argument_) != 0;
    }
    // The caller's function can only be polled.
    Clock::time_point AskAgainAt() const override {
      constexpr std::chrono::milliseconds kMoment(20);
      return given_up_ == nullptr ? Clock::time_point::max()
                                  : Clock::now() + kMoment;
    }

   private:
    int (*const given_up_)(void*);
    void* const argument_;
  };

  explicit ctxfs_tree(const ctxfs_options& options) : interrupt(options) {}

  CallerInterrupt interrupt;
  std::unique_ptr<ctxfs::SourceTree> tree;
};

struct ctxfs_file {
  ctxfs_tree& owner;
  std::string path;  // or the name of an array
  ctxfs::Content content;
  /// Keeps alive the source of the content.
  std::shared_ptr<const void> made_from;
};

namespace ctxfs::api {

/// `name` as a C string, with U+FFFD for NUL.
std::string WithoutNul(std::string name);

/// Converts an error of the call for `path` to the caller's type.
ctxfs_error ErrorOf(Error error, const char* path);

// These functions return -1, and set `*out` unless `out` is null.
int Fail(ctxfs_error** out, const char* path, const Error& error);
int FailWithoutMemory(ctxfs_error** out);
/// Rejects a call with invalid arguments before any work.
int FailUsage(ctxfs_error** out, const char* message);

/// Runs `body`, the work of an API function that was called for `path`. Returns
/// 0, or -1 with an error in `*out`, from `body` or from its exception
/// (CatchAll).
template <typename Body>
int Call(ctxfs_error** out, const char* path, const Body& body) noexcept {
  if (out != nullptr) *out = nullptr;
  try {
    if (path == nullptr) return FailUsage(out, "a path is NULL");
    const Status done = CatchAll<Status>(body);
    return done ? 0 : Fail(out, path, done.error());
  } catch (...) {  // no memory for the error
    return FailWithoutMemory(out);
  }
}

/// Like the other Call, for a call that uses a tree: `body` receives the call's
/// ServerWait, with one timeout for all its waits.
template <typename Body>
int CallTree(ctxfs_error** out, const char* path, const Body& body) noexcept {
  ServerWait waits;
  return Call(out, path, [&] { return body(&waits); });
}

/// The container at `path`, which may be a directory or a file.
inline Result<std::shared_ptr<const Container>> ContainerAt(
    const ctxfs_tree& tree, const char* path, ServerWait* waits) {
  const SourceTree::File at =
      CTXFS_TRY(tree.tree->Find(path, /*follow=*/true, waits));
  return tree.tree->ContainerOf(at, waits);
}

}  // namespace ctxfs::api
