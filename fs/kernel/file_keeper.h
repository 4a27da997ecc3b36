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

/// Evicts the oldest files of a full cache, which takes long if there are many.
class RoomMaker final : public Questions {
 public:
  RoomMaker(std::shared_ptr<BlockStore> store, Fd wake)
      : store_(std::move(store)), wake_(std::move(wake)) {}

  /// Schedules the eviction. Thread-safe.
  void Post();

  int fd() const override { return wake_.get(); }
  void Answer() override;

 private:
  const std::shared_ptr<BlockStore> store_;
  const Fd wake_;  // an eventfd
};

/// Creates and persists files for serving threads, which may open none for
/// writing; a thread that is not confined does it. That thread derives the keys
/// from file identities that it sees itself, so a serving thread taken over by
/// a hostile container cannot store its bytes under the key of a file that it
/// cannot open. Thread-safe.
class FileKeeper final : public PersistentCache, public Questions {
 public:
  /// Creates files in `directory`, even if it is renamed, and persists them in
  /// `store` on the same disk; null: persists none. `secret` (KeptSecret) is
  /// the key for digests of file identities. Fails with kIo if the directory
  /// cannot be opened, and with kTooManyFiles.
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
  /// Evicts files of the store; null without a store. Its Answer must run in
  /// another thread than the Answer of this object, because evicting takes
  /// long.
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
  /// Queues a question without waiting; does nothing if memory ran out.
  void Post(Question question);

  const Fd directory_;
  const std::shared_ptr<BlockStore> store_;  // null: none is persistent
  const std::unique_ptr<RoomMaker> room_;    // evicts for store_
  const std::string secret_;
  QuestionQueue<Question, Result<Kept>> asked_;
};

}  // namespace ctxfs
