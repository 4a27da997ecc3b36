// SPDX-License-Identifier: Apache-2.0
#include "core/formats/zip/archive_source.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/content/read_context.h"

namespace ctxfs::zip {
namespace {

/// The decoded bytes of a member. They are not cached, because their readers
/// cache the results that they compute.
class MemberSource final : public DerivedSource {
 public:
  MemberSource(SourcePtr archive, Content content)
      : DerivedSource(std::move(archive)), content_(std::move(content)) {}

  uint64_t size() const override { return content_.size(); }
  Status ReadAt(uint64_t offset, MutableBytes out,
                const Request& request) const override {
    return ReadInto(content_, offset, out, ReadContext(cache_, request));
  }

 private:
  const Content content_;
  mutable BlockCache cache_{0};
};

}  // namespace

ArchiveSource::ArchiveSource(std::shared_ptr<const Archive> archive)
    : DerivedSource(archive->source()),
      archive_(std::move(archive)),
      by_name_([this] {
        Index index(archive_->count());
        std::iota(index.begin(), index.end(), 0U);
        // Keeps the order of equal names, because the first of them counts
        // (PreferLastNames).
        std::ranges::stable_sort(
            index, {}, [this](uint32_t i) { return archive_->Name(i); });
        return std::make_shared<const Index>(std::move(index));
      }()) {}

ArchiveSource::ArchiveSource(const ArchiveSource& whole, std::string prefix)
    : DerivedSource(whole.archive_->source()),
      archive_(whole.archive_),
      by_name_(whole.by_name_),
      prefix_(std::move(prefix)),
      directory_(true) {}

ArchiveSource::Index::const_iterator ArchiveSource::LowerBound(
    std::string_view name) const {
  return std::ranges::lower_bound(
      *by_name_, name, {}, [this](uint32_t i) { return archive_->Name(i); });
}

bool ArchiveSource::IsBelow(Index::const_iterator at,
                            std::string_view prefix) const {
  return at != by_name_->end() && archive_->Name(*at).starts_with(prefix);
}

Result<std::vector<DirectoryEntry>> ArchiveSource::List(
    const Request& request) const {
  std::vector<DirectoryEntry> entries;
  for (auto at = LowerBound(prefix_); IsBelow(at, prefix_);) {
    CTXFS_TRY(request.CheckMemory());
    const std::string_view rest = archive_->Name(*at).substr(prefix_.size());
    const size_t slash = rest.find('/');
    const std::string name(rest.substr(0, slash));
    const bool directory = slash != std::string_view::npos;
    const bool link = archive_->member(*at).kind == Kind::kLink;
    const bool again = !entries.empty() && entries.back().name == name;
    if (!name.empty() && !again) entries.push_back({name, directory, link});
    // '0' follows '/', so all members of a directory are before NAME0.
    at = directory ? LowerBound(prefix_ + name + '0') : at + 1;
  }
  return entries;
}

Result<SourcePtr> ArchiveSource::OpenBeside(const std::string& path,
                                            const Request& request) const {
  const std::string name = prefix_ + path;
  const auto at = LowerBound(name);
  if (at == by_name_->end() || archive_->Name(*at) != name) {
    return Error{Code::kNotFound, "there is no such member"};
  }
  if (archive_->member(*at).kind != Kind::kFile) {
    return Error{Code::kCorrupt, "is not a regular file"};
  }
  Content content = CTXFS_TRY(archive_->Open(*at, request));
  return SourcePtr(std::make_shared<const MemberSource>(archive_->source(),
                                                        std::move(content)));
}

Result<SourcePtr> ArchiveSource::OpenDirectoryBeside(
    const std::string& path, const Request& /*request*/) const {
  const std::string prefix = path == "." ? prefix_ : prefix_ + path + "/";
  if (!IsBelow(LowerBound(prefix), prefix)) {
    return Error{Code::kNotFound, "there is no such directory"};
  }
  return SourcePtr(new ArchiveSource(*this, prefix));
}

bool HasRootFile(const Directory& directory, std::string_view name) {
  return std::ranges::any_of(directory.members, [&](const Member& member) {
    return member.kind == Kind::kFile && directory.ShownName(member) == name;
  });
}

}  // namespace ctxfs::zip
