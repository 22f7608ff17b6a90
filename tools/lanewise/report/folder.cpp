#include "report/folder.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "base/mapped_file.h"
#include "exit_codes.h"
#include "gguf/escape.h"
#include "output.h"

namespace lanewise::program::report {
namespace {

// Of one document. A verification of a large model in all its verdicts is some tens of megabytes.
constexpr std::uint64_t most_bytes = std::uint64_t{256} << 20U;

void read_document(Material& material, const std::string& name, const std::string& path) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (!error && size > most_bytes) {
    material.not_shown.emplace_back(
        name, fmt::format("{}: more than {} are read of no file", human_bytes(size), human_bytes(most_bytes)));
    return;
  }
  if (!error && size == 0) {
    material.not_shown.emplace_back(name, "empty");
    return;
  }
  auto file = MappedFile::open(path, FileOptions{});
  if (!file) {
    material.not_shown.emplace_back(name, file.error().message);
    return;
  }
  note_input(path);
  const auto bytes = file->bytes();
  auto document = parse_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (!document) {
    const Error& fault = document.error();
    material.not_shown.emplace_back(name, fault.offset == Error::no_offset
                                              ? fault.message
                                              : fmt::format("{} (byte {})", fault.message, fault.offset));
    return;
  }
  add_document(material, name, *document);
}

}  // namespace

Result<Material> read_folder(const std::string& path) {
  std::error_code error;
  std::vector<std::string> names;
  std::filesystem::directory_iterator entries(path, error);
  if (error) {
    const bool missing = error == std::errc::no_such_file_or_directory;
    return make_error(missing ? LW_ERROR_NOT_FOUND : LW_ERROR_IO,
                      fmt::format("'{}': {}", gguf::escape_for_terminal(path), error.message()));
  }
  for (; entries != std::filesystem::directory_iterator(); entries.increment(error)) {
    const std::filesystem::path& entry = entries->path();
    if (entry.extension() == ".json") names.push_back(entry.filename().string());
    if (error) break;
  }
  if (error) return make_error(LW_ERROR_IO, fmt::format("'{}': {}", gguf::escape_for_terminal(path), error.message()));
  std::ranges::sort(names);
  Material material;
  for (const std::string& name : names) {
    if (stop_asked) break;
    const std::string whole = fmt::format("{}/{}", path, name);
    if (!std::filesystem::is_regular_file(whole, error)) {
      material.not_shown.emplace_back(name, "no regular file");
      continue;
    }
    read_document(material, name, whole);
  }
  return material;
}

}  // namespace lanewise::program::report
