// SPDX-License-Identifier: Apache-2.0
#include "core/formats/onnx/external.h"

#include <utility>
#include <vector>

#include "core/base/text/text.h"
#include "core/formats/onnx/limits.h"

namespace ctxfs::onnx {

std::optional<std::string> LocationBelow(std::string_view location) {
  if (location.empty() || location.size() > kMaxLocation ||
      location.starts_with('/') ||
      location.find('\0') != std::string_view::npos) {
    return std::nullopt;
  }
  std::vector<std::string_view> components;
  while (!location.empty()) {
    const size_t end = std::min(location.find('/'), location.size());
    const std::string_view component = location.substr(0, end);
    location.remove_prefix(std::min(end + 1, location.size()));
    if (component.empty() || component == ".") continue;
    if (component != "..") {
      components.push_back(component);
    } else if (components.empty()) {
      return std::nullopt;
    } else {
      components.pop_back();
    }
  }
  std::string path;
  for (const std::string_view component : components) {
    if (!path.empty()) path += '/';
    path += component;
  }
  if (path.empty()) return std::nullopt;
  return path;
}

Result<std::shared_ptr<const Source>> ExternalFiles::Open(
    const std::string& location, const Request& request) const {
  if (alone_) {
    return Error{Code::kCorrupt,
                 "external: no other files are opened for this model"};
  }
  {
    const MutexLock lock(mutex_);
    for (const Opened& one : opened_) {
      if (one.location == location) return one.file;
    }
  }
  Result<std::shared_ptr<const Source>> file =
      model_->OpenSibling(location, request);
  if (!file) {
    Error error = std::move(file).error();
    error.what = "external: " + Quote(location) + ": " + error.what;
    error.offset = kNoOffset;
    // A retry cannot help if the file is missing, or is not a regular file (kIo
    // without an errno), so the error becomes permanent.
    if (error.code == Code::kNotFound ||
        (error.code == Code::kIo && error.sys_errno == 0)) {
      error.code = Code::kCorrupt;
    }
    return error;
  }
  const MutexLock lock(mutex_);
  opened_.push_front({location, *file});
  if (opened_.size() > kOpenFiles) opened_.pop_back();
  return file;
}

}  // namespace ctxfs::onnx
