// SPDX-License-Identifier: Apache-2.0
#include "core/codec/png.h"

#include <png.h>

#include <csetjmp>
#include <cstring>
#include <utility>

namespace ctxfs {
namespace {

// Frames are encoded when someone looks at them: a tenth of the time that the
// best compression takes, for files about a tenth longer.
constexpr int kLevel = 3;

/// Where the file goes. Its room is the most that it can be: libpng's frames
/// must not be thrown through, so nothing is allocated in them.
struct Sink {
  std::byte* to;
  size_t room;
  size_t used = 0;
};

void Put(png_structp png, png_bytep bytes, png_size_t size) {
  Sink& sink = *static_cast<Sink*>(png_get_io_ptr(png));
  if (size > sink.room - sink.used) png_error(png, "no room");
  std::memcpy(sink.to + sink.used, bytes, size);
  sink.used += size;
}

void Flush(png_structp /*png*/) {}

[[noreturn]] void Fail(png_structp png, png_const_charp /*what*/) {
  png_longjmp(png, 1);
}

void Ignore(png_structp /*png*/, png_const_charp /*what*/) {}

int ColorType(unsigned channels) {
  if (channels == 3) return PNG_COLOR_TYPE_RGB;
  return channels == 4 ? PNG_COLOR_TYPE_RGB_ALPHA : PNG_COLOR_TYPE_GRAY;
}

void Write(png_structp png, png_infop info, const Picture& picture,
           const std::byte* pixels, const Interrupt& interrupt) {
  png_set_compression_level(png, kLevel);
  png_set_filter(png, PNG_FILTER_TYPE_BASE, PNG_FILTER_SUB | PNG_FILTER_UP);
  png_set_IHDR(png, info, picture.width, picture.height,
               static_cast<int>(picture.depth), ColorType(picture.channels),
               PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, info);
  if (picture.depth == 16) png_set_swap(png);  // a PNG is big-endian
  for (uint32_t y = 0; y < picture.height; ++y) {
    if (interrupt.interrupted()) png_error(png, "interrupted");
    png_write_row(png, reinterpret_cast<png_const_bytep>(
                           pixels + y * picture.row_size()));
  }
  png_write_end(png, nullptr);
}

/// Nothing here has a destructor: libpng's errors jump back to it.
bool Encode(const Picture& picture, const std::byte* pixels,
            const Interrupt& interrupt, Sink& sink) {
  png_structp png =
      png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, &Fail, &Ignore);
  if (png == nullptr) return false;
  png_infop info = png_create_info_struct(png);
  if (info == nullptr || setjmp(png_jmpbuf(png)) != 0) {
    png_destroy_write_struct(&png, &info);
    return false;
  }
  png_set_write_fn(png, &sink, &Put, &Flush);
  Write(png, info, picture, pixels, interrupt);
  png_destroy_write_struct(&png, &info);
  return true;
}

}  // namespace

Result<Buffer> EncodePng(const Picture& picture, Bytes pixels,
                         const Interrupt& interrupt) {
  // What zlib may add, a filter byte a row, and 12 bytes for each chunk.
  const auto plain = static_cast<size_t>(picture.size() + picture.height);
  const size_t most = plain + plain / 256 + 4096;
  Buffer room(most);
  Sink sink{room.data(), most};
  if (!Encode(picture, pixels.data(), interrupt, sink)) {
    if (Status wanted = interrupt.Check(); !wanted) {
      return std::move(wanted).error();
    }
    return Error{Code::kNoMemory, "cannot encode a PNG"};
  }
  Buffer made(sink.used);
  std::memcpy(made.data(), room.data(), sink.used);
  return made;
}

}  // namespace ctxfs
