// SPDX-License-Identifier: Apache-2.0
#include "fs/commands/verify/check_inputs.h"

#include <fmt/core.h>

#include "core/io/directory.h"
#include "core/vfs/sources.h"

namespace ctxfs {

Result<Buffer> ReadNamedFile(const std::string& path, uint64_t most) {
  const SourcePtr source = CTXFS_TRY(OpenSource(path));
  if (source->is_directory()) {
    return Error{Code::kUnsupported, "it is a directory"};
  }
  if (source->size() > most) {
    return Error{Code::kLimit,
                 fmt::format("{} bytes, at most {}", source->size(), most)};
  }
  return ReadBuffer(*source, 0, source->size(), "the file", Request());
}

Result<Published> ReadPublished(const Arguments& arguments, Buffer key,
                                std::string* failed) {
  Published published;
  const bool many = arguments.operands.size() > 1 ||
                    IsPlainDirectory(arguments.operands.front());
  if (!arguments.published.empty()) {
    *failed = arguments.published;
    published.expected = CTXFS_TRY(ExpectedDigests::Make(
        arguments.published, std::string(AsText(key.span()))));
    if (many && published.expected->IsOfOneFile()) {
      return Error{Code::kUnsupported,
                   "the digest is of one file: expected one SOURCE, a file"};
    }
  }
  if (!arguments.identity.empty() && many) {
    *failed = arguments.operands.front();
    return Error{Code::kUnsupported,
                 "the identity is of one container: expected one SOURCE, a "
                 "file"};
  }
  if (!arguments.against.empty()) {
    *failed = arguments.against;
    if (arguments.operands.size() > 1) {
      return Error{Code::kUnsupported,
                   "the manifest is of one SOURCE: expected one operand"};
    }
    published.manifest = CTXFS_TRY(DigestManifest::Parse(CTXFS_TRY(
        ReadNamedFile(arguments.against, DigestManifest::kMaxBytes))));
  }
  return published;
}

}  // namespace ctxfs
