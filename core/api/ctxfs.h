/* SPDX-License-Identifier: Apache-2.0
 *
 * libctxfs for C, and for what calls C: the files of machine-learning
 * containers, verified, without a mount.
 *
 * A tree shows what a mount of the same source shows (docs/tree.md): the
 * entries of a container as files, or a directory with containers in it as
 * directories. Paths are relative to the source, with slashes between names;
 * "" is the source itself. They are bytes and need not be UTF-8.
 *
 * Functions return 0, or -1 with an error in `*error`, which the caller frees.
 * `error` may be NULL. No function ends the process, and none throws. Any
 * number of threads may use a tree and its files at the same time, but nobody
 * may use them while they are closed, or afterwards. All memory that is given
 * out belongs to the object it was asked of, unless it is said to be the
 * caller's.
 */
#ifndef CTXFS_API_CTXFS_H
#define CTXFS_API_CTXFS_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define CTXFS_API __attribute__((visibility("default")))
#else
#define CTXFS_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface. A library of another one has other types or
 * functions; functions may be added without a new version. */
#define CTXFS_ABI_VERSION 1

/* CTXFS_ABI_VERSION of the library that is loaded. */
CTXFS_API int ctxfs_abi_version(void);
/* The version of ctxfs, such as "0.1.0". */
CTXFS_API const char* ctxfs_version(void);

/* ---- Errors ------------------------------------------------------------ */

enum ctxfs_code {
  CTXFS_NOT_FOUND = 1,  /* no such file, directory or array */
  CTXFS_NOT_CONTAINER,  /* no known format recognises the bytes */
  CTXFS_VERSION,        /* a known format in an unknown version */
  CTXFS_UNSUPPORTED,    /* an unknown method or encryption; may be sound */
  CTXFS_CORRUPT,        /* the bytes contradict the format or each other */
  CTXFS_CHECKSUM,       /* the bytes contradict their checksum */
  CTXFS_LIMIT,          /* a count or size is over a limit */
  CTXFS_IO,             /* a read failed; may be tried again */
  CTXFS_STALE,          /* the file has changed since it was opened */
  CTXFS_NO_MEMORY,      /* an allocation failed; may be tried again */
  CTXFS_TOO_MANY_FILES, /* no descriptor is free; may be tried again */
  CTXFS_LOCKED,         /* encrypted, and no key was given */
  CTXFS_INTERRUPTED,    /* `given_up` returned non-zero */
  CTXFS_USAGE           /* an argument that no call can be made with */
};

#define CTXFS_NO_OFFSET UINT64_MAX

typedef struct ctxfs_error ctxfs_error;

CTXFS_API enum ctxfs_code ctxfs_error_code(const ctxfs_error* error);
/* A positive errno, as a reader of a mount would get. */
CTXFS_API int ctxfs_error_errno(const ctxfs_error* error);
/* What is wrong, in UTF-8, without control characters. */
CTXFS_API const char* ctxfs_error_message(const ctxfs_error* error);
/* The path that the call was made for; "" if there is none. */
CTXFS_API const char* ctxfs_error_path(const ctxfs_error* error);
/* The byte of the container that is wrong, or CTXFS_NO_OFFSET. */
CTXFS_API uint64_t ctxfs_error_offset(const ctxfs_error* error);
/* `error` may be NULL. */
CTXFS_API void ctxfs_error_free(ctxfs_error* error);

/* ---- Trees -------------------------------------------------------------- */

typedef struct ctxfs_tree ctxfs_tree;

/* How a source is opened. Zero is the default of each member, so
 *   ctxfs_options options = {.size = sizeof options};
 * has all of them; `size` tells a later library which members there are. */
typedef struct ctxfs_options {
  size_t size;
  /* Bytes of decoded blocks to keep; 0: 256 MiB. */
  uint64_t cache_bytes;
  /* Shows what is left of a damaged container (docs/mounting.md, `salvage`). */
  int salvage;
  /* Leaves checksums out. */
  int no_verify;
  /* Path of a file with the key of encrypted entries; NULL: none. */
  const char* key_file;
  /* Asked in long computations, by any thread that makes one: whether to give
   * up. Calls then fail with CTXFS_INTERRUPTED. NULL: never. */
  int (*given_up)(void* argument);
  void* argument;
  /* Path of the program ctxfs-fetch; NULL: libctxfs1/ctxfs-fetch beside the
   * shared library. */
  const char* fetch_program;
} ctxfs_options;

/* Opens a file that is a container, or a directory, or the URL of one (docs/
 * remote.md). `options` may be NULL.
 *
 * URLs are fetched by ctxfs-fetch, which the first call for one starts and
 * which ends with this process: what parses has no network. Its environment is
 * that of the first call, where credentials are looked for. In a child after a
 * fork, trees of URLs are reopened, which starts another one. */
CTXFS_API int ctxfs_open(const char* source, const ctxfs_options* options,
                         ctxfs_tree** tree, ctxfs_error** error);
/* `tree` may be NULL. Its files and arrays are closed before. */
CTXFS_API void ctxfs_close(ctxfs_tree* tree);

enum ctxfs_kind { CTXFS_FILE = 1, CTXFS_DIRECTORY, CTXFS_LINK };

typedef struct ctxfs_stat {
  enum ctxfs_kind kind;
  uint64_t size;    /* bytes; of a link, of its target; 0 for a directory */
  int64_t mtime;    /* seconds since 1970; negative before */
  int32_t mtime_ns; /* nanoseconds of the second */
} ctxfs_stat;

/* What is at `path`. Follows links, but for the last one. Finding the size of a
 * generated file may generate it. */
CTXFS_API int ctxfs_lstat(ctxfs_tree* tree, const char* path, ctxfs_stat* stat,
                          ctxfs_error** error);

/* Calls `visit` with each name in a directory, in the order of the container,
 * until it returns non-zero, which is no error. Unlisted directories (views,
 * .ctxfs) are found by name only, as in a mount. */
CTXFS_API int ctxfs_list(ctxfs_tree* tree, const char* path,
                         int (*visit)(void* argument, const char* name,
                                      enum ctxfs_kind kind),
                         void* argument, ctxfs_error** error);

/* The target of a symbolic link, for the caller to free(). */
CTXFS_API int ctxfs_readlink(ctxfs_tree* tree, const char* path, char** target,
                             ctxfs_error** error);

/* Calls `visit` with the extended attributes that a mount shows of a file:
 * "user.ctxfs.dtype", "user.ctxfs.checksum" and so on (docs/tree.md, section
 * 6), until it returns non-zero. Values may hold any bytes. */
CTXFS_API int ctxfs_attributes(ctxfs_tree* tree, const char* path,
                               int (*visit)(void* argument, const char* name,
                                            const void* value, size_t size),
                               void* argument, ctxfs_error** error);

/* ---- Files --------------------------------------------------------------- */

typedef struct ctxfs_file ctxfs_file;

/* Opens a file; follows links. Fails for a directory. */
CTXFS_API int ctxfs_open_file(ctxfs_tree* tree, const char* path,
                              ctxfs_file** file, ctxfs_error** error);
/* `file` may be NULL. */
CTXFS_API void ctxfs_close_file(ctxfs_file* file);

/* Bytes, exact. */
CTXFS_API uint64_t ctxfs_file_size(const ctxfs_file* file);

/* The end of the piece that byte `offset` is in: bytes that are stored, decoded
 * or computed together, so readers that divide a file do so there. At the end
 * and beyond, the size. */
CTXFS_API uint64_t ctxfs_piece_end(const ctxfs_file* file, uint64_t offset);

/* Fills `buffer` with bytes from `offset` on: `length` of them, or fewer if the
 * file ends before. `*got` is how many; 0 at the end and beyond. No byte is
 * returned before the checksum of its entry has matched; after an error,
 * `buffer` holds nothing of use. */
CTXFS_API int ctxfs_read(ctxfs_file* file, uint64_t offset, void* buffer,
                         size_t length, size_t* got, ctxfs_error** error);

/* Verifies all of the file now instead of at the first read of each part. */
CTXFS_API int ctxfs_verify(ctxfs_file* file, ctxfs_error** error);

/* The same, and reads what no checksum covers. */
CTXFS_API int ctxfs_scan(ctxfs_file* file, ctxfs_error** error);

/* Calls `visit` with each fault of the container at `path` that is the fault of
 * none of its files, until it returns non-zero; a part of its file that it does
 * not show is CTXFS_UNSUPPORTED. The error belongs to the library. Reads what
 * that takes, which may be all of the container. */
CTXFS_API int ctxfs_faults(ctxfs_tree* tree, const char* path,
                           int (*visit)(void* argument,
                                        const ctxfs_error* fault),
                           void* argument, ctxfs_error** error);

/* Sets `*claims` to whether a file claims by its name that it is a container;
 * for one that ctxfs_open refuses with CTXFS_NOT_CONTAINER. Otherwise it is a
 * file of another kind. `head` is its first 512 bytes, or all of a shorter
 * one: text claims nothing by an extension that text files have, too. */
CTXFS_API int ctxfs_claims_container(const char* name, const void* head,
                                     size_t size, int* claims,
                                     ctxfs_error** error);

/* ---- Arrays -------------------------------------------------------------- */

/* The arrays of a container: tensors, columns, lanes and what else its format
 * defines (docs/views.md, section 1), in the order of the container. */
typedef struct ctxfs_arrays ctxfs_arrays;

enum ctxfs_array_flags {
  CTXFS_ARRAY_MERGED = 1, /* the values after a delta to another array */
  CTXFS_ARRAY_WIDENED = 2 /* elements are wider than the stored ones */
};

typedef struct ctxfs_array {
  /* Unique, and UTF-8: other bytes and NUL are U+FFFD, and of equal names the
   * later ones end in ~2, ~3. */
  const char* name;
  /* Of an element: "bool", "i8" to "i64", "u8" to "u64", "f16", "bf16", "f32",
   * "f64", "c32", "c64", "c128", "f8_e4m3", "f8_e5m2", "f8_e4m3fnuz",
   * "f8_e5m2fnuz", "f8_e8m0", "f6_e2m3", "f6_e3m2" or "f4"; later versions may
   * have more. */
  const char* dtype;
  uint32_t bits;         /* of an element; those of fewer than 8 are packed */
  uint32_t dimensions;   /* at most 32; 0 for a scalar */
  const uint64_t* shape; /* elements of each dimension, outermost first */
  uint64_t size;         /* bytes of all elements */
  uint32_t flags;        /* ctxfs_array_flags */
} ctxfs_array;

/* Lists the arrays of the container at `path`, which may read a little of each;
 * there may be none. A container is a directory, or a file that stays one in a
 * mount. Fails with CTXFS_NOT_CONTAINER for any other. */
CTXFS_API int ctxfs_open_arrays(ctxfs_tree* tree, const char* path,
                                ctxfs_arrays** arrays, ctxfs_error** error);
/* `arrays` may be NULL. Files that were opened of them may still be open. */
CTXFS_API void ctxfs_close_arrays(ctxfs_arrays* arrays);

CTXFS_API size_t ctxfs_array_count(const ctxfs_arrays* arrays);
/* NULL for an index past the end. */
CTXFS_API const ctxfs_array* ctxfs_array_at(const ctxfs_arrays* arrays,
                                            size_t index);
/* Fails with CTXFS_NOT_FOUND for a name that is not there. */
CTXFS_API int ctxfs_find_array(const ctxfs_arrays* arrays, const char* name,
                               size_t* index, ctxfs_error** error);

/* Fails with what the arrays and the table of the container at `path` lack,
 * because a part of it is missing or damaged; 0 if they are all that the
 * container says that it has. Reads no more than ctxfs_open_arrays. What only
 * reading finds out, such as a checksum that differs, is an error of the read.
 * Fails with CTXFS_NOT_CONTAINER for any other directory. */
CTXFS_API int ctxfs_check_complete(ctxfs_tree* tree, const char* path,
                                   ctxfs_error** error);

/* Opens the elements of an array as a file of `size` bytes: row-major,
 * little-endian, without gaps. Close it before the tree. */
CTXFS_API int ctxfs_open_array(const ctxfs_arrays* arrays, size_t index,
                               ctxfs_file** file, ctxfs_error** error);

/* ---- Tables -------------------------------------------------------------- */

/* Arrow's C data and C stream interfaces (arrow.apache.org), as their
 * specifications ask every library to repeat them. */
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  int64_t flags;
  int64_t n_children;
  struct ArrowSchema** children;
  struct ArrowSchema* dictionary;
  void (*release)(struct ArrowSchema*);
  void* private_data;
};

struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void** buffers;
  struct ArrowArray** children;
  struct ArrowArray* dictionary;
  void (*release)(struct ArrowArray*);
  void* private_data;
};
#endif

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

struct ArrowArrayStream {
  int (*get_schema)(struct ArrowArrayStream*, struct ArrowSchema* out);
  int (*get_next)(struct ArrowArrayStream*, struct ArrowArray* out);
  const char* (*get_last_error)(struct ArrowArrayStream*);
  void (*release)(struct ArrowArrayStream*);
  void* private_data;
};
#endif

/* Reads the table of the container at `path` into memory, verified, and makes
 * `*stream` one of a single batch: the columns of views/table.arrow (docs/
 * views.md, section 8). The caller releases the stream; it may outlive the
 * tree. Fails with CTXFS_NOT_FOUND for a container that is no table, and with
 * CTXFS_NOT_CONTAINER for any other directory. */
CTXFS_API int ctxfs_table(ctxfs_tree* tree, const char* path,
                          struct ArrowArrayStream* stream, ctxfs_error** error);

/* ---- Reports ------------------------------------------------------------- */

enum ctxfs_report_depth {
  CTXFS_REPORT_INDEX,   /* what the index says; decodes nothing */
  CTXFS_REPORT_SAMPLED, /* also statistics of samples, plots, pictures, faults
                         */
  CTXFS_REPORT_EXACT    /* the same, of all elements */
};

/* Makes an HTML page about the container at `path`, which it calls `name`
 * (NULL: `path`), as `ctxfs report` does (docs/views.md, section 10). Reads at
 * most about `read_bytes` for each sort of value, but for CTXFS_REPORT_EXACT; 0
 * is the program's bound. `*page` is ASCII, ends with NUL and is the caller's
 * to free(). Fails with CTXFS_NOT_CONTAINER for any other directory. */
CTXFS_API int ctxfs_report(ctxfs_tree* tree, const char* path, const char* name,
                           enum ctxfs_report_depth depth, uint64_t read_bytes,
                           char** page, ctxfs_error** error);

#ifdef __cplusplus
}
#endif

#endif
