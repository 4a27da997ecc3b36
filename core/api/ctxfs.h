/* SPDX-License-Identifier: Apache-2.0
 *
 * libctxfs for C, and for languages that call C: the files of machine-learning
 * containers, verified, without a mount.
 *
 * A tree shows the same files as a mount of the source (docs/tree.md): for a
 * container, its entries as files; for a directory, its containers as
 * directories. Paths are relative to the source, with slashes between names;
 * "" is the source itself. Paths are bytes and need not be UTF-8.
 *
 * Functions return 0, or -1 with an error in `*error`, which the caller frees.
 * `error` may be NULL. No function terminates the process or throws. Any number
 * of threads may use a tree and its files at the same time, but no thread may
 * use them during or after the call that closes them. Returned memory belongs
 * to the object that the function was called for, unless the comment says that
 * the caller frees it.
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

/* The version of this interface. Types and functions may differ between
 * versions. Functions may be added without a new version. */
#define CTXFS_ABI_VERSION 1

/* Returns the CTXFS_ABI_VERSION of the loaded library. */
CTXFS_API int ctxfs_abi_version(void);
/* Returns the version of ctxfs, such as "0.1.0". */
CTXFS_API const char* ctxfs_version(void);

/* ---- Errors ------------------------------------------------------------ */

enum ctxfs_code {
  CTXFS_NOT_FOUND = 1,  /* no such file, directory or array */
  CTXFS_NOT_CONTAINER,  /* no known format recognises the bytes */
  CTXFS_VERSION,        /* a known format in an unknown version */
  CTXFS_UNSUPPORTED,    /* unknown method or encryption; data may be sound */
  CTXFS_CORRUPT,        /* the bytes contradict the format or each other */
  CTXFS_CHECKSUM,       /* the bytes contradict their checksum */
  CTXFS_LIMIT,          /* a count or size is over a limit */
  CTXFS_IO,             /* a read failed; transient: retry */
  CTXFS_STALE,          /* the file has changed since it was opened */
  CTXFS_NO_MEMORY,      /* an allocation failed; transient: retry */
  CTXFS_TOO_MANY_FILES, /* no descriptor is free; transient: retry */
  CTXFS_LOCKED,         /* encrypted; no key given, or keys not supported */
  CTXFS_INTERRUPTED,    /* `given_up` returned non-zero */
  CTXFS_USAGE           /* an invalid argument */
};

#define CTXFS_NO_OFFSET UINT64_MAX

typedef struct ctxfs_error ctxfs_error;

CTXFS_API enum ctxfs_code ctxfs_error_code(const ctxfs_error* error);
/* Returns the positive errno that a reader of a mount would get. */
CTXFS_API int ctxfs_error_errno(const ctxfs_error* error);
/* Returns the message, in UTF-8, without control characters. */
CTXFS_API const char* ctxfs_error_message(const ctxfs_error* error);
/* Returns the path, file name or array name that the failed call was for; "" if
 * there is none. */
CTXFS_API const char* ctxfs_error_path(const ctxfs_error* error);
/* Returns the byte offset of the fault in the container, or CTXFS_NO_OFFSET. */
CTXFS_API uint64_t ctxfs_error_offset(const ctxfs_error* error);
/* `error` may be NULL. */
CTXFS_API void ctxfs_error_free(ctxfs_error* error);

/* ---- Trees -------------------------------------------------------------- */

typedef struct ctxfs_tree ctxfs_tree;

/* Options for opening a source. The default of each member is zero, so
 *   ctxfs_options options = {.size = sizeof options};
 * sets all defaults. A later library derives from `size` which members the
 * caller's version has. */
typedef struct ctxfs_options {
  size_t size;
  /* Capacity of the cache of decoded blocks, bytes; 0: 256 MiB. */
  uint64_t cache_bytes;
  /* Non-zero: shows the readable rest of a damaged container
   * (docs/mounting.md, `salvage`). */
  int salvage;
  /* Non-zero: does not verify checksums. */
  int no_verify;
  /* Path of a file with the key of encrypted entries; NULL: none. */
  const char* key_file;
  /* Called repeatedly during long computations, on the threads that run them.
   * If it returns non-zero, their calls fail with CTXFS_INTERRUPTED. NULL:
   * calls are never interrupted. */
  int (*given_up)(void* argument);
  void* argument;
  /* Path of the program ctxfs-fetch; NULL: libctxfs1/ctxfs-fetch in the
   * directory of the shared library. */
  const char* fetch_program;
} ctxfs_options;

/* Opens a container file, a directory, or the URL of a container or directory
 * (docs/remote.md). `options` may be NULL.
 *
 * The program ctxfs-fetch fetches URLs, so that the code that parses containers
 * needs no network. The first call for a URL starts ctxfs-fetch with the
 * current environment, where ctxfs-fetch looks for credentials. ctxfs-fetch
 * ends with this process. After a fork, the child must reopen trees of URLs,
 * which starts another ctxfs-fetch. */
CTXFS_API int ctxfs_open(const char* source, const ctxfs_options* options,
                         ctxfs_tree** tree, ctxfs_error** error);
/* `tree` may be NULL. The caller must close its files and arrays first. */
CTXFS_API void ctxfs_close(ctxfs_tree* tree);

enum ctxfs_kind { CTXFS_FILE = 1, CTXFS_DIRECTORY, CTXFS_LINK };

typedef struct ctxfs_stat {
  enum ctxfs_kind kind;
  uint64_t size;    /* bytes; link: length of the target; directory: 0 */
  int64_t mtime;    /* seconds since 1970, may be negative */
  int32_t mtime_ns; /* nanoseconds of the second */
} ctxfs_stat;

/* Returns the attributes of `path`. Follows symbolic links, but not one in the
 * last component. To compute the size of a generated file, may generate it. */
CTXFS_API int ctxfs_lstat(ctxfs_tree* tree, const char* path, ctxfs_stat* stat,
                          ctxfs_error** error);

/* Calls `visit` with each name in a directory, in the order of the container,
 * until `visit` returns non-zero, which is no error. Omits unlisted directories
 * (views, .ctxfs), which are accessible by name, as in a mount. */
CTXFS_API int ctxfs_list(ctxfs_tree* tree, const char* path,
                         int (*visit)(void* argument, const char* name,
                                      enum ctxfs_kind kind),
                         void* argument, ctxfs_error** error);

/* Returns the target of a symbolic link; the caller must free() it. */
CTXFS_API int ctxfs_readlink(ctxfs_tree* tree, const char* path, char** target,
                             ctxfs_error** error);

/* Calls `visit` with each extended attribute that the file has in a mount,
 * such as "user.ctxfs.dtype" and "user.ctxfs.checksum" (docs/tree.md, section
 * 6), until `visit` returns non-zero. Values may contain any bytes. */
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

/* Returns the exact size of a file in bytes. */
CTXFS_API uint64_t ctxfs_file_size(const ctxfs_file* file);

/* Returns the end of the piece that contains byte `offset`. The bytes of a
 * piece are stored, decoded or computed together, so readers should divide a
 * file at the ends of pieces. Returns the file's size if `offset` is not below
 * it. */
CTXFS_API uint64_t ctxfs_piece_end(const ctxfs_file* file, uint64_t offset);

/* Reads `length` bytes from `offset` into `buffer`, or fewer if the file ends
 * before. Sets `*got` to the number of bytes; 0 at or past the end. Verifies
 * the checksum of an entry before returning its bytes. After an error, the
 * contents of `buffer` are undefined. */
CTXFS_API int ctxfs_read(ctxfs_file* file, uint64_t offset, void* buffer,
                         size_t length, size_t* got, ctxfs_error** error);

/* Verifies all of the file now instead of at the first read of each part. */
CTXFS_API int ctxfs_verify(ctxfs_file* file, ctxfs_error** error);

/* Like ctxfs_verify, but also reads the bytes that no checksum covers. */
CTXFS_API int ctxfs_scan(ctxfs_file* file, ctxfs_error** error);

/* Calls `visit` with each fault of the container at `path` that belongs to none
 * of its files, until `visit` returns non-zero. A part of the container file
 * that the tree does not show is reported as CTXFS_UNSUPPORTED. The library
 * owns `fault`. May read the whole container. */
CTXFS_API int ctxfs_faults(ctxfs_tree* tree, const char* path,
                           int (*visit)(void* argument,
                                        const ctxfs_error* fault),
                           void* argument, ctxfs_error** error);

/* For a file that ctxfs_open has rejected with CTXFS_NOT_CONTAINER: sets
 * `*claims` to whether the file's name claims that it is a container. `head`
 * holds the first 512 bytes of the file, or all of a shorter file. If they are
 * text, an extension that text files may also have is no claim, unless the text
 * is a web page or a pointer that was saved in place of a container. */
CTXFS_API int ctxfs_claims_container(const char* name, const void* head,
                                     size_t size, int* claims,
                                     ctxfs_error** error);

/* ---- Arrays -------------------------------------------------------------- */

/* The arrays of a container: tensors, columns, lanes and other arrays of its
 * format (docs/views.md, section 1), in the order of the container. */
typedef struct ctxfs_arrays ctxfs_arrays;

enum ctxfs_array_flags {
  CTXFS_ARRAY_MERGED = 1, /* a delta to another array, merged with it */
  CTXFS_ARRAY_WIDENED = 2 /* elements are wider than the stored ones */
};

typedef struct ctxfs_array {
  /* Unique, in UTF-8. U+FFFD replaces NUL and bytes that are not UTF-8. Later
   * duplicates of a name end in ~2, ~3. */
  const char* name;
  /* The type of an element: "bool", "i8" to "i64", "u8" to "u64", "f16",
   * "bf16", "f32", "f64", "c32", "c64", "c128", "f8_e4m3", "f8_e5m2",
   * "f8_e4m3fnuz", "f8_e5m2fnuz", "f8_e8m0", "f6_e2m3", "f6_e3m2" or "f4";
   * later versions may add types. */
  const char* dtype;
  uint32_t bits;         /* of an element; elements below 8 bits are packed */
  uint32_t dimensions;   /* at most 32; 0 for a scalar */
  const uint64_t* shape; /* elements of each dimension, outermost first */
  uint64_t size;         /* bytes of all elements together */
  uint32_t flags;        /* ctxfs_array_flags */
} ctxfs_array;

/* Lists the arrays of the container at `path`; there may be none. May read a
 * few bytes of each array. The container may be a directory in the tree, or a
 * file if a mount shows it as a file. Fails with CTXFS_NOT_CONTAINER for any
 * other path. */
CTXFS_API int ctxfs_open_arrays(ctxfs_tree* tree, const char* path,
                                ctxfs_arrays** arrays, ctxfs_error** error);
/* `arrays` may be NULL. Files of arrays may stay open. */
CTXFS_API void ctxfs_close_arrays(ctxfs_arrays* arrays);

CTXFS_API size_t ctxfs_array_count(const ctxfs_arrays* arrays);
/* Returns NULL for an index past the end. */
CTXFS_API const ctxfs_array* ctxfs_array_at(const ctxfs_arrays* arrays,
                                            size_t index);
/* Fails with CTXFS_NOT_FOUND if no array has the name. */
CTXFS_API int ctxfs_find_array(const ctxfs_arrays* arrays, const char* name,
                               size_t* index, ctxfs_error** error);

/* Fails if the arrays or the table of the container at `path` are incomplete,
 * because a part is missing or damaged. The error names that part. Reads no
 * more than ctxfs_open_arrays, so faults that only reading the data reveals,
 * such as a checksum mismatch, are errors of the later read. Fails with
 * CTXFS_NOT_CONTAINER if `path` is not a container. */
CTXFS_API int ctxfs_check_complete(ctxfs_tree* tree, const char* path,
                                   ctxfs_error** error);

/* Opens the elements of an array as a file of `size` bytes: row-major,
 * little-endian, without gaps. The caller must close it before the tree. */
CTXFS_API int ctxfs_open_array(const ctxfs_arrays* arrays, size_t index,
                               ctxfs_file** file, ctxfs_error** error);

/* ---- Tables -------------------------------------------------------------- */

/* Arrow's C data and C stream interfaces (arrow.apache.org). Their
 * specifications require each library to copy these definitions. */
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

/* Reads the table of the container at `path` into memory, and verifies it. Sets
 * `*stream` to a stream of a single batch, with the columns of
 * views/table.arrow (docs/views.md, section 8). The caller releases the stream,
 * which may outlive the tree. Fails with CTXFS_NOT_FOUND if the container has
 * no table, and with CTXFS_NOT_CONTAINER if `path` is not a container. */
CTXFS_API int ctxfs_table(ctxfs_tree* tree, const char* path,
                          struct ArrowArrayStream* stream, ctxfs_error** error);

/* ---- Reports ------------------------------------------------------------- */

enum ctxfs_report_depth {
  CTXFS_REPORT_INDEX,   /* the contents of the index; decodes nothing */
  CTXFS_REPORT_SAMPLED, /* also faults, plots, pictures, sampled statistics */
  CTXFS_REPORT_EXACT    /* like CTXFS_REPORT_SAMPLED, from all elements */
};

/* Creates the HTML page of `ctxfs report` about the container at `path`
 * (docs/views.md, section 10). The page calls the container `name` (NULL:
 * `path`). Reads about `read_bytes` at most for each kind of value, and never
 * more than the default of `ctxfs report`, which 0 selects; CTXFS_REPORT_EXACT
 * ignores both limits. `*page` is ASCII and ends with NUL; the caller must
 * free() it. Fails with CTXFS_NOT_CONTAINER if `path` is not a container. */
CTXFS_API int ctxfs_report(ctxfs_tree* tree, const char* path, const char* name,
                           enum ctxfs_report_depth depth, uint64_t read_bytes,
                           char** page, ctxfs_error** error);

#ifdef __cplusplus
}
#endif

#endif
