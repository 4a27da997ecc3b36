// SPDX-License-Identifier: Apache-2.0
#include "core/report/found_faults.h"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "core/base/causes.h"
#include "core/base/errors.h"
#include "core/base/mutex.h"
#include "core/container/cut_file.h"
#include "core/content/content.h"

namespace ctxfs {
namespace {

/// An entry that must be read to find faults.
struct ToVerify {
  uint32_t entry;
  uint64_t bytes;
};

class Finder {
 public:
  Finder(const Container& container, const ReportOptions& options,
         ReportRoom& room, const ReadContext& context)
      : container_(container),
        entries_(container.Entries()),
        options_(options),
        room_(room),
        context_(context) {}

  FoundFaults Find() && {
    OpenAll();
    VerifyAll();
    std::ranges::sort(failed_, {}, &FoundFaults::Fault::entry);
    AddCut();
    AddOwn();
    for (FoundFaults::Fault& one : failed_) AddOfEntry(std::move(one));
    return std::move(found_);
  }

 private:
  bool exact() const { return options_.depth == ReportDepth::kExact; }

  void Add(FoundFaults::Fault fault) {
    ++(IsDamage(fault.error) ? found_.damaged : found_.unchecked);
    if (found_.listed.size() < FoundFaults::kListed) {
      found_.listed.push_back(std::move(fault));
    }
  }

  void AddCut() {
    if (cut_) Add({std::nullopt, {Code::kCorrupt, cut_->Text()}});
  }

  /// Adds the faults of the container itself, except those that its entries
  /// repeat.
  void AddOwn() {
    std::unordered_set<std::string_view> of_entries;
    for (const FoundFaults::Fault& one : failed_) {
      of_entries.insert(one.error.what);
    }
    for (Error& error :
         exact() ? container_.Inspect(context_) : container_.Faults()) {
      found_.texts.insert(error.Text());
      if (of_entries.contains(error.what) || (cut_ && cut_->Caused(error))) {
        continue;
      }
      causes_.Add(error);
      Add({std::nullopt, std::move(error)});
    }
    for (const Warning& warning : container_.warnings()) {
      if (warning.severity == Severity::kOfEntries) {
        found_.texts.insert(warning.Text());
      }
      if (warning.severity != Severity::kPartial) continue;
      found_.texts.insert(warning.Text());
      partial_ = true;
      Add({std::nullopt, {Code::kUnsupported, warning.text, warning.offset}});
    }
  }

  void AddOfEntry(FoundFaults::Fault fault) {
    found_.entries.push_back(*fault.entry);
    if (!HasCause(fault)) Add(std::move(fault));
  }

  /// Whether a listed fault of the container has caused the fault of an entry.
  bool HasCause(const FoundFaults::Fault& fault) const {
    const Code code = fault.error.code;
    // The warning that a part of the file is not shown covers all such entries.
    if (partial_ && (code == Code::kUnsupported || code == Code::kLocked)) {
      return true;
    }
    if (causes_.Explain(fault.error)) return true;
    if (!cut_ || !IsDamage(fault.error)) return false;
    const std::optional<Error> known = entries_->Fault(*fault.entry);
    return known && known->code == code;
  }

  /// Records the failure of an entry. An entry that exceeds the work limit was
  /// not read, which is no fault.
  void Fail(uint32_t entry, Error error) {
    const MutexLock lock(mutex_);
    if (error.code == Code::kLimit && error.sys_errno == EFBIG) {
      ++found_.unread;
    } else {
      failed_.push_back({entry, std::move(error)});
    }
  }

  void OpenAll() {
    std::string scratch;
    for (uint32_t entry = 0; entry < entries_->count(); ++entry) {
      if (entries_->Facts(entry).kind == FileKind::kDirectory ||
          !entries_->Path(entry, scratch)) {
        continue;
      }
      const Result<Content> content = entries_->Open(entry, context_);
      if (!content) {
        Fail(entry, content.error());
      } else if (content->WorkExceeds(0)) {
        AddToVerify({entry, content->size()});
      }
    }
  }

  void AddToVerify(ToVerify one) {
    if (!exact() && !ReportRoom::Take(room_.verified_bytes, one.bytes)) {
      ++found_.unread;
      return;
    }
    if (options_.expect != nullptr) options_.expect(one.bytes);
    to_verify_.push_back(one);
  }

  void VerifyAll() {
    const auto verify = [this](uint64_t i) {
      const ToVerify& one = to_verify_[i];
      const Result<Content> content = entries_->Open(one.entry, context_);
      const Status verified =
          content ? content->Verify(context_) : Status(content.error());
      if (!verified) Fail(one.entry, verified.error());
      if (options_.done != nullptr) options_.done(one.bytes);
    };
    if (options_.for_each != nullptr) {
      options_.for_each(to_verify_.size(), verify);
      return;
    }
    for (uint64_t i = 0; i < to_verify_.size(); ++i) verify(i);
  }

  const Container& container_;
  const std::shared_ptr<const FileTable> entries_;
  const std::optional<CutFile> cut_ = CutOf(container_);
  const ReportOptions& options_;
  ReportRoom& room_;
  const ReadContext& context_;
  std::vector<ToVerify> to_verify_;
  FoundFaults found_;
  bool partial_ = false;
  Causes causes_;
  Mutex mutex_;
  std::vector<FoundFaults::Fault> failed_;
};

}  // namespace

FoundFaults FindFaults(const Container& container, const ReportOptions& options,
                       ReportRoom& room, const ReadContext& context) {
  return Finder(container, options, room, context).Find();
}

}  // namespace ctxfs
