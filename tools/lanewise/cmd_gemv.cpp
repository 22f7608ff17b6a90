// gemv: y = W * x from files to a file, by the library's C interface, as an engine would call it.

#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "base/checked.h"
#include "base/mapped_file.h"
#include "command.h"
#include "device.h"
#include "model.h"
#include "npy.h"
#include "options.h"
#include "site.h"

namespace lanewise::program {
namespace {

struct GemvOptions {
  std::string model;
  std::string tensor;
  std::string x;
  std::string y;
  std::string activation = "x16";
  DeviceOptions device;
};

// x as the .npy file holds it.
struct Input {
  MappedFile file;
  NpyHeader header;
  std::vector<std::uint32_t> copy;  // only where the file doesn't align its elements
  const void* data = nullptr;
  std::uint64_t tokens = 0;
};

Outcome read_input(const std::string& name, const std::string& tensor, std::uint64_t cols, Input* input) {
  const std::string path = input_path(name);
  FileOptions reading;
  reading.expected_prefix = "\x93NUMPY";
  LW_ASSIGN(file, MappedFile::open(path, reading));
  input->file = std::move(file);
  note_input(path);
  LW_ASSIGN(header, parse_npy(input->file.bytes()));
  input->header = header;
  const auto& shape = header.shape;
  const bool fits = (shape.size() == 1 && shape[0] == cols) || (shape.size() == 2 && shape[1] == cols);
  if (!fits) {
    return make_error(LW_ERROR_ARGUMENT, fmt::format("x has shape {}, and '{}' has K = {}: give [tokens, {}] or [{}]",
                                                     shape_text(shape), printable(tensor), cols, cols, cols));
  }
  input->tokens = shape.size() == 1 ? 1 : shape[0];
  input->data = input->file.bytes().data() + header.data_offset;
  if (reinterpret_cast<std::uintptr_t>(input->data) % alignof(float) != 0) {
    input->copy.resize(ceil_div(header.data_bytes(), sizeof(std::uint32_t)));
    if (!input->copy.empty()) std::memcpy(input->copy.data(), input->data, header.data_bytes());
    input->data = input->copy.data();
  }
  return Done{};
}

// y = W * x through the C interface.
Result<std::string> multiply(const GemvOptions& options, const MatrixView& w, const Input& x, float* y) {
  LW_ASSIGN(planes, parse_planes(options.activation));
  LW_ASSIGN(site, Site::open(options.device.device));
  LW_ASSIGN(device, open_device(options.device));
  const std::uint64_t y_bytes = x.tokens * w.rows * sizeof(float);
  LW_ASSIGN(x_there, site.put(x.data, x.header.data_bytes()));
  LW_ASSIGN(y_there, site.room(y, y_bytes));
  lw_error error = LW_ERROR_INIT;
  lw_matrix* raw_matrix = nullptr;
  lw_status status = lw_matrix_from_bytes(device.get(), static_cast<lw_format>(w.info().id), w.rows, w.cols, w.data,
                                          w.bytes(), &raw_matrix, &error);
  if (status != LW_OK) return from_c(status, error);
  const MatrixHandle matrix(raw_matrix);
  lw_activation* raw_activation = nullptr;
  status =
      lw_activation_create(device.get(), static_cast<lw_planes>(planes), x.tokens, w.cols, &raw_activation, &error);
  if (status != LW_OK) return from_c(status, error);
  const ActivationHandle activation(raw_activation);
  status =
      lw_activation_set(activation.get(), static_cast<lw_dtype>(x.header.dtype), x_there.data, x.tokens, 0, &error);
  if (status != LW_OK) return from_c(status, error);
  const lw_output out{y_there.data, LW_DTYPE_F32, 0};
  status = lw_gemv(device.get(), matrix.get(), activation.get(), out, &error);
  if (status != LW_OK) return from_c(status, error);
  LW_TRY(site.fetch(y_there, y, y_bytes));
  print_warnings(site.gpu().get());
  std::array<char, 256> text{};
  status = lw_gemv_explain(device.get(), matrix.get(), activation.get(), text.data(), text.size(), &error);
  if (status != LW_OK) return from_c(status, error);
  return std::string(text.data());
}

Exit gemv(Context& context, const GemvOptions& options) {
  if (auto fault = check_device(options.device)) return *fault;
  LW_ASSIGN(model, open_model(options.model));
  LW_ASSIGN(matrix, find_matrix(model, options.tensor));
  Input x;
  if (Outcome read = read_input(options.x, options.tensor, matrix.cols, &x); !read) {
    // Whatever is wrong with the contents of x is a bad input; only opening it is something else.
    Error error = std::move(read).error();
    error.message = "'" + printable(input_path(options.x)) + "': " + error.message;
    return error.code == LW_ERROR_IO || error.code == LW_ERROR_MEMORY ? Exit(error) : Exit(bad_input(error));
  }
  LW_TRY(check_output(options.y));

  const auto outputs = checked_mul(x.tokens, matrix.rows);
  const auto bytes = outputs ? checked_mul(*outputs, sizeof(float)) : std::nullopt;
  if (!bytes || *bytes > PTRDIFF_MAX) {
    return make_error(LW_ERROR_MEMORY,
                      fmt::format("y of {} tokens x {} rows doesn't fit the memory", x.tokens, matrix.rows));
  }
  std::vector<float> y(*outputs);
  std::string how = "nothing to compute";
  if (*outputs != 0) {
    auto multiplied = multiply(options, matrix, x, y.data());
    if (!multiplied) return no_kernel(std::move(multiplied).error());
    how = *multiplied;
  }
  if (stop_asked) return interrupted();

  const std::array<std::uint64_t, 2> shape{x.tokens, matrix.rows};
  const std::string header = npy_header(shape);
  LW_ASSIGN(sink, FileSink::create(options.y));
  LW_TRY(sink.write(header.data(), header.size()));
  LW_TRY(sink.write(y.data(), *bytes));
  LW_TRY(sink.commit());
  if (!context.quiet && options.y != "-") {
    context.out.print("{}: y of shape {} from {} ({} x {}), {}\n", printable(options.y), shape_text(shape),
                      matrix.info().name, matrix.cols, matrix.rows, how);
  }
  return exit_ok;
}

Job setup_gemv(Arguments& arguments) {
  auto options = std::make_shared<GemvOptions>();
  arguments.model(&options->model);
  arguments.tensor(&options->tensor);
  arguments
      .option("-x,--input", &options->x, "x: a .npy file of [tokens, K] or [K], fp32 or fp16, C order; '-' is stdin")
      .required()
      .type_name("FILE");
  arguments.option("-o,--output", &options->y, "y: the .npy file to write, fp32, [tokens, rows]; '-' is stdout")
      .required()
      .type_name("FILE");
  options->device.declare_device(arguments);
  options->device.declare_threads(arguments);
  declare_planes(arguments, &options->activation);
  options->device.declare_kernel(arguments);
  return [options](Context& context) { return gemv(context, *options); };
}

}  // namespace

const Command gemv_command{
    "gemv", "Multiply: y = W * x, from .npy to .npy",
    "  lanewise gemv model.gguf blk.0.attn_q.weight -x x.npy -o y.npy\n"
    "  lanewise gemv model.gguf 'blk.3.ffn_up_exps.weight[7]' -x x.npy -o y.npy --activation x24\n"
    "x from Python: numpy.save('x.npy', x.astype(numpy.float32)). The bits of y depend on W, x and\n"
    "--activation alone, not on the device, the kernel, the threads or the number of tokens.",
    setup_gemv};

}  // namespace lanewise::program
