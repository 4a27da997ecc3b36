// SPDX-License-Identifier: Apache-2.0
#include <cerrno>

#include "core/api/handles.h"
#include "core/base/error_number.h"
#include "core/base/text/printable.h"

namespace ctxfs::api {
namespace {

static_assert(static_cast<int>(Code::kNotFound) + 1 == CTXFS_NOT_FOUND);
static_assert(static_cast<int>(Code::kInterrupted) + 1 == CTXFS_INTERRUPTED);

/// The error for running out of memory while making an error. Never freed.
ctxfs_error& NoMemory() {
  static ctxfs_error error{CTXFS_NO_MEMORY, ENOMEM, CTXFS_NO_OFFSET,
                           "no memory", ""};
  return error;
}

}  // namespace

std::string WithoutNul(std::string name) {
  for (size_t at = name.find('\0'); at != std::string::npos;
       at = name.find('\0', at)) {
    name.replace(at, 1, "\xEF\xBF\xBD");
  }
  return name;
}

ctxfs_error ErrorOf(Error error, const char* path) {
  if (error.code == Code::kIo && error.sys_errno == ENOENT) {
    error.code = Code::kNotFound;  // the source does not exist
  }
  return {static_cast<enum ctxfs_code>(static_cast<int>(error.code) + 1),
          ErrnoOf(error), error.offset, Printable(error.Text()), path};
}

int Fail(ctxfs_error** out, const char* path, const Error& error) {
  if (out != nullptr) *out = new ctxfs_error(ErrorOf(error, path));
  return -1;
}

int FailWithoutMemory(ctxfs_error** out) {
  if (out != nullptr) *out = &NoMemory();
  return -1;
}

int FailUsage(ctxfs_error** out, const char* message) {
  if (out != nullptr) {
    *out = new ctxfs_error{CTXFS_USAGE, EINVAL, CTXFS_NO_OFFSET, message, ""};
  }
  return -1;
}

}  // namespace ctxfs::api

extern "C" {

enum ctxfs_code ctxfs_error_code(const ctxfs_error* error) {
  return error->code;
}

int ctxfs_error_errno(const ctxfs_error* error) { return error->number; }

const char* ctxfs_error_message(const ctxfs_error* error) {
  return error->message.c_str();
}

const char* ctxfs_error_path(const ctxfs_error* error) {
  return error->path.c_str();
}

uint64_t ctxfs_error_offset(const ctxfs_error* error) { return error->offset; }

void ctxfs_error_free(ctxfs_error* error) {
  if (error != &ctxfs::api::NoMemory()) delete error;
}

}  // extern "C"
