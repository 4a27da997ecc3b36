// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "core/io/source.h"

namespace ctxfs {

/// Whether `path` names an object or a directory of a server: it begins with
/// http://, https://, s3:// or hf://, and no local file or directory is named
/// `http:`, `https:`, `s3:` or `hf:`, respectively.
bool IsUrl(std::string_view path);

/// The separator before the version of an object in a URL s3://BUCKET/KEY.
constexpr std::string_view kVersionMark = "?versionId=";

/// Returns `path` without the version of an S3 object.
std::string WithoutVersion(const std::string& path);

/// Returns `path` for messages and mount tables: without the query of an HTTP
/// URL, which may contain a signature, and its fragment. Other paths are
/// unchanged.
std::string WithoutQuery(const std::string& path);

/// Opens `url` by the UrlStore (url_store.h); kUnsupported without one.
Result<SourcePtr> OpenUrl(const std::string& url, const Request& request);

}  // namespace ctxfs
