// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "core/base/result.h"
#include "core/io/fd.h"
#include "core/io/identity.h"
#include "fs/kernel/questions.h"

namespace ctxfs {

/// Notices that a container is written to, truncated, replaced or removed, or
/// that its times change: at once by inotify(7), or within a second by its
/// times, since inotify does not report writes through a mapping. Answers in a
/// thread that is not confined.
class ContainerWatch final : public Questions {
 public:
  /// Watches the file at `path`. `changed` is called after each change, and
  /// once more a second later. If it throws, it is called again. Fails if the
  /// kernel gives no descriptor or no watch.
  static Result<std::unique_ptr<ContainerWatch>> Make(
      const std::string& path, std::function<void()> changed);

  int fd() const override { return ready_.get(); }
  void Answer() override;

 private:
  struct Descriptors {
    Fd file;    // the container, by O_PATH
    Fd events;  // of inotify
    Fd timer;
    Fd ready;  // an epoll of `events` and `timer`
  };

  ContainerWatch(Descriptors descriptors, std::function<void()> changed);

  bool TakeEvents() const;
  /// Whether a second has passed since the last check, and the container has
  /// changed in it.
  bool TakeTurn();
  FileIdentity Identity() const;

  const Fd file_;
  const Fd events_;
  const Fd timer_;
  const Fd ready_;
  const std::function<void()> changed_;
  FileIdentity seen_;
  int calls_ = 0;  // of changed_ that are due
};

}  // namespace ctxfs
