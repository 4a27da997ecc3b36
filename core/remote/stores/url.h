// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace ctxfs::remote {

/// The place of the bucket in a request to S3. kPath: in the path. kVirtual: in
/// front of the host. kUsual: in front of the host for AWS, else in the path.
enum class Addressing : uint8_t { kUsual, kPath, kVirtual };

/// The addresses of the services.
struct Endpoints {
  /// Base URL of an S3-compatible service, such as http://127.0.0.1:9000.
  /// Empty: AWS.
  std::string s3;
  std::string region = "us-east-1";  // of S3
  Addressing addressing = Addressing::kUsual;
  std::string hub = "https://huggingface.co";
};

/// Selects the credentials of a request.
enum class Service : uint8_t { kWeb, kS3, kHub };

/// The request that fetches an object.
struct Location {
  std::string url;   // http:// or https://, without user and fragment
  std::string host;  // of the URL, without a port
  Service service = Service::kWeb;
};

/// The longest URL that is accepted, in bytes.
constexpr size_t kMaxUrlBytes = 8192;

/// Returns the request for `url`. Accepted are
///   http://HOST[:PORT]/PATH[?QUERY] and https://...
///   s3://BUCKET/KEY[?versionId=VERSION]
///   hf://ORG/MODEL[@REVISION]/PATH, hf://datasets/ORG/NAME[@REVISION]/PATH
/// Bytes that a URL must not contain are percent-encoded; an S3 key is taken
/// literally. Fails with kNotFound for a URL that names no object: with a user
/// or password, without a host or path, with control characters, with '.' or
/// '..' as a component, or too long.
Result<Location> Locate(std::string_view url, const Endpoints& endpoints);

/// Whether `url` can only name a directory: s3://BUCKET, hf://ORG/MODEL, or a
/// URL of these schemes with a trailing '/'.
bool IsDirectoryUrl(std::string_view url);

/// The directory of all buckets of a store.
constexpr std::string_view kBuckets = "s3://";

/// Returns the request for a page of the listing of `directory`, which is
/// kBuckets or an s3:// or hf:// URL with a trailing '/'. `token` comes from
/// the previous page; empty: the first page. Fails like Locate.
Result<Location> LocatePage(std::string_view directory,
                            const std::string& token,
                            const Endpoints& endpoints);

/// Returns the URL of `name` in a directory.
std::string UrlIn(const std::string& directory, std::string_view name,
                  bool is_directory);

/// Returns the common prefix of the keys of a directory: "a/b/", or nothing.
std::string PathOfDirectory(std::string_view directory);

/// Fails with kNotFound if `name` in `directory`, or anything below it, cannot
/// have a URL. `directory` must be valid for LocatePage.
Status CheckName(const std::string& directory, std::string_view name,
                 bool is_directory);

/// Returns the URL of the object at `path`, relative to the directory of the
/// object at `url`. Fails with kCorrupt if `path` leads out of it.
Result<std::string> UrlBeside(const std::string& url, std::string_view path);

/// Returns the name of the object at `url`: its last component, decoded.
std::string NameOf(std::string_view url);

}  // namespace ctxfs::remote
