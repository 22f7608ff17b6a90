// Split models: opened from any shard, refused when the shards don't belong together.
#include "gguf/split.h"

#include <gtest/gtest.h>

#include "gguf/cases.h"
#include "gguf/reader.h"
#include "gguf/temporary.h"
#include "gguf/walk.h"

namespace lanewise::gguf::test {
namespace {

void write_all(const Folder& folder, const std::vector<NamedFile>& files) {
  for (const NamedFile& file : files) write_file(folder / file.name, file.bytes);
}

// The error of opening each shard that is there; they all must fail.
std::vector<Error> errors(const Folder& folder) {
  std::vector<Error> out;
  for (const auto& file : shards()) {
    if (!std::filesystem::exists(folder / file.name)) continue;
    const auto model = Model::open(folder / file.name);
    EXPECT_FALSE(model) << file.name;
    if (!model) out.push_back(model.error());
  }
  return out;
}

void expect_refused(const SplitPlan& plan, const std::string& says) {
  const Folder folder;
  write_all(folder, shards(plan));
  for (const Error& error : errors(folder)) {
    EXPECT_EQ(error.code, LW_ERROR_FILE_SPLIT) << error.message;
    EXPECT_NE(error.message.find(says), std::string::npos) << error.message;
  }
}

TEST(Split, OpensFromAnyShard) {
  const Folder folder;
  const auto files = shards();
  write_all(folder, files);
  for (const NamedFile& file : files) {
    for (const FileAccess access : {FileAccess::automatic, FileAccess::read}) {
      const auto model = Model::open(folder / file.name, access);
      ASSERT_TRUE(model) << model.error().message;
      EXPECT_EQ(model->shard_count(), 3u);
      ASSERT_EQ(model->tensor_count(), 3u);
      for (std::uint32_t i = 0; i < 3; ++i) {
        EXPECT_EQ(model->tensor(i).name, std::string(1, static_cast<char>('a' + i)));
        EXPECT_EQ(model->tensor(i).shard, i);
        EXPECT_EQ(model->shard_path(i), folder / files[i].name);
      }
      EXPECT_EQ(model->find("general.architecture")->as_string(), "llama");
      walk(*model);
    }
  }
}

TEST(Split, AMissingShardIsNamed) {
  for (std::size_t missing = 0; missing < 3; ++missing) {
    const Folder folder;
    const auto files = shards();
    write_all(folder, files);
    std::filesystem::remove(folder / files[missing].name);
    const auto found = errors(folder);
    EXPECT_EQ(found.size(), 2u);
    for (const Error& error : found) {
      EXPECT_EQ(error.code, LW_ERROR_FILE_SPLIT);
      EXPECT_EQ(error.message.find("'" + files[missing].name + "', shard " + std::to_string(missing + 1) +
                                   " of 3, is missing"),
                0u)
          << error.message;
    }
  }
}

TEST(Split, ShardsThatDontBelongTogether) {
  expect_refused({.no = {0, 2, 1}}, "by its metadata");
  expect_refused({.no = {0, 1, 1}}, "is shard 2 of 3 by its metadata");
  expect_refused({.count = {3, 4, 3}}, "by its metadata");
  expect_refused({.count = {4, 4, 4}}, "another by its name");
  expect_refused({.total = {3, 4, 3}}, "in all shards");
  expect_refused({.total = {4, 4, 4}}, "announces 4 tensors in all shards; they hold 3");
  expect_refused({.no = {0, 1, 3}}, "split.no is 3");
}

TEST(Split, AWholeFileAmongShards) {
  const Folder folder;
  const auto files = shards({.count = {3, 1, 3}});
  write_all(folder, files);
  for (const std::size_t i : {std::size_t{0}, std::size_t{2}}) {
    const auto model = Model::open(folder / files[i].name);
    ASSERT_FALSE(model);
    EXPECT_EQ(model.error().code, LW_ERROR_FILE_SPLIT);
    EXPECT_EQ(model.error().message.find("'m-00002-of-00003.gguf' is named as a shard"), 0u) << model.error().message;
  }
  EXPECT_TRUE(Model::open(folder / files[1].name)) << "its metadata say that it is whole, and they count";
}

TEST(Split, ATensorInTwoShards) {
  const Folder folder;
  write_all(folder, shards({.tensors = {"a", "b", "a"}}));
  for (const Error& error : errors(folder)) {
    EXPECT_EQ(error.code, LW_ERROR_FILE_TENSOR);
    EXPECT_NE(error.message.find("tensor 'a' is there twice, the second time in 'm-00003-of-00003.gguf'"),
              std::string::npos)
        << error.message;
  }
}

TEST(Split, AFaultInAShardNamesTheShard) {
  const Folder folder;
  auto files = shards();
  files[1].bytes.resize(files[1].bytes.size() - 15);
  write_all(folder, files);
  const auto model = Model::open(folder / files[0].name);
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, LW_ERROR_FILE_TRUNCATED);
  EXPECT_EQ(model.error().offset, files[1].bytes.size());
  EXPECT_EQ(model.error().message.find("in 'm-00002-of-00003.gguf': the file ends 1 byte"), 0u)
      << model.error().message;
}

TEST(Split, AShardByAnotherNameIsRefused) {
  const Folder folder;
  write_file(folder / "model.gguf", shards()[0].bytes);
  const auto model = Model::open(folder / "model.gguf");
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, LW_ERROR_FILE_SPLIT);
  const auto files = shards();
  const auto bytes = Model::open_bytes(files[1].bytes);
  ASSERT_FALSE(bytes);
  EXPECT_EQ(bytes.error().code, LW_ERROR_FILE_SPLIT);
  EXPECT_NE(bytes.error().message.find("shard 2 of 3"), std::string::npos);
}

TEST(Split, AWholeFileMayHaveAShardsName) {
  const Folder folder;
  const Bytes bytes = RawFile{}.build();
  write_file(folder / "x-00001-of-00002.gguf", bytes);
  EXPECT_TRUE(Model::open(folder / "x-00001-of-00002.gguf"));
}

TEST(Split, Names) {
  const auto name = parse_shard_name("dir-00009-of-00010.gguf/a-00001-of-00003-00002-of-00012.gguf");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->stem, "dir-00009-of-00010.gguf/a-00001-of-00003");
  EXPECT_EQ(name->number, 2u);
  EXPECT_EQ(name->count, 12u);
  EXPECT_EQ(shard_path(*name, 7), "dir-00009-of-00010.gguf/a-00001-of-00003-00007-of-00012.gguf");
  EXPECT_EQ(shard_path({"a", 0, 123456}, 100000), "a-100000-of-123456.gguf");
  for (const char* other :
       {"a.gguf", "a-0001-of-0002.gguf", "a-00001-of-00002", "a-00001-of-00002.bin", "a-00001_of-00002.gguf",
        "a00001-of-00002.gguf", "-of-00002.gguf", "a-00001-of-.gguf", "a-00001-of-9999999999.gguf", ""}) {
    EXPECT_FALSE(parse_shard_name(other)) << other;
  }
}

}  // namespace
}  // namespace lanewise::gguf::test
