#include "census.h"

#include <algorithm>
#include <map>
#include <span>
#include <string_view>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lanewise::program {
namespace {

// Matrices that an architecture multiplies by the same x, by the ends of their names (llama.cpp's).
constexpr std::string_view query_key_value[] = {"attn_q", "attn_k", "attn_v"};
constexpr std::string_view latent[] = {"attn_q_a", "attn_kv_a_mqa"};
constexpr std::string_view gate_up[] = {"ffn_gate", "ffn_up"};
constexpr std::string_view gate_up_experts[] = {"ffn_gate_exps", "ffn_up_exps"};
constexpr std::string_view gate_up_shared[] = {"ffn_gate_shexp", "ffn_up_shexp"};
constexpr std::span<const std::string_view> shared_sets[] = {query_key_value, latent, gate_up, gate_up_experts,
                                                             gate_up_shared};

struct Member {
  std::size_t place;
  gguf::TensorView tensor;
};
// The members of a set in one layer: key is (index of the set, "blk.12").
using Layers = std::map<std::pair<std::size_t, std::string>, std::vector<Member>>;

void note_member(Layers& layers, const gguf::TensorView& tensor) {
  constexpr std::string_view suffix = ".weight";
  if (tensor.format == nullptr || !tensor.name.ends_with(suffix)) return;
  const std::string_view name = tensor.name.substr(0, tensor.name.size() - suffix.size());
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return;
  for (std::size_t set = 0; set < std::size(shared_sets); ++set) {
    const auto found = std::ranges::find(shared_sets[set], name.substr(dot + 1));
    if (found == shared_sets[set].end()) continue;
    const auto place = static_cast<std::size_t>(found - shared_sets[set].begin());
    layers[{set, std::string(name.substr(0, dot))}].push_back({place, tensor});
  }
}

void count_calls(const Layers& layers, Census& census) {
  std::map<std::tuple<std::size_t, std::string, std::string, std::uint64_t, std::string>, std::uint64_t> calls;
  std::vector<SharedInput> shared(std::size(shared_sets));
  for (const auto& [key, unordered] : layers) {
    const std::size_t set = key.first;
    std::vector<Member> members = unordered;
    std::ranges::sort(members, {}, &Member::place);
    SharedInput& input = shared[set];
    ++input.layers;
    std::map<std::pair<std::uint32_t, std::uint64_t>, std::vector<Member>> alike;
    for (const Member& member : members) alike[{member.tensor.type, member.tensor.cols()}].push_back(member);
    for (const auto& [kind, group] : alike) {
      if (group.size() < 2) continue;
      std::vector<std::string_view> names;
      std::vector<std::uint64_t> rows;
      for (const Member& member : group) {
        names.push_back(shared_sets[set][member.place]);
        rows.push_back(member.tensor.rows());
      }
      ++calls[{set, fmt::format("{}", fmt::join(names, "|")), std::string(group[0].tensor.format->name), kind.second,
               fmt::format("{}", fmt::join(rows, "|"))}];
      if (group.size() == shared_sets[set].size()) ++input.whole;
    }
  }
  for (const auto& [key, count] : calls) {
    census.one_calls.push_back({std::get<1>(key), std::get<2>(key), std::get<3>(key), std::get<4>(key), count});
  }
  for (std::size_t set = 0; set < shared.size(); ++set) {
    if (shared[set].layers == 0) continue;
    shared[set].members = fmt::format("{}", fmt::join(shared_sets[set], "|"));
    census.shared_inputs.push_back(shared[set]);
  }
}

}  // namespace

Census take_census(const gguf::Model& model) {
  Census census;
  census.tensors = model.tensor_count();
  for (std::uint32_t shard = 0; shard < model.shard_count(); ++shard) census.file_bytes += model.shard_bytes(shard);

  std::map<std::uint32_t, FormatCount> formats;
  std::map<std::tuple<std::string, std::uint64_t, std::uint64_t, std::uint64_t, std::uint32_t>, std::uint64_t> shapes;
  Layers layers;
  for (std::uint64_t i = 0; i < model.tensor_count(); ++i) {
    const gguf::TensorView tensor = model.tensor(i);
    FormatCount& count = formats[tensor.type];
    count.format = tensor.type_info->name;
    count.is_weight = tensor.format != nullptr;
    ++count.tensors;
    count.elements += tensor.elements();
    count.bytes += tensor.bytes.size();
    census.tensor_bytes += tensor.bytes.size();
    if (tensor.format != nullptr) {
      census.weights += tensor.elements();
    } else {
      census.not_weights.emplace_back(tensor.name);
    }
    ++shapes[{count.format, tensor.cols(), tensor.rows(), tensor.matrices(), tensor.dim_count}];
    note_member(layers, tensor);
    if (const auto scale = model.companion_scale(tensor)) {
      census.companion_scales.emplace_back(tensor.name, scale->name);
    }
  }
  for (const auto& [type, count] : formats) census.formats.push_back(count);
  std::ranges::stable_sort(census.formats, std::ranges::greater(), &FormatCount::bytes);
  for (const auto& [key, count] : shapes) {
    const auto& [format, cols, rows, matrices, dim_count] = key;
    census.shapes.push_back({format, cols, rows, matrices, dim_count, count});
  }
  count_calls(layers, census);
  return census;
}

}  // namespace lanewise::program
