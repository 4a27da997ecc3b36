/* SPDX-License-Identifier: Apache-2.0
 *
 * Prints .ctxfs/info.json of a container, by an installed libctxfs.so.1. */
#include <core/api/ctxfs.h>
#include <stdio.h>

static int Print(ctxfs_file *file) {
  char text[4096];
  size_t got = 0;
  uint64_t offset = 0;
  do {
    if (ctxfs_read(file, offset, text, sizeof text, &got, NULL) != 0) return 4;
    fwrite(text, 1, got, stdout);
    offset += got;
  } while (got != 0);
  return 0;
}

int main(int argc, char **argv) {
  ctxfs_tree *tree = NULL;
  ctxfs_file *file = NULL;
  if (argc != 2) return 1;
  if (ctxfs_open(argv[1], NULL, &tree, NULL) != 0) return 2;
  if (ctxfs_open_file(tree, ".ctxfs/info.json", &file, NULL) != 0) return 3;
  int failed = Print(file);
  ctxfs_close_file(file);
  ctxfs_close(tree);
  return failed;
}
