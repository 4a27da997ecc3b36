// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <curl/curl.h>

#include <memory>
#include <string>

#include "core/base/result.h"

namespace ctxfs::remote {

/// The functions of libcurl that ctxfs uses. Only the process that fetches URLs
/// loads it: it brings 27 libraries, which would cost every other command 8 ms,
/// and which processes that parse hostile bytes do not need.
struct Curl {
  decltype(&::curl_global_init) global_init;
  decltype(&::curl_easy_init) easy_init;
  decltype(&::curl_easy_setopt) easy_setopt;
  decltype(&::curl_easy_perform) easy_perform;
  decltype(&::curl_easy_getinfo) easy_getinfo;
  decltype(&::curl_easy_strerror) easy_strerror;
  decltype(&::curl_easy_cleanup) easy_cleanup;
  decltype(&::curl_slist_append) slist_append;
  decltype(&::curl_slist_free_all) slist_free_all;
  decltype(&::curl_multi_init) multi_init;
  decltype(&::curl_multi_setopt) multi_setopt;
  decltype(&::curl_multi_add_handle) multi_add_handle;
  decltype(&::curl_multi_remove_handle) multi_remove_handle;
  decltype(&::curl_multi_perform) multi_perform;
  decltype(&::curl_multi_poll) multi_poll;
  decltype(&::curl_multi_wakeup) multi_wakeup;
  decltype(&::curl_multi_info_read) multi_info_read;
  decltype(&::curl_multi_cleanup) multi_cleanup;

  /// Loads libcurl. Must be called before the process confines itself. Fails
  /// with kUnsupported if it is not installed or too old.
  static Status Load();
  /// The functions; Load must have been called.
  static const Curl& Get();
};

struct FreeEasy {
  void operator()(CURL* easy) const { Curl::Get().easy_cleanup(easy); }
};
using CurlEasy = std::unique_ptr<CURL, FreeEasy>;

/// A list of lines for libcurl, such as header fields of a request.
class CurlList {
 public:
  void Add(const std::string& line);
  curl_slist* get() const { return lines_.get(); }

 private:
  struct FreeList {
    void operator()(curl_slist* list) const {
      Curl::Get().slist_free_all(list);
    }
  };

  std::unique_ptr<curl_slist, FreeList> lines_;
};

}  // namespace ctxfs::remote
