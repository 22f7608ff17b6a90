// What tuning found, kept: a file a device, and the defaults that this build was shipped with.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "kernels/tuning.h"
#include "tune/fingerprint.h"
#include "tune/tile.h"

namespace lanewise::tune {

/// One shape and window. Times are cold, in microseconds.
struct StoreEntry {
  TuningKey key;
  std::string tile;          ///< the default where nothing beat it
  std::string default_tile;  ///< what it was compared with
  double default_us = 0;
  double tuned_us = 0;
  double ratio = 1;  ///< the median of the paired ratios; 1 where the default stays
  std::uint32_t rounds = 0;
  std::uint32_t rejected = 0;
  std::string date;  ///< "2026-11-30"

  bool operator==(const StoreEntry&) const = default;
  [[nodiscard]] bool won() const { return tile != default_tile; }
};

struct Store {
  Fingerprint fingerprint;
  std::vector<StoreEntry> entries;  ///< one a key

  bool operator==(const Store&) const = default;
  /// Takes the place of the entry of the same key.
  void put(StoreEntry entry);
};

inline constexpr std::uint64_t most_store_bytes = std::uint64_t{64} << 20U;

std::string store_text(const Store& store);
/// Errors (LW_ERROR_ARGUMENT) say what is damaged, with the byte where one can be named.
Result<Store> parse_store(std::string_view text);
/// Errors: LW_ERROR_NOT_FOUND where there is no such file, LW_ERROR_IO, and those of parse_store().
Result<Store> read_store(const std::string& path);

/// The user's file for that device, in $XDG_CACHE_HOME/lanewise or ~/.cache/lanewise. Errors: LW_ERROR_NOT_FOUND where
/// the environment names neither.
Result<std::string> store_path(const Fingerprint& fingerprint);

/// A file of src/tune/db as this build has it.
struct Shipped {
  std::string_view name;
  std::string_view text;
};
std::span<const Shipped> shipped_stores();

/// Puts the entries that this device (null: the CPU) can run into `tuning`; of the others a line each into `ignored`.
/// `source`: "shipped with this version", "here".
void overlay(const Store& store, std::string_view source, const gpu::Device* gpu, std::uint32_t capabilities,
             Tuning& tuning, std::vector<std::string>& ignored);

/// The defaults that were shipped for that device: of the same name and backend, whatever its driver. What can't be
/// used gets a line.
Tuning shipped_tuning(const Fingerprint& fingerprint, const gpu::Device* gpu, std::uint32_t capabilities,
                      std::vector<std::string>& ignored);

}  // namespace lanewise::tune
