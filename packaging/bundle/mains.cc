// SPDX-License-Identifier: Apache-2.0
//
// What the launcher calls: a program of libctxfs-all.so, by its name.
#include <string_view>

int ProgramMain(int argc, char** argv);  // fs/main.cc
int FetchMain();                         // fs/remote/fetch_main.cc

extern "C" int ctxfs_main(int argc, char** argv);

int ctxfs_main(int argc, char** argv) {
#ifdef CTXFS_FETCHES
  const std::string_view called = argv[0];
  if (called.substr(called.rfind('/') + 1) == "ctxfs-fetch") return FetchMain();
#endif
  return ProgramMain(argc, argv);
}
