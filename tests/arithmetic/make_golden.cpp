// make_golden DIRECTORY: writes the golden files, of which tests/arithmetic/golden/ keeps a copy, from the oracle.
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "arithmetic/golden.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_golden DIRECTORY\n");
    return 2;
  }
  std::size_t bytes = 0;
  const auto all = lanewise::golden::make_all();
  for (const auto& [name, file] : all) {
    const std::string text = lanewise::golden::to_text(file);
    std::ofstream out(std::filesystem::path(argv[1]) / name, std::ios::binary);
    out << text;
    out.close();
    if (!out) {
      std::fprintf(stderr, "make_golden: can't write %s into %s\n", name.c_str(), argv[1]);
      return 1;
    }
    bytes += text.size();
  }
  std::printf("%zu files, %zu bytes\n", all.size(), bytes);
  return 0;
}
