// SPDX-License-Identifier: Apache-2.0
#include "core/api/ctxfs.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <string>

#include "core/api/handles.h"
#include "core/api/urls.h"
#include "core/base/limits.h"
#include "core/container/format.h"
#include "core/content/window.h"
#include "core/io/urls/url.h"
#include "core/version.h"
#include "core/vfs/key_file.h"
#include "core/vfs/source_tree.h"
#include "core/views/list/views.h"

using ctxfs::Code;
using ctxfs::Error;
using ctxfs::Result;
using ctxfs::ServerWait;
using ctxfs::SourceTree;
using ctxfs::Status;
using ctxfs::api::Call;
using ctxfs::api::CallTree;

namespace {

/// The caller's options, with defaults for members that its version lacks.
ctxfs_options OptionsOf(const ctxfs_options* options) {
  ctxfs_options all{};
  if (options != nullptr) {
    std::memcpy(&all, options, std::min(options->size, sizeof all));
  }
  all.size = sizeof all;
  return all;
}

Status Open(const char* source, const ctxfs_options& options,
            ctxfs_tree** tree) {
  ctxfs::OpenOptions open{.verify = options.no_verify == 0,
                          .salvage = options.salvage != 0};
  if (options.key_file != nullptr) {
    open.key =
        CTXFS_TRY(ctxfs::ReadKeyFile(options.key_file, /*insecure=*/false));
  }
  auto made = std::make_unique<ctxfs_tree>(options);
  ServerWait waits;
  if (ctxfs::IsUrl(source)) {
    CTXFS_TRY(ctxfs::api::ServeUrls(options.fetch_program,
                                    ctxfs::Request(made->interrupt)));
  }
  ctxfs::RequestLimits limits{.interrupt = &made->interrupt};
  if (options.cache_bytes != 0) limits.cache_bytes = options.cache_bytes;
  made->tree = CTXFS_TRY(SourceTree::Open(
      source, open, ctxfs::AllViews(), ctxfs::ListMode::kPrimary,
      ctxfs::LeavingLinks::kFollowed, limits, &waits));
  *tree = made.release();
  return {};
}

ctxfs_kind KindOf(const SourceTree::File& file) {
  if (file.link) return CTXFS_LINK;
  return file.directory ? CTXFS_DIRECTORY : CTXFS_FILE;
}

Status Read(ctxfs_file& file, uint64_t offset, ctxfs::MutableBytes out,
            ServerWait* waits, size_t* got) {
  const ctxfs::Content& content = file.content;
  const ctxfs::ReadContext context = file.owner.tree->context(waits);
  // Verifies an empty file, which may be damaged, because reading no bytes
  // verifies nothing.
  if (content.size() == 0) CTXFS_TRY(content.Verify(context));
  if (offset >= content.size()) return {};
  const auto length = static_cast<size_t>(
      std::min<uint64_t>(out.size(), content.size() - offset));
  CTXFS_TRY(ctxfs::ReadInto(content, offset, out.first(length), context));
  *got = length;
  return {};
}

}  // namespace

extern "C" {

int ctxfs_abi_version(void) { return CTXFS_ABI_VERSION; }

const char* ctxfs_version(void) { return ctxfs::kVersion; }

int ctxfs_open(const char* source, const ctxfs_options* options,
               ctxfs_tree** tree, ctxfs_error** error) {
  return Call(error, source,
              [&] { return Open(source, OptionsOf(options), tree); });
}

void ctxfs_close(ctxfs_tree* tree) { delete tree; }

int ctxfs_lstat(ctxfs_tree* tree, const char* path, ctxfs_stat* stat,
                ctxfs_error** error) {
  return CallTree(error, path, [&](ServerWait* waits) -> Status {
    const SourceTree::File file =
        CTXFS_TRY(tree->tree->Find(path, /*follow=*/false, waits));
    const ctxfs::Attributes found = CTXFS_TRY(tree->tree->Examine(file, waits));
    *stat = {KindOf(file), found.size, found.mtime.seconds,
             static_cast<int32_t>(found.mtime.nanoseconds)};
    return {};
  });
}

int ctxfs_list(ctxfs_tree* tree, const char* path,
               int (*visit)(void* argument, const char* name,
                            enum ctxfs_kind kind),
               void* argument, ctxfs_error** error) {
  return CallTree(error, path, [&](ServerWait* waits) -> Status {
    const SourceTree::File directory =
        CTXFS_TRY(tree->tree->Find(path, /*follow=*/true, waits));
    if (!directory.directory) return Error{Code::kNotFound, "is no directory"};
    bool stopped = false;
    const Status listed = tree->tree->ForEach(
        directory,
        [&](const SourceTree::File& file) -> Status {
          stopped = visit(argument, file.name().c_str(), KindOf(file)) != 0;
          if (!stopped) return {};
          return Error{Code::kInterrupted, "the caller has what it wants"};
        },
        /*lost=*/nullptr, SourceTree::Children::kFound, waits);
    return stopped ? Status() : listed;
  });
}

int ctxfs_readlink(ctxfs_tree* tree, const char* path, char** target,
                   ctxfs_error** error) {
  return CallTree(error, path, [&](ServerWait* waits) -> Status {
    const SourceTree::File file =
        CTXFS_TRY(tree->tree->Find(path, /*follow=*/false, waits));
    if (!file.link) return Error{Code::kNotFound, "is no symbolic link"};
    const std::string text = CTXFS_TRY(tree->tree->ReadLink(file, waits));
    *target = ::strdup(text.c_str());
    if (*target == nullptr) throw std::bad_alloc();
    return {};
  });
}

int ctxfs_attributes(ctxfs_tree* tree, const char* path,
                     int (*visit)(void* argument, const char* name,
                                  const void* value, size_t size),
                     void* argument, ctxfs_error** error) {
  return CallTree(error, path, [&](ServerWait* waits) -> Status {
    const SourceTree::File file =
        CTXFS_TRY(tree->tree->Find(path, /*follow=*/true, waits));
    for (const auto& [name, value] :
         CTXFS_TRY(tree->tree->Xattrs(file, waits))) {
      if (visit(argument, name.c_str(), value.data(), value.size()) != 0) break;
    }
    return {};
  });
}

int ctxfs_open_file(ctxfs_tree* tree, const char* path, ctxfs_file** file,
                    ctxfs_error** error) {
  return CallTree(error, path, [&](ServerWait* waits) -> Status {
    const SourceTree::File found =
        CTXFS_TRY(tree->tree->Find(path, /*follow=*/true, waits));
    ctxfs::OpenFile open = CTXFS_TRY(tree->tree->Open(found, waits));
    *file = new ctxfs_file{*tree, path, std::move(open.content),
                           std::move(open.tree)};
    return {};
  });
}

void ctxfs_close_file(ctxfs_file* file) { delete file; }

uint64_t ctxfs_file_size(const ctxfs_file* file) {
  return file->content.size();
}

uint64_t ctxfs_piece_end(const ctxfs_file* file, uint64_t offset) {
  return file->content.ExtentEnd(offset);
}

int ctxfs_read(ctxfs_file* file, uint64_t offset, void* buffer, size_t length,
               size_t* got, ctxfs_error** error) {
  *got = 0;
  return CallTree(error, file->path.c_str(), [&](ServerWait* waits) {
    return Read(*file, offset, {static_cast<std::byte*>(buffer), length}, waits,
                got);
  });
}

int ctxfs_verify(ctxfs_file* file, ctxfs_error** error) {
  return CallTree(error, file->path.c_str(), [&](ServerWait* waits) {
    return file->content.Verify(file->owner.tree->context(waits));
  });
}

int ctxfs_scan(ctxfs_file* file, ctxfs_error** error) {
  return CallTree(error, file->path.c_str(), [&](ServerWait* waits) {
    return file->content.Scan(file->owner.tree->context(waits));
  });
}

int ctxfs_faults(ctxfs_tree* tree, const char* path,
                 int (*visit)(void* argument, const ctxfs_error* fault),
                 void* argument, ctxfs_error** error) {
  return CallTree(error, path, [&](ServerWait* waits) -> Status {
    const auto container =
        CTXFS_TRY(ctxfs::api::ContainerAt(*tree, path, waits));
    const ctxfs::ReadContext context = tree->tree->context(waits);
    std::vector<Error> faults = container->Inspect(context);
    CTXFS_TRY(context.Check());
    for (const ctxfs::Warning& warning : container->warnings()) {
      if (warning.severity != ctxfs::Severity::kPartial) continue;
      faults.push_back({Code::kUnsupported, warning.text, warning.offset});
    }
    for (const Error& fault : faults) {
      const ctxfs_error told = ctxfs::api::ErrorOf(fault, path);
      if (visit(argument, &told) != 0) break;
    }
    return {};
  });
}

int ctxfs_claims_container(const char* name, const void* head, size_t size,
                           int* claims, ctxfs_error** error) {
  return Call(error, name, [&]() -> Status {
    const ctxfs::Bytes bytes(static_cast<const std::byte*>(head),
                             std::min(size, ctxfs::limits::kProbeBytes));
    *claims = ctxfs::ClaimsContainer(name, bytes) ? 1 : 0;
    return {};
  });
}

}  // extern "C"
