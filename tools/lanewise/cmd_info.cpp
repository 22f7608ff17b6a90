// info: what is in a model file.

#include <algorithm>
#include <memory>
#include <optional>

#include <fmt/ranges.h>

#include "census.h"
#include "command.h"
#include "json.h"
#include "model.h"
#include "options.h"

namespace lanewise::program {
namespace {

struct InfoOptions {
  std::string model;
  std::string json;
  bool tensors = false;
};

// The metadata that says what a model is; the middle ones stand under the architecture's own prefix.
constexpr const char* general_keys[] = {"general.architecture", "general.name", "general.size_label",
                                        "general.file_type", "general.quantization_version"};
constexpr const char* architecture_keys[] = {"block_count",          "embedding_length",     "feed_forward_length",
                                             "context_length",       "attention.head_count", "attention.head_count_kv",
                                             "attention.key_length", "expert_count",         "expert_used_count"};

// A short value as JSON; nothing for arrays and what is too long to be essential.
std::optional<Json> short_value(const gguf::Value& value) {
  constexpr std::size_t longest = 200;
  if (const auto text = value.as_string()) {
    if (text->size() > longest) return std::nullopt;
    return Json(std::string(*text));
  }
  if (const auto number = value.as_unsigned()) return Json(*number);
  if (const auto number = value.as_integer()) return Json(*number);
  if (const auto number = value.as_float()) return Json(*number);
  if (const auto truth = value.as_bool()) return Json(*truth);
  return std::nullopt;
}

Json essentials(const gguf::Model& model) {
  Json out = Json::object();
  const auto note = [&](const std::string& key) {
    if (const auto value = model.find(key)) {
      if (auto shown = short_value(*value)) out[key] = *shown;
    }
  };
  for (const char* key : general_keys) note(key);
  if (const auto value = model.find("general.architecture"); value && value->as_string()) {
    for (const char* key : architecture_keys) note(std::string(*value->as_string()) + "." + key);
  }
  return out;
}

std::string shape_of(const gguf::TensorView& tensor) {
  return fmt::format("{}", fmt::join(tensor.dims.begin(), tensor.dims.begin() + tensor.dim_count, " x "));
}

std::string shape_of(const ShapeCount& shape) {
  std::string text = fmt::format("{} x {}", shape.cols, shape.rows);
  if (shape.dim_count <= 1) text = fmt::format("{}", shape.cols);
  if (shape.matrices != 1) text += fmt::format(", {} matrices", shape.matrices);
  return text;
}

double bits_per_weight(const FormatCount& count) {
  return count.elements == 0 ? 0 : 8.0 * static_cast<double>(count.bytes) / static_cast<double>(count.elements);
}

Json to_json(const gguf::Model& model, const Census& census, const InfoOptions& options) {
  Json out;
  out["file"] = options.model;
  out["gguf_version"] = model.version();
  out["alignment"] = model.alignment();
  out["mapped"] = model.is_mapped();
  for (std::uint32_t i = 0; i < model.shard_count(); ++i) {
    out["shards"].push_back({{"path", model.shard_path(i)}, {"bytes", model.shard_bytes(i)}});
  }
  out["metadata_pairs"] = model.metadata().size();
  out["metadata"] = essentials(model);
  out["tensors"] = census.tensors;
  out["weights"] = census.weights;
  out["tensor_bytes"] = census.tensor_bytes;
  out["file_bytes"] = census.file_bytes;
  out["formats"] = Json::array();
  for (const FormatCount& count : census.formats) {
    out["formats"].push_back({{"format", count.format},
                              {"is_weight", count.is_weight},
                              {"tensors", count.tensors},
                              {"elements", count.elements},
                              {"bytes", count.bytes},
                              {"bits_per_weight", bits_per_weight(count)}});
  }
  out["shapes"] = Json::array();
  for (const ShapeCount& shape : census.shapes) {
    out["shapes"].push_back({{"format", shape.format},
                             {"cols", shape.cols},
                             {"rows", shape.rows},
                             {"matrices", shape.matrices},
                             {"dims", shape.dim_count},
                             {"tensors", shape.tensors}});
  }
  out["one_call"] = Json::array();
  for (const OneCall& call : census.one_calls) {
    out["one_call"].push_back({{"members", call.members},
                               {"format", call.format},
                               {"cols", call.cols},
                               {"rows", call.rows},
                               {"layers", call.count}});
  }
  out["shared_inputs"] = Json::array();
  for (const SharedInput& input : census.shared_inputs) {
    out["shared_inputs"].push_back({{"members", input.members}, {"layers", input.layers}, {"whole", input.whole}});
  }
  out["companion_scales"] = Json::array();
  for (const auto& [weight, scale] : census.companion_scales) {
    out["companion_scales"].push_back({{"weight", weight}, {"scale", scale}});
  }
  out["not_weights"] = census.not_weights;
  if (!options.tensors) return out;
  out["list"] = Json::array();
  for (std::uint64_t i = 0; i < model.tensor_count(); ++i) {
    const gguf::TensorView tensor = model.tensor(i);
    Json dims = Json::array();
    for (std::uint32_t j = 0; j < tensor.dim_count; ++j) dims.push_back(tensor.dims[j]);
    out["list"].push_back({{"name", std::string(tensor.name)},
                           {"format", tensor.type_info->name},
                           {"dims", dims},
                           {"bytes", tensor.bytes.size()},
                           {"offset", tensor.offset},
                           {"shard", tensor.shard}});
  }
  return out;
}

void print_head(Output& out, const gguf::Model& model, const Census& census, const InfoOptions& options) {
  out.print("{}: {} ({} bytes), GGUF version {}, alignment {}, {} metadata pairs", printable(options.model),
            human_bytes(census.file_bytes), grouped(census.file_bytes), model.version(), model.alignment(),
            model.metadata().size());
  if (model.shard_count() > 1) out.print(", {} shards", model.shard_count());
  if (!model.is_mapped()) out.text(", read into memory (it can't be mapped)");
  out.text("\n");
  const Json metadata = essentials(model);
  for (const auto& [key, value] : metadata.members()) {
    const std::string* text = value.as_string();
    out.print("  {:<34}{}\n", printable(key), text != nullptr ? printable(*text) : value.dump());
  }
}

void print_formats(Output& out, const Census& census) {
  out.print("\n{:<10}{:>9}{:>16}{:>18}{:>9}{:>14}\n", "format", "tensors", "weights", "bytes", "share", "bits/weight");
  for (const FormatCount& count : census.formats) {
    const double share = census.tensor_bytes == 0
                             ? 0
                             : 100.0 * static_cast<double>(count.bytes) / static_cast<double>(census.tensor_bytes);
    out.print("{:<10}{:>9}{:>16}{:>18}{:>8.1f}%{:>14.4f}{}\n", count.format, count.tensors, grouped(count.elements),
              grouped(count.bytes), share, bits_per_weight(count), count.is_weight ? "" : "  not a weight format");
  }
  FormatCount all;
  for (const FormatCount& count : census.formats) {
    all.elements += count.elements;
    all.bytes += count.bytes;
  }
  out.print("{:<10}{:>9}{:>16}{:>18}{:>9}{:>14.4f}\n", "total", census.tensors, grouped(all.elements),
            grouped(census.tensor_bytes), "", bits_per_weight(all));
  out.print("the rest of the file (metadata, names, padding): {} bytes\n",
            grouped(census.file_bytes - std::min(census.tensor_bytes, census.file_bytes)));
}

void print_shapes(Output& out, const Census& census) {
  out.text("\nshapes (K x rows)\n");
  for (const ShapeCount& shape : census.shapes) {
    out.print("  {:<10}{:<28}{} tensor{}\n", shape.format, shape_of(shape), shape.tensors,
              shape.tensors == 1 ? "" : "s");
  }
}

void print_calls(Output& out, const Census& census) {
  if (census.shared_inputs.empty()) return;
  out.text("\nmatrices of one x\n");
  for (const SharedInput& input : census.shared_inputs) {
    out.print("  {}: in {} layer{}, all of one format and K in {}\n", input.members, input.layers,
              input.layers == 1 ? "" : "s", input.whole);
  }
  for (const OneCall& call : census.one_calls) {
    out.print("    one call: {:<24}{:<9}K {:<7}rows {:<20}{} layer{}\n", call.members, call.format, call.cols,
              call.rows, call.count, call.count == 1 ? "" : "s");
  }
}

void print_tensors(Output& out, const gguf::Model& model) {
  out.text("\ntensors\n");
  for (std::uint64_t i = 0; i < model.tensor_count(); ++i) {
    const gguf::TensorView tensor = model.tensor(i);
    out.print("  {:<44}{:<10}{:<24}{:>16} bytes at {}\n", printable(tensor.name), tensor.type_info->name,
              shape_of(tensor), grouped(tensor.bytes.size()), tensor.offset);
  }
}

Exit info(Context& context, const InfoOptions& options) {
  LW_ASSIGN(model, open_model(options.model));
  LW_TRY(check_json(options.json));
  const Census census = take_census(model);
  if (!options.json.empty()) {
    Exit written = write_json(context, options.json, to_json(model, census, options));
    if (written.fault() != nullptr || options.json == "-") return written;
  }
  Output& out = context.out;
  print_head(out, model, census, options);
  print_formats(out, census);
  print_shapes(out, census);
  print_calls(out, census);
  for (const auto& [weight, scale] : census.companion_scales) {
    out.print("NVFP4 scale, left out of y: {} of {}\n", printable(scale), printable(weight));
  }
  for (const std::string& name : census.not_weights) out.print("not a weight: {}\n", printable(name));
  if (options.tensors) print_tensors(out, model);
  return exit_ok;
}

Job setup_info(Arguments& arguments) {
  auto options = std::make_shared<InfoOptions>();
  arguments.model(&options->model);
  arguments.flag("--tensors", &options->tensors, "List every tensor too");
  declare_json(arguments, &options->json);
  return [options](Context& context) { return info(context, *options); };
}

}  // namespace

const Command info_command{"info", "Say what is in a model: formats, shapes, bytes, what could be one call",
                           "  lanewise info model.gguf\n"
                           "  lanewise info model.gguf --tensors | less\n"
                           "  lanewise info model.gguf --json - | jq '.formats[] | [.format, .bytes]'",
                           setup_info};

}  // namespace lanewise::program
