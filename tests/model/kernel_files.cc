// SPDX-License-Identifier: Apache-2.0
//
// The Kernel's attributes and files.
#include <algorithm>
#include <utility>

#include "core/content/window.h"
#include "tests/model/kernel.h"

namespace ctxfs::model {

std::string Kernel::GetAttributes() {
  const std::optional<Inode> inode = RandomHeld(random_.OneIn(3));
  if (!inode || *inode == root_) return "nothing";
  const Held& held = At(*inode);
  CheckAttributes(*inode, files_.Examine(*inode, Context()));
  return "stat " + Name(held);
}

bool Kernel::IsOfOpenFile(Inode inode, const Attributes& got) const {
  return std::any_of(handles_.begin(), handles_.end(), [&](const Handle& one) {
    const Version& now = one.node->now;
    return one.inode == inode && one.mirrored && !got.directory &&
           got.size == static_cast<uint64_t>(now.size) &&
           got.mtime == FileTime{now.mtime_ns / kNsPerSecond,
                                 now.mtime_ns % kNsPerSecond};
  });
}

void Kernel::CheckAttributes(Inode inode, const Result<Attributes>& got) {
  const Held& held = At(inode);
  const std::string what = "stat of " + Name(held);
  const State state = StateOf(held);
  const std::shared_ptr<Node> now = world_.Find(held.path);
  // A plain file that is written to is still the same file.
  const bool written = held.mirrored && state == State::kChanged &&
                       !held.node->directory && !now->directory &&
                       now->now.SameFile(held.as_of) && !IsContainer(held) &&
                       !world_.SampleOf(*now).container;
  if (!got) {
    Count("stat: error");
    if (IsSound(held) || (written && AncestorsAreSame(held))) {
      Complain(what + " fails: " + got.error().Text());
    }
    return;
  }
  Count("stat");
  if (!held.mirrored) {
    const auto possible = Possible(held, held.inner);
    const bool right =
        std::any_of(possible.begin(), possible.end(), [&](const Shown* shown) {
          return shown != nullptr && shown->HasSize(*got);
        });
    if (!right)
      Complain(what + " gives " + std::to_string(got->size) + " bytes");
  } else if (state != State::kSame && IsOfOpenFile(inode, *got)) {
    Count("stat of an open file after a change");
  } else if (state == State::kGone) {
    Complain(what + " succeeds, though it is gone");
  } else if (state == State::kChanged && !written && !held.disturbed) {
    Complain(what + " succeeds, though it was replaced");
  } else if (!Matches(*got, *now)) {
    Complain(what + " is wrong");
  }
}

namespace {

/// Whether it is the file that a look-up found, whatever has its name now.
bool IsFile(const ctxfs::OpenFile& file, const Version& found) {
  const FileIdentity identity = file.made_from->identity();
  return identity.device == found.device && identity.inode == found.inode;
}

}  // namespace

std::string Kernel::OpenFile() {
  const std::optional<Inode> inode = RandomHeld(/*directory=*/false);
  return inode ? OpenInode(*inode) : "nothing";
}

std::string Kernel::OpenInode(Inode inode) {
  Held& held = At(inode);
  Result<ctxfs::OpenFile> file = files_.Open(inode, Context());
  CheckOpen(held, file);
  if (!file) return "open " + Name(held) + ", which fails";
  const bool found_before = held.mirrored && IsFile(*file, held.as_of);
  Handle handle;
  handle.inode = inode;
  handle.file = std::make_unique<FileHandle>(files_, inode, std::move(*file));
  handle.path = held.path;
  handle.inner = held.inner;
  handle.mirrored = held.mirrored;
  const std::shared_ptr<Node> now = world_.Find(held.path);
  const State state = StateOf(held);
  const bool there = state != State::kGone && !now->directory &&
                     (!found_before || now->now.SameFile(held.as_of));
  handle.node = there ? now : held.node;
  handle.as_of = there ? now->now : held.as_of;
  handle.disturbed = held.disturbed || !there;
  handle.nameless = found_before && !there;
  handle.forged = held.disturbed || state == State::kForged;
  ++held.users;
  handles_.push_back(std::move(handle));
  return "open " + Name(held);
}

void Kernel::CheckOpen(const Held& held, const Result<ctxfs::OpenFile>& file) {
  const std::string what = "open of " + Name(held);
  const State state = StateOf(held);
  const std::shared_ptr<Node> now = world_.Find(held.path);
  const bool written = held.mirrored && state == State::kChanged &&
                       !now->directory && now->now.SameFile(held.as_of) &&
                       !world_.SampleOf(*now).container;
  const Shown* shown =
      held.mirrored ? nullptr : ShownAt(held.as_of.sample, held.inner);
  if (!file) {
    Count("open: error");
    const bool damaged = shown != nullptr && !shown->bytes;
    if (IsSound(held) && !damaged) {
      Complain(what + " fails: " + file.error().Text());
    }
    return;
  }
  Count("open");
  if (file->live && IsFile(*file, held.as_of)) return;
  if (state == State::kChanged && !written && !held.disturbed) {
    Complain(what + " succeeds, though it was replaced");
  }
  if (held.mirrored && state == State::kGone) {
    Complain(what + " succeeds, though it is gone");
  }
  if (!IsSound(held) || (shown != nullptr && shown->live)) return;
  const uint64_t size =
      held.mirrored ? world_.SampleOf(*now).bytes.size() : shown->size;
  if (file->content.size() != size) {
    Complain(what + " has " + std::to_string(file->content.size()) +
             " bytes in place of " + std::to_string(size));
  }
}

std::string Kernel::ReadFile() {
  if (handles_.empty()) return "nothing";
  Handle& handle = handles_[random_.Below(handles_.size())];
  const uint64_t size = handle.file->file()->content.size();
  const bool all = random_.OneIn(2);
  const uint64_t offset = all ? 0 : random_.Below(size + 2);
  const size_t length = all ? size + 1 : random_.Below(10'000);
  Window window;
  const Status read = handle.file->Read(*handle.file->file(), offset, length,
                                        Context(), window);
  Result<std::string> got = std::string();
  if (read) {
    for (const Bytes slice : window.slices()) *got += AsText(slice);
  } else {
    got = read.error();
  }
  CheckRead(handle, offset, length, got);
  return "read " + std::to_string(length) + " bytes at " +
         std::to_string(offset) + " of '" + handle.path + "' (" + handle.inner +
         ")";
}

namespace {

std::string WindowOf(const std::string& bytes, uint64_t offset, size_t length) {
  return offset >= bytes.size() ? "" : bytes.substr(offset, length);
}

}  // namespace

void Kernel::CheckLiveRead(const Handle& handle, uint64_t offset, size_t length,
                           const Result<std::string>& got) {
  const std::string what = "read of the plain file '" + handle.path + "'";
  Count(got ? "read of a plain file" : "read of a plain file: error");
  if (!got) return Complain(what + " fails: " + got.error().Text());
  if (world_.samples().at(handle.as_of.sample).container && !handle.forged) {
    Complain(what + " is of a container");
  }
  const std::string& bytes = world_.samples().at(handle.node->now.sample).bytes;
  if (*got != WindowOf(bytes, offset, length)) {
    Complain(what + " has other bytes than the file has now");
  }
}

void Kernel::CheckRead(const Handle& handle, uint64_t offset, size_t length,
                       const Result<std::string>& got) {
  if (handle.mirrored && handle.file->file()->live) {
    return CheckLiveRead(handle, offset, length, got);
  }
  const std::string what =
      "read of '" + handle.path + "' (" + handle.inner + ")";
  const auto bytes_of = [&](size_t sample) -> std::optional<std::string> {
    if (handle.mirrored) return world_.samples().at(sample).bytes;
    const Shown* shown = ShownAt(sample, handle.inner);
    return shown == nullptr ? std::nullopt : shown->bytes;
  };
  const Shown* shown =
      handle.mirrored ? nullptr : ShownAt(handle.as_of.sample, handle.inner);
  const bool is_live = shown != nullptr && shown->live;
  const auto is_window_of = [&](size_t sample) {
    const std::optional<std::string> bytes = bytes_of(sample);
    if (is_live) return true;
    if (bytes) return *got == WindowOf(*bytes, offset, length);
    // Of a damaged file its sound part, and nothing past its end.
    const Shown* file =
        handle.mirrored ? nullptr : ShownAt(sample, handle.inner);
    return file != nullptr && (got->empty() || file->partly);
  };
  const std::shared_ptr<Node> there = world_.Find(handle.path);
  if (handle.nameless && got) {
    Count("read of a file that a look-up found");
    if (!is_window_of(handle.node->now.sample)) {
      Complain(what + " has bytes that the file which was found has not");
    }
    return;
  }
  const bool replaced =
      there != nullptr &&
      (there->directory || !there->now.SameFile(handle.as_of));
  const bool written = !handle.node->now.LooksLike(handle.as_of);

  const bool damaged = !bytes_of(handle.as_of.sample);
  if (replaced || written) {
    Count(got ? "read after a change" : "read after a change: error");
    if (!got && got.error().code != Code::kStale && !handle.forged &&
        !damaged) {
      Complain(what + " after a change is not stale: " + got.error().Text());
    }
    if (got) {
      Complain(what + " succeeds, though the file was changed");
    }
    return;
  }
  if (handle.forged) {
    Count(got ? "read of a forged file" : "read of a forged file: error");
    if (got && !is_window_of(handle.node->now.sample)) {
      Complain(what + " has bytes that are no longer in the file, now " +
               world_.samples().at(handle.node->now.sample).name);
    }
    return;
  }
  if (!got) {
    Count("read: error");
    const bool stale = handle.disturbed && got.error().code == Code::kStale;
    if (!damaged && !stale) Complain(what + " fails: " + got.error().Text());
    return;
  }
  Count("read");
  if (damaged && !got->empty() && !shown->partly) {
    Complain(what + " succeeds, though damaged");
  }
  if (!damaged && !is_window_of(handle.as_of.sample)) {
    Complain(what + " has wrong bytes");
  }
}

std::string Kernel::ReleaseFile() {
  if (handles_.empty()) return "nothing";
  const size_t chosen = random_.Below(handles_.size());
  std::swap(handles_[chosen], handles_.back());
  const std::string text = "close '" + handles_.back().path + "'";
  DropUser(handles_.back().inode);
  handles_.pop_back();
  return text;
}

}  // namespace ctxfs::model
