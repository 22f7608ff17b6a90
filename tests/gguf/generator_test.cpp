// Another generator of hostile files, where one lies beside the checkout: a script hostile/gen.py in a folder next to
// it, with its own verdicts in the tables C (name: bytes, verdict) and SPLIT. It shares no line with the cases here.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "gguf/reader.h"
#include "gguf/temporary.h"
#include "gguf/walk.h"

namespace lanewise::gguf::test {
namespace {

namespace fs = std::filesystem;

std::optional<fs::path> find_generator() {
  std::error_code ignored;
  for (const auto& sibling : fs::directory_iterator(fs::path(LANEWISE_SOURCE_DIR).parent_path(), ignored)) {
    const fs::path script = sibling.path() / "hostile" / "gen.py";
    if (fs::exists(script, ignored)) return script;
  }
  return std::nullopt;
}

TEST(Generator, AllVerdictsHold) {
  const auto script = find_generator();
  if (!script) GTEST_SKIP() << "no hostile/gen.py beside the checkout";
  const Folder folder;
  write_file(folder / "verdicts.py", [] {
    const std::string text =
        "import importlib.util, sys\n"
        "spec = importlib.util.spec_from_file_location('gen', sys.argv[1])\n"
        "gen = importlib.util.module_from_spec(spec)\n"
        "spec.loader.exec_module(gen)\n"
        "for name, (_, verdict) in gen.C.items():\n"
        "    print(name, {True: 'loads', False: 'refused', None: 'policy'}[verdict])\n";
    return std::vector<std::uint8_t>(text.begin(), text.end());
  }());
  const std::string python = "PYTHONDONTWRITEBYTECODE=1 python3 '";
  const std::string files = folder / "files";
  const std::string list = folder / "verdicts";
  std::string generate = python;
  generate.append(script->string()).append("' '").append(files).append("' > /dev/null");
  std::string judge = python;
  judge.append(folder / "verdicts.py").append("' '").append(script->string()).append("' > '").append(list).append("'");
  ASSERT_EQ(std::system(generate.c_str()), 0);
  ASSERT_EQ(std::system(judge.c_str()), 0);

  std::ifstream verdicts(list);
  std::size_t seen = 0;
  std::size_t prefixes = 0;
  for (std::string name, verdict; verdicts >> name >> verdict; ++seen) {
    const std::string path = (std::filesystem::path(files) / name).string() + ".gguf";
    for (const FileAccess access : {FileAccess::automatic, FileAccess::read}) {
      const auto model = Model::open(path, access);
      if (verdict == "loads") {
        EXPECT_TRUE(model) << name << ": " << model.error().message;
      } else if (verdict == "refused") {
        EXPECT_FALSE(model) << name;
      }
      if (model) walk(*model);
    }
    const auto bytes = read_file(path);
    const std::size_t step = bytes.size() > 8192 ? bytes.size() / 499 : 1;
    for (std::size_t size = 0; size < bytes.size(); size += step, ++prefixes) {
      const std::vector<std::uint8_t> prefix(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
      const auto model = Model::open_bytes(prefix);
      if (model) {
        // Only padding may be missing: every tensor lies whole inside.
        for (std::uint64_t i = 0; i < model->tensor_count(); ++i) {
          const TensorView tensor = model->tensor(i);
          EXPECT_LE(tensor.offset + tensor.bytes.size(), tensor.bytes.empty() ? UINT64_MAX : size) << name;
        }
        walk(*model);
      }
      if (verdict == "loads" && !model) {
        EXPECT_EQ(model.error().code, LW_ERROR_FILE_TRUNCATED) << name << " cut to " << size;
      }
    }
  }
  EXPECT_GT(seen, 0u);

  std::size_t shards = 0;
  for (const auto& set : fs::directory_iterator(fs::path(files) / "split")) {
    const bool sound = set.path().filename() == "ok";
    for (const auto& shard : fs::directory_iterator(set.path())) {
      const auto model = Model::open(shard.path().string());
      EXPECT_EQ(model.ok(), sound) << shard.path() << (model ? "" : model.error().message);
      ++shards;
    }
  }
  EXPECT_GT(shards, 0u);
  std::printf("%zu files, %zu prefixes of them, %zu shards\n", seen, prefixes, shards);
}

}  // namespace
}  // namespace lanewise::gguf::test
