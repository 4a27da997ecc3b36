/* SPDX-License-Identifier: Apache-2.0
 *
 * URLs by core/api/ctxfs.h: url_test PROGRAM URL FILE. `URL` has the bytes of
 * the local file `FILE`; PROGRAM is ctxfs-fetch, or "" for the installed one.
 * Compares all files of both trees, in several threads and in a child after a
 * fork, and prints the number of files. Given no FILE, prints the error of
 * opening the URL, as "CODE ERRNO MESSAGE". tests/mount/test_library_urls.py
 * runs it. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/api/ctxfs.h"

enum { THREADS = 4, PATH_BYTES = 4096 };

static const char* program;
static const char* url;
static const char* file;

static void Fail(const char* what, const char* path, ctxfs_error* error) {
  fprintf(stderr, "%s %s: %s\n", what, path,
          error == NULL ? "" : ctxfs_error_message(error));
  exit(1);
}

static ctxfs_tree* Open(const char* source) {
  ctxfs_options options = {.size = sizeof options};
  ctxfs_tree* tree = NULL;
  ctxfs_error* error = NULL;
  if (*program != '\0') options.fetch_program = program;
  if (ctxfs_open(source, &options, &tree, &error) == 0) return tree;
  if (file == NULL) {
    printf("%d %d %s\n", (int)ctxfs_error_code(error), ctxfs_error_errno(error),
           ctxfs_error_message(error));
    exit(0);
  }
  Fail("cannot open", source, error);
  return NULL;
}

/* All of a file, and its size. */
static char* ReadAll(ctxfs_tree* tree, const char* path, size_t* size) {
  ctxfs_file* of = NULL;
  ctxfs_error* error = NULL;
  if (ctxfs_open_file(tree, path, &of, &error) != 0) Fail("open", path, error);
  *size = (size_t)ctxfs_file_size(of);
  char* bytes = malloc(*size + 1);
  size_t got = 0;
  if (bytes == NULL || ctxfs_read(of, 0, bytes, *size, &got, &error) != 0 ||
      got != *size) {
    Fail("read", path, error);
  }
  ctxfs_close_file(of);
  return bytes;
}

struct walk {
  ctxfs_tree* remote;
  ctxfs_tree* local;
  char path[PATH_BYTES];
  int files;
};

static void Compare(struct walk* walk);

static int Visit(void* argument, const char* name, enum ctxfs_kind kind) {
  struct walk* walk = argument;
  const size_t end = strlen(walk->path);
  snprintf(walk->path + end, sizeof walk->path - end, "%s%s",
           end == 0 ? "" : "/", name);
  if (kind == CTXFS_DIRECTORY) Compare(walk);
  if (kind == CTXFS_FILE) {
    size_t sizes[2];
    char* there = ReadAll(walk->remote, walk->path, &sizes[0]);
    char* here = ReadAll(walk->local, walk->path, &sizes[1]);
    if (sizes[0] != sizes[1] || memcmp(there, here, sizes[0]) != 0) {
      Fail("other bytes", walk->path, NULL);
    }
    free(there);
    free(here);
    ++walk->files;
  }
  walk->path[end] = '\0';
  return 0;
}

static void Compare(struct walk* walk) {
  ctxfs_error* error = NULL;
  if (ctxfs_list(walk->remote, walk->path, &Visit, walk, &error) != 0) {
    Fail("list", walk->path, error);
  }
}

/* Opens both, compares all files, and closes both; returns how many. */
static int CompareAll(void) {
  struct walk walk = {.remote = Open(url), .local = Open(file)};
  Compare(&walk);
  ctxfs_close(walk.remote);
  ctxfs_close(walk.local);
  return walk.files;
}

static void* InThread(void* counted) {
  *(int*)counted = CompareAll();
  return NULL;
}

int main(int count, char** words) {
  if (count < 3) return 2;
  program = words[1];
  url = words[2];
  file = count > 3 ? words[3] : NULL;
  if (file == NULL) {
    ctxfs_close(Open(url));
    return 1; /* it has to fail */
  }
  pthread_t threads[THREADS];
  int counted[THREADS];
  for (int i = 0; i < THREADS; ++i) {
    if (pthread_create(&threads[i], NULL, &InThread, &counted[i]) != 0)
      return 1;
  }
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);

  /* A tree of the parent stays open while a child opens its own. */
  ctxfs_tree* kept = Open(url);
  const pid_t child = fork();
  if (child == 0) _exit(CompareAll() == counted[0] ? 0 : 1);
  int status = -1;
  waitpid(child, &status, 0);
  if (child < 0 || status != 0) Fail("the child of a fork", url, NULL);
  if (wait(&status) != -1) Fail("a child that is not known", url, NULL);
  ctxfs_close(kept);

  for (int i = 0; i < THREADS; ++i) {
    if (counted[i] != CompareAll()) Fail("other files", url, NULL);
  }
  printf("%d\n", counted[0]);
  return 0;
}
