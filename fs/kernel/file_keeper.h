// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/base/result.h"
#include "core/cache/block_store.h"
#include "core/io/fd.h"
#include "core/io/persistent_cache.h"
#include "fs/kernel/questions.h"

namespace ctxfs {

/// Removes the oldest files of a cache once it is full, which takes long if it
/// has many.
class RoomMaker final : public Questions {
 public:
  RoomMaker(std::shared_ptr<BlockStore> store, Fd wake)
      : store_(std::move(store)), wake_(std::move(wake)) {}

  /// Has it done soon. For any thread.
  void Post();

  int fd() const override { return wake_.get(); }
  void Answer() override;

 private:
  const std::shared_ptr<BlockStore> store_;
  const Fd wake_;  // an eventfd
};

/// Makes and keeps files for the threads that serve, which may open none for
/// writing: the thread that is not confined does it. What is kept is named by
/// the identity that this thread sees, so one that was taken over by a hostile
/// container cannot give out its bytes as those of a file that it may not open.
/// Safe for any number of threads.
class FileKeeper final : public PersistentCache, public Questions {
 public:
  /// Files are made in `directory`, even if another gets its name, and kept in
  /// `store`, which is on the same disk; null: none is kept. The keys of what
  /// is kept are made from `secret` (KeptSecret). Fails with kIo if the
  /// directory cannot be opened, and with kTooManyFiles.
  static Result<std::unique_ptr<FileKeeper>> Open(
      const std::string& directory, std::unique_ptr<BlockStore> store,
      std::string secret);

  Result<Fd> Make(uint64_t size) override;
  std::string KeyFor(const KeptName& name) const override;
  void Keep(const KeptName& name, int file, const std::string& digest,
            std::shared_ptr<const void> owner) override;
  std::optional<Kept> Take(const KeptName& name) override;
  void Drop(const KeptName& name, const std::string& digest) override;

  int fd() const override { return asked_.fd(); }
  void Answer() override;
  /// What makes room for the files that are kept; null if none is kept. For
  /// another thread than Answer.
  RoomMaker* room() { return room_.get(); }

 private:
  struct Question {
    enum class What : uint8_t { kMake, kKeep, kTake, kDrop } what;
    uint64_t size = 0;
    KeptName name = {};
    int file = -1;
    std::string digest = {};
    std::shared_ptr<const void> owner = nullptr;
  };

  FileKeeper(Fd directory, std::shared_ptr<BlockStore> store,
             std::unique_ptr<RoomMaker> room, std::string secret, Fd wake)
      : directory_(std::move(directory)),
        store_(std::move(store)),
        room_(std::move(room)),
        secret_(std::move(secret)),
        asked_(std::move(wake)) {}

  Result<Kept> Do(const Question& question) const;
  Result<Kept> DoKept(const Question& question, const std::string& key) const;
  /// Asks without waiting; does nothing if there is no memory.
  void Post(Question question);

  const Fd directory_;
  const std::shared_ptr<BlockStore> store_;  // null: none is kept
  const std::unique_ptr<RoomMaker> room_;    // for it
  const std::string secret_;
  QuestionQueue<Question, Result<Kept>> asked_;
};

}  // namespace ctxfs
