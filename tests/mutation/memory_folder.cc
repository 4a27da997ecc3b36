// SPDX-License-Identifier: Apache-2.0
#include "tests/mutation/memory_folder.h"

#include <cstring>
#include <utility>
#include <vector>

namespace ctxfs {
namespace {

using Folder = std::shared_ptr<const MemoryFolder>;

class FolderFile final : public Source {
 public:
  FolderFile(Folder folder, std::string path,
             std::shared_ptr<const std::string> bytes)
      : folder_(std::move(folder)),
        path_(std::move(path)),
        bytes_(std::move(bytes)) {}

  uint64_t size() const override { return bytes_->size(); }
  std::string name() const override {
    return path_.substr(path_.rfind('/') + 1);
  }

  Status ReadAt(uint64_t offset, MutableBytes out,
                const Request& /*request*/) const override {
    if (!InBounds(offset, out.size(), bytes_->size())) {
      return Error{Code::kCorrupt, "read past the end", offset};
    }
    if (!out.empty()) {
      std::memcpy(out.data(), bytes_->data() + offset, out.size());
    }
    Tamper* tamper = folder_->tamper();
    return tamper != nullptr ? tamper->OnRead(offset, out) : Status();
  }

  Status CheckUnchanged() const override {
    Tamper* tamper = folder_->tamper();
    return tamper != nullptr ? tamper->OnCheck() : Status();
  }

  Result<std::shared_ptr<const Source>> OpenBeside(
      const std::string& path, const Request& /*request*/) const override {
    const size_t slash = path_.rfind('/');
    return folder_->OpenBeneath(
        slash == std::string::npos ? "" : path_.substr(0, slash), path, false);
  }

 private:
  Folder folder_;
  std::string path_;
  std::shared_ptr<const std::string> bytes_;
};

class FolderDirectory final : public Source {
 public:
  FolderDirectory(Folder folder, std::string path)
      : folder_(std::move(folder)), path_(std::move(path)) {}

  uint64_t size() const override { return 0; }
  bool is_directory() const override { return true; }
  Status ReadAt(uint64_t offset, MutableBytes out,
                const Request& /*request*/) const override {
    if (offset == 0 && out.empty()) return {};
    return Error{Code::kCorrupt, "read past the end", offset};
  }

  Result<std::vector<DirectoryEntry>> List(
      const Request& /*request*/) const override {
    if (Tamper* tamper = folder_->tamper()) {
      if (Status fault = tamper->OnOpen(); !fault) return fault.error();
    }
    const std::string prefix = path_.empty() ? "" : path_ + "/";
    std::vector<DirectoryEntry> entries;
    for (const auto& [name, bytes] : folder_->files()) {
      if (!name.starts_with(prefix)) continue;
      const std::string below = name.substr(prefix.size());
      const size_t slash = below.find('/');
      const std::string first = below.substr(0, slash);
      if (!entries.empty() && entries.back().name == first) continue;
      entries.push_back({first, slash != std::string::npos});
    }
    return entries;
  }

  Result<std::shared_ptr<const Source>> OpenBeside(
      const std::string& path, const Request& /*request*/) const override {
    return folder_->OpenBeneath(path_, path, false);
  }
  Result<std::shared_ptr<const Source>> OpenDirectoryBeside(
      const std::string& path, const Request& /*request*/) const override {
    return folder_->OpenBeneath(path_, path, true);
  }

 private:
  Folder folder_;
  std::string path_;
};

}  // namespace

Result<std::shared_ptr<const Source>> MemoryFolder::Open(
    const std::string& path) const {
  const auto file = files_.find(path);
  if (file != files_.end()) {
    return std::shared_ptr<const Source>(
        std::make_shared<FolderFile>(shared_from_this(), path, file->second));
  }
  const std::string prefix = path.empty() ? "" : path + "/";
  const auto below = files_.lower_bound(prefix);
  if (below == files_.end() || !below->first.starts_with(prefix)) {
    return Error{Code::kNotFound, "there is no such file"};
  }
  return std::shared_ptr<const Source>(
      std::make_shared<FolderDirectory>(shared_from_this(), path));
}

Result<std::shared_ptr<const Source>> MemoryFolder::OpenBeneath(
    const std::string& directory, const std::string& path,
    bool want_directory) const {
  if (tamper_ != nullptr) {
    if (Status fault = tamper_->OnOpen(); !fault) return fault.error();
  }
  if (path.empty() || path.find('\0') != std::string::npos) {
    return Error{Code::kNotFound, "is no file's name"};
  }
  std::vector<std::string> parts;
  bool out = path.front() == '/';
  for (size_t at = 0; at <= path.size() && !out;) {
    const size_t end = std::min(path.find('/', at), path.size());
    const std::string part = path.substr(at, end - at);
    at = end + 1;
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      parts.push_back(part);
    } else if (parts.empty()) {
      out = true;
    } else {
      parts.pop_back();
    }
  }
  if (out) return Error{Code::kCorrupt, "leads out of the directory"};
  std::string whole = directory;
  for (const std::string& part : parts) {
    if (!whole.empty()) whole += '/';
    whole += part;
  }
  Result<std::shared_ptr<const Source>> source = Open(whole);
  if (source && (*source)->is_directory() != want_directory) {
    return Error{want_directory ? Code::kNotFound : Code::kIo,
                 want_directory ? "there is no such file" : "is a directory"};
  }
  return source;
}

}  // namespace ctxfs
