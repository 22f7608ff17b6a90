// synth: a small model file of every format, from a seed alone: for trials with no network and no real model.

#include <algorithm>
#include <memory>
#include <vector>

#include "command.h"
#include "gguf/writer.h"
#include "harness/fill.h"
#include "model.h"
#include "options.h"

namespace lanewise::program {
namespace {

struct SynthOptions {
  std::string output;
  std::uint64_t seed = 1;
};

struct Planned {
  std::string name;
  const FormatInfo* format;
  std::vector<std::uint64_t> dims;

  [[nodiscard]] std::uint64_t rows() const {
    std::uint64_t product = 1;
    for (std::size_t i = 1; i < dims.size(); ++i) product *= dims[i];
    return product;
  }
};

// Odd row counts, K of one block to nine super-blocks and, where the block allows it, a K that 256 doesn't divide.
std::vector<Planned> plan_tensors() {
  constexpr std::uint64_t rows[] = {1, 3, 13, 33, 65};
  constexpr std::uint64_t super_blocks[] = {1, 2, 3, 5, 9};
  std::vector<Planned> list;
  std::size_t i = 0;
  for (const FormatInfo& info : formats()) {
    const std::string name(info.name);
    const std::uint64_t cols = super_blocks[i % std::size(super_blocks)] * super_block;
    list.push_back({name + ".weight", &info, {cols, rows[i % std::size(rows)]}});
    const std::uint64_t odd = std::max<std::uint64_t>(info.block_elements, 32) * 5;
    list.push_back({name + ".short.weight", &info, {odd, rows[(i + 2) % std::size(rows)]}});
    ++i;
  }
  const FormatInfo* experts = find_format("q4_K");
  list.push_back({"experts.q4_K.weight", experts, {512, 13, 4}});
  // A layer as a model has it: matrices of one x.
  for (const char* part : {"attn_q", "attn_k", "attn_v"}) {
    list.push_back({std::string("blk.0.") + part + ".weight", find_format("q5_0"), {640, part[5] == 'q' ? 65u : 33u}});
  }
  list.push_back({"blk.0.attn_norm.weight", find_format("f32"), {640}});
  list.push_back({"blk.0.ffn_gate.weight", find_format("q6_K"), {768, 33}});
  list.push_back({"blk.0.ffn_up.weight", find_format("q6_K"), {768, 33}});
  list.push_back({"blk.0.ffn_down.weight", find_format("nvfp4"), {320, 33}});
  list.push_back({"blk.0.ffn_down.scale", find_format("f32"), {1}});
  return list;
}

Outcome fill_file(gguf::Writer& writer, const std::vector<Planned>& list, std::uint64_t seed) {
  std::vector<std::uint8_t> bytes;
  std::uint64_t tensor = 0;
  for (const Planned& each : list) {
    const std::uint64_t rows = each.rows();
    bytes.assign(rows * row_bytes(*each.format, each.dims[0]), 0);
    fill_weights(each.format->format, each.dims[0], Fill::gauss, seed + tensor++, 0, rows, bytes.data());
    LW_TRY(writer.append(bytes));
  }
  return Done{};
}

Exit synth(Context& context, const SynthOptions& options) {
  const std::vector<Planned> list = plan_tensors();
  gguf::Writer writer;
  LW_TRY(writer.add_string("general.architecture", "llama"));
  LW_TRY(writer.add_string("general.name", fmt::format("Lanewise synthetic model, seed {}", options.seed)));
  LW_TRY(writer.add("general.quantization_version", std::uint32_t{2}));
  LW_TRY(writer.add("llama.block_count", std::uint32_t{1}));
  LW_TRY(writer.add("llama.embedding_length", std::uint32_t{640}));
  for (const Planned& each : list) LW_TRY(writer.add_tensor(each.name, each.format->id, each.dims));
  gguf::Bytes file;
  LW_TRY(writer.begin(&file));
  LW_TRY(fill_file(writer, list, options.seed));
  LW_TRY(writer.finish());
  LW_ASSIGN(sink, FileSink::create(options.output));
  LW_TRY(sink.write(file.data(), file.size()));
  LW_TRY(sink.commit());
  if (!context.quiet && options.output != "-") {
    context.out.print("{}: {} tensors of {} formats, {}, seed {}\n", printable(options.output), list.size(),
                      formats().size(), human_bytes(file.size()), options.seed);
  }
  return exit_ok;
}

Job setup_synth(Arguments& arguments) {
  auto options = std::make_shared<SynthOptions>();
  arguments.option("-o,--output", &options->output, "The GGUF file to write; '-' is stdout")
      .required()
      .type_name("FILE");
  arguments.number("--seed", &options->seed, 0, UINT64_MAX, "The same seed gives the same bytes (default: 1)");
  return [options](Context& context) { return synth(context, *options); };
}

}  // namespace

const Command synth_command{"synth", "Write a small synthetic model of every format",
                            "  lanewise synth -o demo.gguf && lanewise verify demo.gguf\n"
                            "  lanewise synth -o other.gguf --seed 7",
                            setup_synth};

}  // namespace lanewise::program
