// Writes the first inputs of the GGUF fuzzer into a folder that exists: gguf_corpus FOLDER
#include <cstdio>
#include <fstream>
#include <string>

#include "gguf/cases.h"

namespace {

bool write(const std::string& path, const lanewise::gguf::test::Bytes& bytes) {
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out.good()) std::fprintf(stderr, "can't write %s\n", path.c_str());
  return out.good();
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::fprintf(stderr, "usage: gguf_corpus FOLDER\n");
    return 2;
  }
  using namespace lanewise::gguf::test;
  std::size_t written = 0;
  for (const auto* list : {&good_cases(), &refused_cases()}) {
    for (const Case& c : *list) {
      if (c.bytes.size() > 65536) continue;  // long names and deep arrays: slow to mutate, and tested by name
      if (!write(std::string(arguments[1]) + "/" + c.name, c.bytes)) return 1;
      ++written;
    }
  }
  for (const NamedFile& file : shards()) {
    if (!write(std::string(arguments[1]) + "/" + file.name, file.bytes)) return 1;
    ++written;
  }
  std::printf("%zu files\n", written);
  return 0;
}
