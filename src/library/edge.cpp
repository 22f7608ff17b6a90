#include "library/edge.h"

#include <algorithm>

namespace lanewise::edge {
namespace {

constexpr bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0u) == 0x80u; }

}  // namespace

lw_status report(lw_error* out, lw_status code, std::string_view message, std::uint64_t offset) noexcept {
  if (out == nullptr) return code;
  std::size_t length = std::min(message.size(), sizeof out->message - 1);
  if (length < message.size()) {
    // At most three bytes back: what isn't UTF-8 is cut where it is.
    for (int i = 0; i < 3 && length > 0 && continues_character(message[length]); ++i) --length;
  }
  out->code = code;
  out->offset = offset;
  std::memcpy(out->message, message.data(), length);
  std::memset(out->message + length, 0, sizeof out->message - length);
  return code;
}

lw_status succeed(lw_error* out) noexcept {
  if (out != nullptr) {
    out->code = LW_OK;
    out->offset = LW_NO_OFFSET;
    out->message[0] = '\0';
  }
  return LW_OK;
}

}  // namespace lanewise::edge
