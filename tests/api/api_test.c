/* SPDX-License-Identifier: Apache-2.0
 *
 * core/api/ctxfs.h from plain C, over golden containers: api_test GOLDEN.
 * Prints each failure with its line, and the number of checks at the end. */
#include "core/api/ctxfs.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int checks;
static int failures;

static int Check(int holds, const char *what, int line) {
  ++checks;
  if (!holds) {
    ++failures;
    fprintf(stderr, "api_test.c:%d: not so: %s\n", line, what);
  }
  return holds;
}
#define CHECK(holds) Check(!!(holds), #holds, __LINE__)

static const char *golden;

/* A path below golden/; valid until the next call. */
static const char *In(const char *name) {
  static char path[4096];
  snprintf(path, sizeof path, "%s/%s", golden, name);
  return path;
}

static ctxfs_tree *OpenGolden(const char *name, const ctxfs_options *options) {
  ctxfs_tree *tree = NULL;
  ctxfs_error *error = NULL;
  if (ctxfs_open(In(name), options, &tree, &error) != 0) {
    fprintf(stderr, "%s: %s\n", name, ctxfs_error_message(error));
    exit(1);
  }
  return tree;
}

/* Whether a call failed with `code`, a fitting errno and a text; frees the
 * error. */
static int Failed(int result, ctxfs_error *error, enum ctxfs_code code,
                  int number) {
  int fits = result == -1 && error != NULL && ctxfs_error_code(error) == code &&
             ctxfs_error_errno(error) == number &&
             *ctxfs_error_message(error) != '\0';
  if (!fits && error != NULL) {
    fprintf(stderr, "error %d, errno %d: %s\n", (int)ctxfs_error_code(error),
            ctxfs_error_errno(error), ctxfs_error_message(error));
  }
  ctxfs_error_free(error);
  return fits;
}

static void TestVersions(void) {
  CHECK(ctxfs_abi_version() == CTXFS_ABI_VERSION);
  CHECK(strchr(ctxfs_version(), '.') != NULL);
}

static int Claims(const char *name, const char *head) {
  int claims = -1;
  CHECK(ctxfs_claims_container(name, head, strlen(head), &claims, NULL) == 0);
  return claims;
}

static void TestClaims(void) {
  CHECK(Claims("model.safetensors", "<html>") == 1);
  CHECK(Claims("MODEL.SAFETENSORS", "") == 1);
  CHECK(Claims("model.bin", "") == 0);
  CHECK(Claims("site.pt", "/usr/lib/python3\n") == 0);
  CHECK(Claims("model.pt", "\x01\x02") == 1);
}

/* 64 bytes, as golden/wshard.json says, of f32 [8, 2]. */
static const char kPath[] = "action/ctrl";
enum { kSize = 64 };

static void TestReads(void) {
  ctxfs_tree *tree = OpenGolden("wshard/all_dtypes.wshard", NULL);
  ctxfs_stat stat;
  CHECK(ctxfs_lstat(tree, kPath, &stat, NULL) == 0);
  CHECK(stat.kind == CTXFS_FILE && stat.size == kSize && stat.mtime > 0);
  CHECK(ctxfs_lstat(tree, "", &stat, NULL) == 0 &&
        stat.kind == CTXFS_DIRECTORY);

  ctxfs_file *file = NULL;
  CHECK(ctxfs_open_file(tree, kPath, &file, NULL) == 0);
  CHECK(ctxfs_file_size(file) == kSize);
  CHECK(ctxfs_piece_end(file, 0) == kSize);
  CHECK(ctxfs_piece_end(file, kSize) == kSize);
  unsigned char whole[kSize + 8], piece[16];
  size_t got = 1;
  CHECK(ctxfs_read(file, 0, whole, sizeof whole, &got, NULL) == 0);
  CHECK(got == kSize);
  CHECK(ctxfs_read(file, 40, piece, sizeof piece, &got, NULL) == 0);
  CHECK(got == sizeof piece && memcmp(piece, whole + 40, got) == 0);
  CHECK(ctxfs_read(file, kSize - 4, piece, sizeof piece, &got, NULL) == 0);
  CHECK(got == 4 && memcmp(piece, whole + kSize - 4, got) == 0);
  CHECK(ctxfs_read(file, kSize, piece, sizeof piece, &got, NULL) == 0);
  CHECK(got == 0);
  CHECK(ctxfs_read(file, UINT64_MAX, piece, sizeof piece, &got, NULL) == 0);
  CHECK(got == 0);
  CHECK(ctxfs_verify(file, NULL) == 0);
  ctxfs_close_file(file);

  /* The same values in a view: a header of 128 bytes before them. */
  unsigned char view[128 + kSize];
  CHECK(ctxfs_open_file(tree, "views/npy/action/ctrl.npy", &file, NULL) == 0);
  CHECK(ctxfs_read(file, 0, view, sizeof view, &got, NULL) == 0);
  CHECK(got == sizeof view && memcmp(view, "\x93NUMPY", 6) == 0);
  CHECK(memcmp(view + 128, whole, kSize) == 0);
  ctxfs_close_file(file);
  ctxfs_close(tree);
}

struct seen {
  int names, files, directories, stop_after;
  char text[64];
};

static int CountName(void *argument, const char *name, enum ctxfs_kind kind) {
  struct seen *seen = argument;
  ++seen->names;
  seen->files += kind == CTXFS_FILE;
  seen->directories += kind == CTXFS_DIRECTORY;
  snprintf(seen->text, sizeof seen->text, "%s", name);
  return seen->names == seen->stop_after;
}

static int TakeDtype(void *argument, const char *name, const void *value,
                     size_t size) {
  struct seen *seen = argument;
  ++seen->names;
  if (strcmp(name, "user.ctxfs.dtype") == 0) {
    snprintf(seen->text, sizeof seen->text, "%.*s", (int)size,
             (const char *)value);
  }
  return 0;
}

static void TestNames(void) {
  ctxfs_tree *tree = OpenGolden("wshard/all_dtypes.wshard", NULL);
  struct seen seen = {0};
  CHECK(ctxfs_list(tree, "", CountName, &seen, NULL) == 0);
  CHECK(seen.directories >= 2 && seen.names == seen.files + seen.directories);
  struct seen first = {.stop_after = 1};
  CHECK(ctxfs_list(tree, "", CountName, &first, NULL) == 0);
  CHECK(first.names == 1);
  struct seen dtype = {0};
  CHECK(ctxfs_attributes(tree, kPath, TakeDtype, &dtype, NULL) == 0);
  CHECK(dtype.names > 3 && strcmp(dtype.text, "f32") == 0);
  ctxfs_error *error = NULL;
  int result = ctxfs_list(tree, kPath, CountName, &seen, &error);
  CHECK(Failed(result, error, CTXFS_NOT_FOUND, ENOENT));
  ctxfs_close(tree);
}

/* Reads all of an array of at most 64 bytes; the size, or -1. */
static int ReadArray(const ctxfs_arrays *arrays, size_t index,
                     unsigned char *into) {
  ctxfs_file *file = NULL;
  size_t got = 0;
  if (ctxfs_open_array(arrays, index, &file, NULL) != 0) return -1;
  int failed = ctxfs_read(file, 0, into, kSize, &got, NULL) != 0 ||
               ctxfs_scan(file, NULL) != 0;
  ctxfs_close_file(file);
  return failed ? -1 : (int)got;
}

static void TestArrays(void) {
  ctxfs_tree *tree = OpenGolden("wshard/all_dtypes.wshard", NULL);
  ctxfs_arrays *arrays = NULL;
  ctxfs_error *error = NULL;
  size_t index = 0;
  CHECK(ctxfs_open_arrays(tree, "", &arrays, NULL) == 0);
  CHECK(ctxfs_array_count(arrays) > 2);
  CHECK(ctxfs_array_at(arrays, ctxfs_array_count(arrays)) == NULL);
  CHECK(ctxfs_find_array(arrays, kPath, &index, NULL) == 0);
  const ctxfs_array *array = ctxfs_array_at(arrays, index);
  CHECK(strcmp(array->name, kPath) == 0 && strcmp(array->dtype, "f32") == 0);
  CHECK(array->bits == 32 && array->size == kSize && array->flags == 0);
  CHECK(array->dimensions == 2 && array->shape[0] == 8 && array->shape[1] == 2);
  unsigned char elements[kSize], entry[kSize];
  CHECK(ReadArray(arrays, index, elements) == kSize);
  ctxfs_file *file = NULL;
  size_t got = 0;
  CHECK(ctxfs_open_file(tree, kPath, &file, NULL) == 0);
  CHECK(ctxfs_read(file, 0, entry, kSize, &got, NULL) == 0);
  CHECK(got == kSize && memcmp(entry, elements, kSize) == 0);
  ctxfs_close_file(file);
  int result = ctxfs_find_array(arrays, "absent", &index, &error);
  CHECK(Failed(result, error, CTXFS_NOT_FOUND, ENOENT));
  result = ctxfs_open_array(arrays, 1000000, &file, &error);
  CHECK(Failed(result, error, CTXFS_NOT_FOUND, ENOENT));
  ctxfs_close_arrays(arrays);
  ctxfs_close_arrays(NULL);
  result = ctxfs_open_arrays(tree, "action", &arrays, &error);
  CHECK(Failed(result, error, CTXFS_NOT_CONTAINER, EIO));
  result = ctxfs_open_arrays(tree, kPath, &arrays, &error);
  CHECK(Failed(result, error, CTXFS_NOT_CONTAINER, EIO));
  ctxfs_close(tree);
}

/* Of a container without any, and of one in a directory. */
static void TestArraysElsewhere(void) {
  ctxfs_tree *tree = OpenGolden("tar/symlinks.tar", NULL);
  ctxfs_arrays *arrays = NULL;
  ctxfs_error *error = NULL;
  CHECK(ctxfs_open_arrays(tree, "", &arrays, NULL) == 0);
  CHECK(ctxfs_array_count(arrays) == 0);
  ctxfs_close_arrays(arrays);
  ctxfs_close(tree);
  tree = OpenGolden("wshard", NULL);
  int result = ctxfs_open_arrays(tree, "", &arrays, &error);
  CHECK(Failed(result, error, CTXFS_NOT_CONTAINER, EIO));
  CHECK(ctxfs_open_arrays(tree, "all_dtypes.wshard", &arrays, NULL) == 0);
  CHECK(ctxfs_array_count(arrays) > 2);
  ctxfs_close_arrays(arrays);
  ctxfs_close(tree);
}

/* The first columns: id (int64) and so on; str_dict is text. */
static void TestTables(void) {
  ctxfs_tree *tree = OpenGolden("shard-profiles/all_encodings.cshard", NULL);
  struct ArrowArrayStream stream = {0};
  CHECK(ctxfs_table(tree, "", &stream, NULL) == 0);
  ctxfs_close(tree); /* the stream has all it needs */
  struct ArrowSchema schema;
  struct ArrowArray batch, id, end;
  CHECK(stream.get_schema(&stream, &schema) == 0);
  CHECK(strcmp(schema.format, "+s") == 0 && schema.n_children == 28);
  CHECK(strcmp(schema.children[0]->name, "id") == 0);
  CHECK(strcmp(schema.children[0]->format, "l") == 0);
  CHECK(schema.children[0]->flags == 0);
  CHECK(strcmp(schema.children[14]->name, "str_dict") == 0);
  CHECK(strcmp(schema.children[14]->format, "u") == 0);
  CHECK(strcmp(schema.children[19]->format, "w:16") == 0);
  CHECK(stream.get_next(&stream, &batch) == 0 && batch.release != NULL);
  CHECK(batch.length == 100 && batch.n_children == 28 && batch.n_buffers == 1);
  CHECK(stream.get_next(&stream, &end) == 0 && end.release == NULL);
  CHECK(stream.get_last_error(&stream) == NULL);
  stream.release(&stream);
  CHECK(stream.release == NULL);
  id = *batch.children[0]; /* moved out of the batch, as Arrow allows */
  batch.children[0]->release = NULL;
  batch.release(&batch);
  CHECK(batch.release == NULL);
  const int64_t *values = id.buffers[1];
  CHECK(id.length == 100 && id.null_count == 0 && id.buffers[0] == NULL);
  CHECK(values[0] == 1000 && values[1] == 1003 && (uintptr_t)values % 64 == 0);
  id.release(&id);
  schema.release(&schema);
  CHECK(schema.release == NULL);

  ctxfs_error *error = NULL;
  tree = OpenGolden("wshard", NULL);
  int result = ctxfs_table(tree, "", &stream, &error);
  CHECK(Failed(result, error, CTXFS_NOT_CONTAINER, EIO));
  result = ctxfs_table(tree, "all_dtypes.wshard", &stream, &error);
  CHECK(Failed(result, error, CTXFS_NOT_FOUND, ENOENT));
  ctxfs_close(tree);
}

static int CountFault(void *argument, const ctxfs_error *fault) {
  struct seen *seen = argument;
  ++seen->names;
  snprintf(seen->text, sizeof seen->text, "%s", ctxfs_error_message(fault));
  return 0;
}

static void TestReports(void) {
  ctxfs_tree *tree = OpenGolden("wshard", NULL);
  const char *path = "corrupt/flip_raw_block.wshard";
  ctxfs_error *error = NULL;
  char *page = NULL;
  CHECK(ctxfs_report(tree, path, NULL, CTXFS_REPORT_INDEX, 0, &page, NULL) ==
        0);
  CHECK(strncmp(page, "<!doctype html>", 15) == 0);
  CHECK(strstr(page, path) != NULL && strstr(page, "mismatch") == NULL);
  free(page);
  CHECK(ctxfs_report(tree, path, "its name", CTXFS_REPORT_EXACT, 0, &page,
                     NULL) == 0);
  CHECK(strstr(page, "its name") != NULL && strstr(page, path) == NULL);
  CHECK(strstr(page, "checksum mismatch") != NULL);
  free(page);
  /* What it may not read is no fault. */
  CHECK(ctxfs_report(tree, path, "", CTXFS_REPORT_SAMPLED, 1, &page, NULL) ==
        0);
  CHECK(strstr(page, "checksum mismatch") == NULL);
  free(page);
  int result =
      ctxfs_report(tree, "", NULL, CTXFS_REPORT_INDEX, 0, &page, &error);
  CHECK(Failed(result, error, CTXFS_NOT_CONTAINER, EIO));
  result = ctxfs_report(tree, path, NULL, (enum ctxfs_report_depth)3, 0, &page,
                        &error);
  CHECK(Failed(result, error, CTXFS_USAGE, EINVAL));
  ctxfs_close(tree);
}

static void TestFaults(void) {
  ctxfs_tree *tree = OpenGolden("wshard/all_dtypes.wshard", NULL);
  struct seen seen = {0};
  CHECK(ctxfs_faults(tree, "", CountFault, &seen, NULL) == 0);
  CHECK(seen.names == 0);
  ctxfs_close(tree);
  ctxfs_options salvage = {.size = sizeof salvage};
  salvage.salvage = 1;
  tree = OpenGolden("wshard/corrupt/cut_01008.wshard", &salvage);
  CHECK(ctxfs_faults(tree, "", CountFault, &seen, NULL) == 0);
  CHECK(seen.names > 0 && strlen(seen.text) > 0);
  ctxfs_close(tree);
}

static void TestLinks(void) {
  ctxfs_tree *tree = OpenGolden("tar/symlinks.tar", NULL);
  ctxfs_stat stat;
  CHECK(ctxfs_lstat(tree, "to_file", &stat, NULL) == 0);
  CHECK(stat.kind == CTXFS_LINK && stat.size == strlen("dir/file"));
  char *target = NULL;
  CHECK(ctxfs_readlink(tree, "to_file", &target, NULL) == 0);
  CHECK(target != NULL && strcmp(target, "dir/file") == 0);
  free(target);
  ctxfs_file *file = NULL;
  CHECK(ctxfs_open_file(tree, "to_file", &file, NULL) == 0);
  ctxfs_close_file(file);
  ctxfs_error *error = NULL;
  int result = ctxfs_open_file(tree, "loop1", &file, &error);
  CHECK(Failed(result, error, CTXFS_NOT_FOUND, ENOENT));
  result = ctxfs_readlink(tree, "dir", &target, &error);
  CHECK(Failed(result, error, CTXFS_NOT_FOUND, ENOENT));
  ctxfs_close(tree);
}

static void TestErrors(void) {
  ctxfs_tree *tree = NULL;
  ctxfs_error *error = NULL;
  int result = ctxfs_open(In("absent"), NULL, &tree, &error);
  CHECK(Failed(result, error, CTXFS_NOT_FOUND, ENOENT));
  result = ctxfs_open(In("README.md"), NULL, &tree, &error);
  CHECK(Failed(result, error, CTXFS_NOT_CONTAINER, EIO));
  /* tests/mount/test_library_urls.py has URLs of servers. By qemu, whose vfork is
     a fork, posix_spawn does not learn that a program is absent. */
  if (getenv("CTXFS_BY_QEMU") == NULL) {
    const ctxfs_options options = {.size = sizeof options,
                                   .fetch_program = "/absent/ctxfs-fetch"};
    result = ctxfs_open("https://host/x.safetensors", &options, &tree, &error);
    CHECK(Failed(result, error, CTXFS_UNSUPPORTED, EIO));
  }
  result = ctxfs_open(NULL, NULL, &tree, &error);
  CHECK(Failed(result, error, CTXFS_USAGE, EINVAL));
  CHECK(ctxfs_open(NULL, NULL, &tree, NULL) == -1);
  CHECK(tree == NULL);
  ctxfs_error_free(NULL);
  ctxfs_close(NULL);
  ctxfs_close_file(NULL);
}

static void TestDamage(void) {
  ctxfs_tree *tree =
      OpenGolden("wshard/corrupt/flip_meta_episode.wshard", NULL);
  ctxfs_file *file = NULL;
  ctxfs_error *error = NULL;
  char buffer[256];
  size_t got = 1;
  CHECK(ctxfs_open_file(tree, "meta/episode", &file, NULL) == 0);
  int result = ctxfs_read(file, 0, buffer, sizeof buffer, &got, &error);
  CHECK(result == -1 && got == 0 && error != NULL);
  CHECK(strcmp(ctxfs_error_path(error), "meta/episode") == 0);
  CHECK(ctxfs_error_offset(error) == 736);
  CHECK(Failed(result, error, CTXFS_CHECKSUM, EIO));
  result = ctxfs_verify(file, &error);
  CHECK(Failed(result, error, CTXFS_CHECKSUM, EIO));
  ctxfs_close_file(file);
  ctxfs_close(tree);

  ctxfs_options unverified = {.size = sizeof unverified};
  unverified.no_verify = 1;
  tree = OpenGolden("wshard/corrupt/flip_meta_episode.wshard", &unverified);
  CHECK(ctxfs_open_file(tree, "meta/episode", &file, NULL) == 0);
  CHECK(ctxfs_read(file, 0, buffer, sizeof buffer, &got, NULL) == 0);
  CHECK(got == 109);
  ctxfs_close_file(file);
  ctxfs_close(tree);
}

static void TestSalvage(void) {
  ctxfs_tree *tree = NULL;
  ctxfs_error *error = NULL;
  const char cut[] = "wshard/corrupt/cut_01008.wshard";
  int result = ctxfs_open(In(cut), NULL, &tree, &error);
  CHECK(error != NULL && ctxfs_error_offset(error) == 40);
  CHECK(Failed(result, error, CTXFS_CORRUPT, EIO));
  ctxfs_options salvage = {.size = sizeof salvage};
  salvage.salvage = 1;
  tree = OpenGolden(cut, &salvage);
  struct seen seen = {0};
  CHECK(ctxfs_list(tree, "", CountName, &seen, NULL) == 0);
  CHECK(seen.names > 0);
  ctxfs_close(tree);
  /* The members behind the first are of no library that knows only that. */
  salvage.size = offsetof(ctxfs_options, salvage);
  result = ctxfs_open(In(cut), &salvage, &tree, &error);
  CHECK(Failed(result, error, CTXFS_CORRUPT, EIO));
}

static int given_up;
static int GivenUp(void *argument) { return *(int *)argument; }

static void TestInterrupts(void) {
  ctxfs_options options = {.size = sizeof options};
  options.given_up = GivenUp;
  options.argument = &given_up;
  ctxfs_tree *tree = OpenGolden("wshard/all_dtypes.wshard", &options);
  ctxfs_file *file = NULL;
  ctxfs_error *error = NULL;
  CHECK(ctxfs_open_file(tree, kPath, &file, NULL) == 0);
  given_up = 1;
  int result = ctxfs_verify(file, &error);
  CHECK(Failed(result, error, CTXFS_INTERRUPTED, EINTR));
  given_up = 0;
  CHECK(ctxfs_verify(file, NULL) == 0);
  ctxfs_close_file(file);
  ctxfs_close(tree);
}

/* Reads a file many times; non-NULL if the bytes ever differ. */
static void *ReadOften(void *argument) {
  ctxfs_tree *tree = argument;
  unsigned char first[kSize], again[kSize];
  size_t got = 0;
  for (int i = 0; i < 200; ++i) {
    ctxfs_file *file = NULL;
    if (ctxfs_open_file(tree, kPath, &file, NULL) != 0) return tree;
    if (ctxfs_read(file, 0, i == 0 ? first : again, kSize, &got, NULL) != 0 ||
        got != kSize || (i > 0 && memcmp(first, again, kSize) != 0)) {
      return tree;
    }
    ctxfs_close_file(file);
  }
  return NULL;
}

static void TestThreads(void) {
  ctxfs_tree *tree = OpenGolden("wshard/all_dtypes.wshard", NULL);
  pthread_t threads[8];
  for (int i = 0; i < 8; ++i) {
    CHECK(pthread_create(&threads[i], NULL, ReadOften, tree) == 0);
  }
  for (int i = 0; i < 8; ++i) {
    void *wrong = tree;
    CHECK(pthread_join(threads[i], &wrong) == 0 && wrong == NULL);
  }
  ctxfs_close(tree);
}

int main(int argc, char **argv) {
  if (argc != 2) return 1;
  golden = argv[1];
  TestVersions();
  TestClaims();
  TestReads();
  TestNames();
  TestArrays();
  TestArraysElsewhere();
  TestTables();
  TestReports();
  TestFaults();
  TestLinks();
  TestErrors();
  TestDamage();
  TestSalvage();
  TestInterrupts();
  TestThreads();
  printf("%d checks, %d failures\n", checks, failures);
  return failures == 0 ? 0 : 1;
}
