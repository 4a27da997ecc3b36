// SPDX-License-Identifier: Apache-2.0
#include "core/io/urls/url.h"

#include <unistd.h>

#include <algorithm>
#include <iterator>

#include "core/io/urls/url_store.h"

namespace ctxfs {
namespace {

constexpr std::string_view kSchemes[] = {"http://", "https://", "s3://",
                                         "hf://"};

}  // namespace

bool IsUrl(std::string_view path) {
  const auto* const scheme =
      std::find_if(std::begin(kSchemes), std::end(kSchemes),
                   [&](std::string_view one) { return path.starts_with(one); });
  if (scheme == std::end(kSchemes)) return false;
  const std::string directory(scheme->substr(0, scheme->size() - 2));
  return ::access(directory.c_str(), F_OK) != 0;
}

std::string WithoutQuery(const std::string& path) {
  const bool has_query =
      path.starts_with("http://") || path.starts_with("https://");
  return has_query ? path.substr(0, path.find_first_of("?#")) : path;
}

std::string WithoutVersion(const std::string& path) {
  return path.starts_with("s3://") ? path.substr(0, path.rfind(kVersionMark))
                                   : path;
}

Result<SourcePtr> OpenUrl(const std::string& url, const Request& request) {
  UrlStore* const store = TheUrlStore();
  if (store != nullptr) return store->Open(url, request);
  return Error{Code::kUnsupported, "URLs cannot be opened here"};
}

}  // namespace ctxfs
