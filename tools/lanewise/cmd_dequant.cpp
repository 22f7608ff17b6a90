// dequant: a matrix as fp32.

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "command.h"
#include "device.h"
#include "model.h"
#include "npy.h"
#include "options.h"
#include "site.h"

namespace lanewise::program {
namespace {

struct DequantOptions {
  std::string model;
  std::string tensor;
  std::string output;
  DeviceOptions device;
};

// Decodes pieces of a matrix where the device is.
class Decoder {
 public:
  static Result<Decoder> open(const DequantOptions& options, const FormatInfo& format, std::uint64_t most_elements) {
    LW_ASSIGN(site, Site::open(options.device.device));
    Decoder decoder(std::move(site));
    if (decoder.site_.gpu() == nullptr) return decoder;
    const std::uint64_t bytes = most_elements / format.block_elements * format.block_bytes;
    LW_ASSIGN(blocks, gpu::Memory::allocate(decoder.site_.gpu(), bytes));
    decoder.blocks_ = std::move(blocks);
    LW_ASSIGN(weights, gpu::Memory::allocate(decoder.site_.gpu(), most_elements * sizeof(float)));
    decoder.weights_ = std::move(weights);
    return decoder;
  }
  Outcome decode(const FormatInfo& format, const std::uint8_t* blocks, std::uint64_t elements, float* out) {
    if (site_.gpu() == nullptr) {
      dequantize_row(format.format, blocks, elements, out);
      return Done{};
    }
    gpu::Device& device = *site_.gpu();
    LW_TRY(device.copy(blocks_.data(), blocks, elements / format.block_elements * format.block_bytes));
    auto* const weights = reinterpret_cast<float*>(weights_.data());
    LW_TRY(device.dequantize(format.format, blocks_.data(), elements, weights, nullptr));
    LW_TRY(device.wait(nullptr));
    return device.copy(out, weights, elements * sizeof(float));
  }

 private:
  explicit Decoder(Site site) : site_(std::move(site)) {}
  Site site_;
  gpu::Memory blocks_;
  gpu::Memory weights_;
};

Exit dequant(Context& context, const DequantOptions& options) {
  if (auto fault = check_device(options.device)) return *fault;
  LW_ASSIGN(model, open_model(options.model));
  LW_ASSIGN(matrix, find_matrix(model, options.tensor));
  LW_ASSIGN(sink, FileSink::create(options.output));
  const std::array<std::uint64_t, 2> shape{matrix.rows, matrix.cols};
  const std::string header = npy_header(shape);
  LW_TRY(sink.write(header.data(), header.size()));

  // Rows follow one another without a gap, so the matrix is one sequence of blocks: decoded a piece at a time, whatever
  // K is. 2^18 is a multiple of every format's block.
  constexpr std::uint64_t piece = std::uint64_t{1} << 18;
  const FormatInfo& format = matrix.info();
  const std::uint64_t elements = matrix.rows * matrix.cols;
  std::vector<float> weights(std::min(piece, elements));
  LW_ASSIGN(decoder, Decoder::open(options, format, weights.size()));
  Progress progress(context.quiet);
  for (std::uint64_t done = 0; done < elements; done += piece) {
    if (stop_asked) return interrupted();
    progress.show(done, elements, options.tensor);
    const std::uint64_t count = std::min(piece, elements - done);
    LW_TRY(
        decoder.decode(format, matrix.data + done / format.block_elements * format.block_bytes, count, weights.data()));
    LW_TRY(sink.write(weights.data(), count * sizeof(float)));
  }
  progress.clear();
  LW_TRY(sink.commit());
  if (!context.quiet && options.output != "-") {
    context.out.print("{}: {} decoded to fp32, shape {}\n", printable(options.output), format.name, shape_text(shape));
  }
  return exit_ok;
}

Job setup_dequant(Arguments& arguments) {
  auto options = std::make_shared<DequantOptions>();
  arguments.model(&options->model);
  arguments.tensor(&options->tensor);
  arguments.option("-o,--output", &options->output, "The .npy file to write, fp32, shape [rows, K]; '-' is stdout")
      .required()
      .type_name("FILE");
  options->device.declare_device(arguments);
  return [options](Context& context) { return dequant(context, *options); };
}

}  // namespace

const Command dequant_command{"dequant", "Decode a matrix to fp32 (.npy)",
                              "  lanewise dequant model.gguf blk.0.attn_q.weight -o w.npy\n"
                              "  lanewise dequant model.gguf 'blk.3.ffn_up_exps.weight[7]' -o expert7.npy\n"
                              "The file appears under its name only when it is complete.",
                              setup_dequant};

}  // namespace lanewise::program
