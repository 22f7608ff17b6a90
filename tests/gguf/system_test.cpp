// The reader against the system: mapping and reading, pipes, signals, memory, large files, a real model.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <thread>

#include "base/mapped_file.h"
#include "gguf/cases.h"
#include "gguf/reader.h"
#include "gguf/temporary.h"
#include "gguf/walk.h"

#if defined(__SANITIZE_ADDRESS__)
#define LW_TEST_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define LW_TEST_SANITIZED 1
#endif
#endif

namespace lanewise::gguf::test {
namespace {

const Case& good_case(const std::string& name) { return *std::ranges::find(good_cases(), name, &Case::name); }

// Writes `bytes` in pieces, with pauses, then closes.
void feed(int file, const Bytes& bytes, std::size_t piece) {
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    const std::size_t size = std::min(piece, bytes.size() - at);
    ASSERT_EQ(::write(file, bytes.data() + at, size), static_cast<ssize_t>(size));
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  ::close(file);
}

TEST(Files, EmptyMissingAndFolders) {
  const Folder folder;
  write_file(folder / "empty", Bytes{});
  const auto empty = MappedFile::open(folder / "empty");
  ASSERT_TRUE(empty);
  EXPECT_TRUE(empty->bytes().empty());
  EXPECT_EQ(Model::open(folder / "empty").error().code, LW_ERROR_FILE_TRUNCATED);
  for (const FileAccess access : {FileAccess::automatic, FileAccess::map, FileAccess::read}) {
    const auto missing = Model::open(folder / "missing", access);
    EXPECT_EQ(missing.error().code, LW_ERROR_NOT_FOUND);
    EXPECT_NE(missing.error().message.find("missing'"), std::string::npos);
    const auto directory = Model::open(folder.path().string(), access);
    EXPECT_EQ(directory.error().code, LW_ERROR_IO);
    EXPECT_NE(directory.error().message.find("directory"), std::string::npos);
  }
}

TEST(Files, AFileWithoutASizeIsRead) {
  // /proc reports no size for files that have contents.
  const auto file = MappedFile::open("/proc/self/cmdline");
  if (!file) GTEST_SKIP() << "no /proc here";
  EXPECT_FALSE(file->bytes().empty());
  EXPECT_FALSE(file->is_mapped());
}

TEST(Files, TheReadLimitHoldsToTheByte) {
  const Folder folder;
  const Bytes bytes(200000, 7);
  write_file(folder / "f", bytes);
  const auto open = [&](std::uint64_t limit) {
    return MappedFile::open(folder / "f", {.access = FileAccess::read, .read_limit = limit});
  };
  const auto whole = open(200000);
  ASSERT_TRUE(whole);
  EXPECT_TRUE(std::ranges::equal(whole->bytes(), bytes));
  EXPECT_EQ(open(199999).error().code, LW_ERROR_MEMORY);

  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  for (const std::uint64_t limit : {100000u, 65536u, 65535u, 65537u}) {
    for (const std::uint64_t size : {limit, limit + 1}) {
      std::thread writer([&] {
        std::ofstream out(folder / "pipe", std::ios::binary);
        out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(size));
      });
      const auto read = MappedFile::open(folder / "pipe", {.read_limit = limit});
      writer.join();
      EXPECT_EQ(read.ok(), size == limit) << size << " of " << limit;
      if (read) {
        EXPECT_EQ(read->bytes().size(), size);
      }
    }
  }
}

TEST(Files, AnEndlessDeviceIsRefusedByItsFirstBytes) {
  const auto model = Model::open("/dev/zero");
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, LW_ERROR_FILE_MAGIC) << model.error().message;
  EXPECT_EQ(MappedFile::open("/dev/zero", {.access = FileAccess::map}).error().code, LW_ERROR_IO);
  EXPECT_EQ(MappedFile::open("/dev/zero", {.read_limit = 1 << 20}).error().code, LW_ERROR_MEMORY);
}

TEST(Pipes, AModelThroughANamedPipe) {
  const Folder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  const Case& c = good_case("three_tensors");
  for (const std::size_t piece : {std::size_t{7}, c.bytes.size()}) {
    std::thread writer([&] { feed(::open((folder / "pipe").c_str(), O_WRONLY), c.bytes, piece); });
    const auto model = Model::open(folder / "pipe");
    writer.join();
    ASSERT_TRUE(model) << model.error().message;
    EXPECT_FALSE(model->is_mapped());
    EXPECT_EQ(walk(*model), walk(*Model::open_bytes(c.bytes)));
  }
}

TEST(Pipes, AModelThroughADescriptor) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const Case& c = good_case("four_dims");
  std::thread writer([&] { feed(ends[1], c.bytes, 100); });
  const auto model = Model::open("/dev/fd/" + std::to_string(ends[0]));
  writer.join();
  ::close(ends[0]);
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(walk(*model), walk(*Model::open_bytes(c.bytes)));
}

TEST(Pipes, ACutPipeIsTruncated) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  Bytes bytes = good_case("four_dims").bytes;
  bytes.resize(bytes.size() - 16);  // 216 bytes of data are padded to 224
  std::thread writer([&] { feed(ends[1], bytes, 100); });
  const auto model = Model::open("/dev/fd/" + std::to_string(ends[0]));
  writer.join();
  ::close(ends[0]);
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, LW_ERROR_FILE_TRUNCATED);
  EXPECT_NE(model.error().message.find("ends 8 bytes before"), std::string::npos) << model.error().message;
}

std::atomic<int> interruptions{0};

TEST(Pipes, SignalsDontInterrupt) {
  struct sigaction action {};
  action.sa_handler = [](int) { ++interruptions; };  // and no SA_RESTART: open and read return EINTR
  struct sigaction before {};
  ASSERT_EQ(::sigaction(SIGUSR1, &action, &before), 0);
  const Folder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  const Case& c = good_case("one_q4_0");
  const pthread_t reader = ::pthread_self();
  std::thread writer([&] {
    const auto disturb = [&] {
      for (int i = 0; i < 20; ++i) {
        ::pthread_kill(reader, SIGUSR1);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    };
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    disturb();  // while open() waits for this end
    const int file = ::open((folder / "pipe").c_str(), O_WRONLY);
    disturb();  // while read() waits for bytes
    feed(file, c.bytes, 64);
  });
  const auto model = Model::open(folder / "pipe");
  writer.join();
  ::sigaction(SIGUSR1, &before, nullptr);
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_GT(interruptions.load(), 0);
  EXPECT_EQ(model->tensor_count(), 1u);
}

// ---- Memory ----

// The most memory that this process has held, in bytes; nothing where the system doesn't say.
std::optional<std::uint64_t> peak_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::stoull(line.substr(6)) * 1024;
  }
  return std::nullopt;
}
bool reset_peak() {
  std::ofstream out("/proc/self/clear_refs");
  out << "5" << std::flush;
  return out.good();
}

// Growth of the peak while `bytes` are opened.
std::optional<std::uint64_t> growth_of(const Bytes& bytes, bool loads) {
  if (!reset_peak()) return std::nullopt;
  const auto before = peak_memory();
  const auto model = Model::open_bytes(bytes);
  const auto after = peak_memory();
  EXPECT_EQ(model.ok(), loads) << (model ? "" : model.error().message);
  if (!before || !after) return std::nullopt;
  return *after - *before;
}

#ifdef LW_TEST_SANITIZED
constexpr bool memory_is_telling = false;
#else
constexpr bool memory_is_telling = true;
#endif
constexpr std::uint64_t constant = 4 << 20;

TEST(Memory, CountsAreNotBelieved) {
  // Half a billion pairs, or tensors, or array elements in files of a few bytes: nothing may be taken for them.
  for (const char* name : {"pairs_500000000", "tensors_2e63", "array_2e58", "array_of_arrays_2e64"}) {
    const auto found = std::ranges::find(refused_cases(), name, &Case::name);
    ASSERT_NE(found, refused_cases().end());
    const auto growth = growth_of(found->bytes, false);
    if (!growth || !memory_is_telling) GTEST_SKIP() << "the peak of memory can't be told here (sanitizer, or no /proc)";
    EXPECT_LE(*growth, constant) << name;
  }
}

TEST(Memory, TablesTakeLessThanTheFile) {
  // The densest files there are: pairs of 18 bytes, and tensors of 28 bytes without data.
  RawFile pairs;
  RawFile tensors;
  for (std::uint64_t i = 0; i < 500000; ++i) {
    char name[8];
    std::snprintf(name, sizeof name, "%05llx", static_cast<unsigned long long>(i));
    pairs.pairs.push_back(pair(name, u8_t, n8(0)));
    tensors.entries.push_back(entry(name, {0}, f32, 0));
  }
  for (const RawFile* file : {&pairs, &tensors}) {
    const Bytes bytes = file->build();
    const auto growth = growth_of(bytes, true);
    if (!growth || !memory_is_telling) GTEST_SKIP() << "the peak of memory can't be told here (sanitizer, or no /proc)";
    EXPECT_LE(*growth, bytes.size() + constant) << bytes.size();
  }
}

// ---- Sizes ----

TEST(Large, FileAbove4GiBAndTensorsAbove2To32Elements) {
  const Folder folder;
  const std::uint64_t elements = (std::uint64_t{1} << 31) + 32;
  const std::uint64_t first_bytes = 2 * elements;  // of i8
  const RawFile file = {.entries = {entry("big", {elements, 2}, i8, 0), entry("after", {32}, q4_0, first_bytes)}};
  const Bytes head = file.build();
  write_file(folder / "big.gguf", head);
  const std::uint64_t size = head.size() + first_bytes + 32;
  if (::truncate((folder / "big.gguf").c_str(), static_cast<off_t>(size)) != 0) {
    GTEST_SKIP() << "the temporary folder can't hold a sparse file of " << size << " bytes";
  }
  {
    std::fstream out(folder / "big.gguf", std::ios::in | std::ios::out | std::ios::binary);
    const Bytes block = q4_0_block();
    out.seekp(static_cast<std::streamoff>(head.size() + first_bytes));
    out.write(reinterpret_cast<const char*>(block.data()), static_cast<std::streamsize>(block.size()));
    out.seekp(static_cast<std::streamoff>(head.size() + first_bytes - 1));
    out.put('\x5A');
  }
  const auto model = Model::open(folder / "big.gguf");
  ASSERT_TRUE(model) << model.error().message;
  const TensorView big = *model->find_tensor("big");
  EXPECT_EQ(big.elements(), 2 * elements);
  EXPECT_EQ(big.bytes.size(), first_bytes);
  EXPECT_EQ(big.bytes.back(), 0x5A);
  const TensorView after = *model->find_tensor("after");
  EXPECT_EQ(after.offset, head.size() + first_bytes);
  EXPECT_TRUE(std::ranges::equal(after.bytes, q4_0_block()));

  ASSERT_EQ(::truncate((folder / "big.gguf").c_str(), static_cast<off_t>(head.size() + 1000)), 0);
  const auto cut = Model::open(folder / "big.gguf");
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().code, LW_ERROR_FILE_TRUNCATED);
  EXPECT_NE(cut.error().message.find("ends " + std::to_string(first_bytes - 1000) + " bytes before"), std::string::npos)
      << cut.error().message;
}

TEST(RealModel, Opens) {
  const char* path = std::getenv("LANEWISE_MODEL");
  if (path == nullptr || *path == '\0') GTEST_SKIP() << "LANEWISE_MODEL names no model";
  for (const FileAccess access : {FileAccess::map, FileAccess::read}) {
    const auto model = Model::open(path, access);
    ASSERT_TRUE(model) << model.error().message;
    EXPECT_GT(model->tensor_count(), 0u);
    EXPECT_TRUE(model->find("general.architecture")->as_string());
    walk(*model);
    std::printf("%s: version %u, %llu pairs, %llu tensors\n", path, model->version(),
                static_cast<unsigned long long>(model->metadata().size()),
                static_cast<unsigned long long>(model->tensor_count()));
  }
}

}  // namespace
}  // namespace lanewise::gguf::test
