// SPDX-License-Identifier: Apache-2.0
#include "core/remote/fetcher/curl.h"

#include <dlfcn.h>

#include <new>

#include "core/base/sanitized.h"

namespace ctxfs::remote {
namespace {

Curl g_curl{};

// RTLD_DEEPBIND makes libcurl use the libraries that it was linked with, and
// not libraries of the same name in this program: a Python wheel has its own
// libcrypto. Runtimes of sanitizers refuse the flag.
constexpr int kOwnFirst = CTXFS_SANITIZED ? 0 : RTLD_DEEPBIND;

class Library {
 public:
  explicit Library(const char* name)
      : library_(::dlopen(name, RTLD_NOW | kOwnFirst)) {}

  template <typename Function>
  void Find(const char* name, Function& function) {
    void* const found = library_ == nullptr ? nullptr : ::dlsym(library_, name);
    function = reinterpret_cast<Function>(found);
    complete_ = complete_ && found != nullptr;
  }
  bool complete() const { return complete_; }

 private:
  void* const library_;  // stays loaded
  bool complete_ = true;
};

}  // namespace

Status Curl::Load() {
  Library library("libcurl.so.4");
  library.Find("curl_global_init", g_curl.global_init);
  library.Find("curl_easy_init", g_curl.easy_init);
  library.Find("curl_easy_setopt", g_curl.easy_setopt);
  library.Find("curl_easy_perform", g_curl.easy_perform);
  library.Find("curl_easy_getinfo", g_curl.easy_getinfo);
  library.Find("curl_easy_strerror", g_curl.easy_strerror);
  library.Find("curl_easy_cleanup", g_curl.easy_cleanup);
  library.Find("curl_slist_append", g_curl.slist_append);
  library.Find("curl_slist_free_all", g_curl.slist_free_all);
  library.Find("curl_multi_init", g_curl.multi_init);
  library.Find("curl_multi_setopt", g_curl.multi_setopt);
  library.Find("curl_multi_add_handle", g_curl.multi_add_handle);
  library.Find("curl_multi_remove_handle", g_curl.multi_remove_handle);
  library.Find("curl_multi_perform", g_curl.multi_perform);
  library.Find("curl_multi_poll", g_curl.multi_poll);
  library.Find("curl_multi_wakeup", g_curl.multi_wakeup);
  library.Find("curl_multi_info_read", g_curl.multi_info_read);
  library.Find("curl_multi_cleanup", g_curl.multi_cleanup);
  if (!library.complete() ||
      g_curl.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
    return Error{Code::kUnsupported,
                 "URLs need libcurl 7.88 or later (Debian: libcurl4), which "
                 "cannot be loaded"};
  }
  return {};
}

const Curl& Curl::Get() { return g_curl; }

void CurlList::Add(const std::string& line) {
  curl_slist* const longer =
      Curl::Get().slist_append(lines_.get(), line.c_str());
  if (longer == nullptr) throw std::bad_alloc();
  (void)lines_.release();
  lines_.reset(longer);
}

}  // namespace ctxfs::remote
