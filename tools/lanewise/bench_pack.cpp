#include "bench_pack.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>
#include <vector>

#include "backends/cpu/cpu.h"
#include "bench_machine.h"
#include "bench_run.h"
#include "kernels/shares.h"
#include "model.h"

namespace lanewise::program {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t piece = std::uint64_t{1} << 20;  // bytes a thread takes at a time
constexpr std::uint64_t alignment = 64;

struct Matrix {
  std::string name;
  MatrixView raw;
  std::uint64_t offset;  // in the packed memory
  std::uint64_t units;
};
struct Item {
  const Matrix* matrix;
  std::uint64_t begin, end;  // units
};

// Calls task(i) for every i below `count`, as the library shares out parts; gives the seconds it took.
template <class Task>
double share_out(Crew& crew, std::uint64_t count, const Task& task) {
  PartShares shares(static_cast<std::uint32_t>(count), crew.threads());
  const auto start = Clock::now();
  crew.run([&](std::uint32_t thread) {
    for (std::uint32_t i = 0; shares.take(thread, i);) task(i);
  });
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// All shards, through read().
Result<double> time_reading(const gguf::Model& model, Crew& crew) {
  double seconds = 0;
  for (std::uint32_t shard = 0; shard < model.shard_count(); ++shard) {
    const std::string& path = model.shard_path(shard);
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    std::atomic<int> failed = file < 0 ? errno : 0;
    const std::uint64_t bytes = model.shard_bytes(shard);
    if (file >= 0) {
      seconds += share_out(crew, (bytes + piece - 1) / piece, [&](std::uint64_t i) {
        thread_local std::vector<std::uint8_t> buffer(piece);
        std::uint64_t at = i * piece;
        const std::uint64_t end = std::min(at + piece, bytes);
        while (at < end && failed == 0) {
          const ssize_t got = ::pread(file, buffer.data(), end - at, static_cast<off_t>(at));
          if (got > 0) at += static_cast<std::uint64_t>(got);
          if (got == 0) failed = EIO;
          if (got < 0 && errno != EINTR) failed = errno;
        }
      });
      ::close(file);
    }
    if (failed != 0) {
      return make_error(LW_ERROR_IO, fmt::format("reading '{}' failed: {}", printable(path),
                                                 std::generic_category().message(failed)));
    }
  }
  return seconds;
}

class Packer {
 public:
  Packer(const gguf::Model& model, Layout layout, Crew& crew) : model_(model), layout_(layout), crew_(crew) {}

  Result<PackTimes> run(unsigned rounds) {
    list();
    if (matrices_.empty()) {
      return make_error(LW_ERROR_NOT_FOUND,
                        fmt::format("there is no matrix that layout {} holds in the model", layout_name(layout_)));
    }
    const std::uint64_t available = available_memory();
    if (available != 0 && size_ > available / 2) {
      return make_error(LW_ERROR_MEMORY, fmt::format("{} packed are more than half of the {} of memory that is free",
                                                     human_bytes(size_), human_bytes(available)));
    }
    std::vector<double> read, copy_fresh, copy_again, pack_fresh, pack_again;
    // Once before anything is timed: what the page cache can hold of the file, it holds then.
    LW_TRY(time_reading(model_, crew_));
    for (unsigned round = 0; round < rounds; ++round) {
      if (stop_asked) return times_;
      LW_ASSIGN(seconds, time_reading(model_, crew_));
      read.push_back(seconds);
      {
        LW_ASSIGN(memory, WalkedMemory::create(size_));
        copy_fresh.push_back(copy(memory));
        copy_again.push_back(copy(memory));
      }
      LW_ASSIGN(memory, WalkedMemory::create(size_));
      pack_fresh.push_back(pack(memory));
      pack_again.push_back(pack(memory));
      if (round + 1 == rounds) check(memory);
    }
    times_.read_s = median(read);
    times_.copy_fresh_s = median(copy_fresh);
    times_.copy_again_s = median(copy_again);
    times_.pack_fresh_s = median(pack_fresh);
    times_.pack_again_s = median(pack_again);
    return times_;
  }

 private:
  void list() {
    for_each_matrix(model_, [&](const std::string& name, const MatrixView& view) {
      if (!has_layout(layout_, view.info())) {
        ++times_.raw_matrices;
        times_.raw_bytes += view.bytes();
        return true;
      }
      matrices_.push_back({name, view, size_, pack_units(layout_, view.rows)});
      const std::uint64_t packed = packed_bytes(layout_, view);
      size_ += (packed + alignment - 1) / alignment * alignment;
      ++times_.matrices;
      times_.bytes += view.bytes();
      times_.packed_bytes += packed;
      return true;
    });
    for (const Matrix& matrix : matrices_) {
      const std::uint64_t bytes =
          std::max<std::uint64_t>(1, matrix.raw.bytes() / std::max<std::uint64_t>(1, matrix.units));
      const std::uint64_t step = std::max<std::uint64_t>(1, piece / bytes);
      for (std::uint64_t unit = 0; unit < matrix.units; unit += step) {
        items_.push_back({&matrix, unit, std::min(unit + step, matrix.units)});
      }
    }
    for (std::uint32_t shard = 0; shard < model_.shard_count(); ++shard) times_.file_bytes += model_.shard_bytes(shard);
  }

  // The same bytes in the same pieces to the same places.
  double copy(const WalkedMemory& memory) {
    return share_out(crew_, items_.size(), [&](std::uint64_t i) {
      const Item& item = items_[i];
      const std::uint64_t bytes = item.matrix->raw.bytes();
      const std::uint64_t begin = bytes / item.matrix->units * item.begin;
      const std::uint64_t end = item.end == item.matrix->units ? bytes : bytes / item.matrix->units * item.end;
      std::memcpy(memory.data() + item.matrix->offset + begin, item.matrix->raw.data + begin, end - begin);
    });
  }
  double pack(const WalkedMemory& memory) {
    return share_out(crew_, items_.size(), [&](std::uint64_t i) {
      const Item& item = items_[i];
      cpu_pack(capabilities_, layout_, item.matrix->raw, item.begin, item.end, memory.data() + item.matrix->offset);
    });
  }
  void check(const WalkedMemory& memory) {
    std::vector<std::uint8_t> back;
    for (const Matrix& matrix : matrices_) {
      back.assign(matrix.raw.bytes(), 0);
      unpack_matrix(layout_, matrix.raw, memory.data() + matrix.offset, 0, matrix.units, back.data());
      if (std::memcmp(back.data(), matrix.raw.data, back.size()) == 0) continue;
      times_.wrong = matrix.name;
      return;
    }
  }

  const gguf::Model& model_;
  Layout layout_;
  std::uint32_t capabilities_ = cpu_capabilities();
  Crew& crew_;
  std::vector<Matrix> matrices_;
  std::vector<Item> items_;
  std::uint64_t size_ = 0;
  PackTimes times_;
};

}  // namespace

Result<PackTimes> time_packing(const gguf::Model& model, Layout layout, Crew& crew, unsigned rounds) {
  return Packer(model, layout, crew).run(rounds);
}

void print(Output& out, const PackTimes& times, std::string_view layout) {
  const auto row = [&](std::string_view what, double seconds, std::uint64_t bytes, double against) {
    out.print("{:<44} {:>10.1f} {:>8.2f}{}\n", what, seconds * 1e3,
              seconds > 0 ? static_cast<double>(bytes) / seconds / 1e9 : 0.0,
              against > 0 ? fmt::format(" {:>10.2f}", against / seconds) : "");
  };
  out.print("{} matrices, {}, into {}: {}\n", times.matrices, human_bytes(times.bytes), layout,
            human_bytes(times.packed_bytes));
  if (times.raw_matrices != 0) {
    out.print("{} matrices of float formats, {}, stay as they are\n", times.raw_matrices, human_bytes(times.raw_bytes));
  }
  out.print("\n{:<44} {:>10} {:>8} {:>10}\n", "", "ms", "GB/s", "x memcpy");
  row("reading the file, as cached", times.read_s, times.file_bytes, 0);
  row("memcpy into memory still to be given", times.copy_fresh_s, times.bytes, 0);
  row("packing into memory still to be given", times.pack_fresh_s, times.bytes, times.copy_fresh_s);
  row("memcpy into the same memory again", times.copy_again_s, times.bytes, 0);
  row("packing into the same memory again", times.pack_again_s, times.bytes, times.copy_again_s);
  out.print("\n{}\n", times.wrong.empty()
                          ? "unpacked, every matrix is the file's bytes again"
                          : "WRONG: unpacked, '" + printable(times.wrong) + "' is not the file's bytes");
}

Json to_json(const PackTimes& times) {
  return {{"matrices", times.matrices},
          {"bytes", times.bytes},
          {"packed_bytes", times.packed_bytes},
          {"file_bytes", times.file_bytes},
          {"left_raw", {{"matrices", times.raw_matrices}, {"bytes", times.raw_bytes}}},
          {"read_s", times.read_s},
          {"memcpy_s", times.copy_fresh_s},
          {"pack_s", times.pack_fresh_s},
          {"memcpy_again_s", times.copy_again_s},
          {"pack_again_s", times.pack_again_s},
          {"pack_over_memcpy_speed", times.copy_fresh_s / times.pack_fresh_s},
          {"unpacked_equal", times.wrong.empty()}};
}

}  // namespace lanewise::program
