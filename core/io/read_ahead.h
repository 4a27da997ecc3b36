// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace ctxfs {

/// Announces how many bytes after this thread's next read will be read as well:
/// a remote source fetches them along with it. They are counted from the end of
/// that read, so a source that reads from another one need not convert them.
/// Scopes nest: within one that is certain, all are. Without one, nothing is
/// known. Lives on the stack.
class ReadAhead {
 public:
  enum class Likelihood : uint8_t {
    kCertain,   // all of them are read
    kIfOnward,  // they are read if the reader goes on
  };

  ReadAhead(uint64_t bytes, Likelihood likelihood)
      : bytes_(bytes),
        outer_(Current()),
        likelihood_(outer_ != nullptr &&
                            outer_->likelihood() == Likelihood::kCertain
                        ? Likelihood::kCertain
                        : likelihood) {
    Current() = this;
  }
  ~ReadAhead() { Current() = outer_; }
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  uint64_t bytes() const { return bytes_; }
  Likelihood likelihood() const { return likelihood_; }
  /// Null if nothing is known.
  static const ReadAhead* OfThread() { return Current(); }

 private:
  static const ReadAhead*& Current() {
    thread_local const ReadAhead* current = nullptr;
    return current;
  }

  const uint64_t bytes_;
  const ReadAhead* const outer_;
  const Likelihood likelihood_;
};

}  // namespace ctxfs
