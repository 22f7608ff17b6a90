// Strings of a GGUF file are bytes that anyone may have written: these make them safe to print.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace lanewise::gguf {

/// The inside of a JSON string (no quotes around it): valid UTF-8 whatever `text` is; a byte that isn't part of valid
/// UTF-8 becomes U+FFFD.
std::string escape_for_json(std::string_view text);

/// One line that moves no cursor and changes no colour: control characters, backslashes, invalid UTF-8 and the marks
/// that reorder or hide text become \n, \\, \xNN, \u{NNNN}. `limit` cuts what is longer (in bytes of `text`), with
/// "...".
std::string escape_for_terminal(std::string_view text, std::size_t limit = std::string_view::npos);

}  // namespace lanewise::gguf
