// SPDX-License-Identifier: Apache-2.0
#include "core/io/digesting_source.h"

#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <new>
#include <utility>

#include "core/base/mutex.h"

namespace ctxfs {

namespace {

// Digested bytes of the first read. That read recognises the format, and is
// longer than a magic number; a format rereads the bytes that it relies on.
constexpr size_t kProbed = 64;

/// Returns the code of an error: kNotFound also for ENOENT, the errno if the
/// whole directory is missing.
Code CodeOf(const Error& error) {
  return error.sys_errno == ENOENT ? Code::kNotFound : error.code;
}

}  // namespace

class DigestingSource::Recorder {
 public:
  Recorder() : state_(XXH3_createState()) {
    if (state_ == nullptr) throw std::bad_alloc();
    XXH3_64bits_reset(state_.get());
  }

  bool recording() const { return !sealed_.load(std::memory_order_acquire); }

  void Add(uint64_t number, Bytes bytes = {}) {
    const MutexLock lock(mutex_);
    const uint64_t head[] = {number, bytes.size()};
    XXH3_64bits_update(state_.get(), head, sizeof(head));
    XXH3_64bits_update(state_.get(), bytes.data(), bytes.size());
  }

  void Seal() { sealed_.store(true, std::memory_order_release); }

  uint64_t digest() const {
    const MutexLock lock(mutex_);
    return XXH3_64bits_digest(state_.get());
  }

 private:
  struct Free {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };

  std::atomic<bool> sealed_ = false;
  mutable Mutex mutex_;
  std::unique_ptr<XXH3_state_t, Free> state_ CTXFS_GUARDED_BY(mutex_);
};

DigestingSource::DigestingSource(SourcePtr source)
    : DigestingSource(std::move(source), std::make_shared<Recorder>()) {}

DigestingSource::DigestingSource(SourcePtr source,
                                 std::shared_ptr<Recorder> recorder)
    : DerivedSource(std::move(source)), recorder_(std::move(recorder)) {}

void DigestingSource::Seal() { recorder_->Seal(); }

std::optional<uint64_t> DigestingSource::opening_digest() const {
  if (recorder_->recording()) return std::nullopt;
  return recorder_->digest();
}

Status DigestingSource::ReadAt(uint64_t offset, MutableBytes out,
                               const Request& request) const {
  Status read = from().ReadAt(offset, out, request);
  if (!recorder_->recording()) return read;
  Bytes noted = read ? Bytes(out) : Bytes();
  if (!probed_.exchange(true)) {
    noted = noted.first(std::min(noted.size(), kProbed));
  }
  recorder_->Add(offset, noted);
  return read;
}

Result<std::vector<DirectoryEntry>> DigestingSource::List(
    const Request& request) const {
  Result<std::vector<DirectoryEntry>> listed = Noted(from().List(request));
  if (!recorder_->recording()) return listed;
  recorder_->Add(listed ? listed->size() : UINT64_MAX);
  for (size_t i = 0; listed && i < listed->size(); ++i) {
    const DirectoryEntry& entry = (*listed)[i];
    recorder_->Add(entry.directory ? 1 : 0, AsBytes(entry.name));
  }
  return listed;
}

Result<SourcePtr> DigestingSource::OpenBeside(const std::string& path,
                                              const Request& request) const {
  return Record(path, Noted(from().OpenBeside(path, request)));
}

Result<SourcePtr> DigestingSource::OpenSibling(const std::string& path,
                                               const Request& request) const {
  return Record(path, Noted(from().OpenSibling(path, request)));
}

Result<SourcePtr> DigestingSource::OpenDirectoryBeside(
    const std::string& path, const Request& request) const {
  return Record(path, Noted(from().OpenDirectoryBeside(path, request)));
}

Result<SourcePtr> DigestingSource::Record(const std::string& path,
                                          Result<SourcePtr> opened) const {
  if (!recorder_->recording()) return opened;
  recorder_->Add(opened ? 0 : static_cast<uint64_t>(CodeOf(opened.error())) + 1,
                 AsBytes(path));
  if (!opened) return opened;
  FileIdentity identity = (*opened)->identity();
  identity.ctime = {};
  recorder_->Add(0, std::as_bytes(std::span(&identity, 1)));
  return SourcePtr(new DigestingSource(*std::move(opened), recorder_));
}

}  // namespace ctxfs
