// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <future>
#include <optional>
#include <vector>

#include "core/vfs/source_tree.h"
#include "fs/browse/browser.h"
#include "fs/browse/details.h"
#include "fs/browse/user_interrupt.h"

namespace ctxfs {

/// Computes the details of the selected file, and then the sizes of the listed
/// files, in a thread of its own, so that keys still work.
class Reading {
 public:
  Reading(SourceTree& tree, Browser& browser, UserInterrupt& interrupt)
      : tree_(tree), browser_(browser), interrupt_(interrupt) {}
  ~Reading() { Stop(); }
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;

  /// Starts describing the selected file, or the directory if it is empty. Once
  /// this is done, the next call of pending() starts to measure the files on
  /// the page of the selected file. A page has `page` files.
  void Start(const DetailRoom& room, size_t page);

  /// Interrupts the thread and waits for it.
  void Stop();

  /// Stores the results that the thread has finished. Returns whether it still
  /// works.
  bool pending();

  /// The details of the selected file; null until they are computed.
  const Details* details() const { return details_ ? &*details_ : nullptr; }

 private:
  template <typename Value>
  static bool IsReady(const std::future<Value>& future) {
    return future.wait_for(std::chrono::seconds(0)) ==
           std::future_status::ready;
  }
  void StartMeasuring();

  SourceTree& tree_;
  Browser& browser_;
  UserInterrupt& interrupt_;
  size_t page_ = 1;
  std::future<Details> pending_;
  std::optional<Details> details_;
  std::future<std::vector<Browser::Measured>> measuring_;
};

}  // namespace ctxfs
