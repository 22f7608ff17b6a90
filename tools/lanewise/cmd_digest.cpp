// digest: hashes of every product of a model for a fixed x: the same lines on every device and every machine.

#include <memory>

#include "command.h"
#include "device.h"
#include "harness/digest.h"
#include "json.h"
#include "model.h"
#include "options.h"
#include "site.h"

namespace lanewise::program {
namespace {

struct DigestOptions {
  std::string model;
  std::string activation = "x16";
  std::string json;
  DeviceOptions device;
};

// What is multiplied, so that lines can be compared between versions of the program: part of the format of the output.
constexpr std::uint64_t digest_tokens = 2;

class Digest {
 public:
  Digest(lw_device* device, Site site, Planes planes) : device_(device), site_(std::move(site)), planes_(planes) {}

  // y of every token, little-endian fp32, token after token.
  Result<std::string> add(const std::string& name, const MatrixView& w) {
    LW_TRY(prepare(w));
    lw_error error = LW_ERROR_INIT;
    lw_matrix* raw = nullptr;
    lw_status status = lw_matrix_from_bytes(device_, static_cast<lw_format>(w.info().id), w.rows, w.cols, w.data,
                                            w.bytes(), &raw, &error);
    if (status != LW_OK) return from_c(status, error);
    const MatrixHandle matrix(raw);
    y_.assign(digest_tokens * w.rows, 0);
    LW_ASSIGN(room, site_.room(y_.data(), y_.size() * sizeof(float)));
    const lw_output out{room.data, LW_DTYPE_F32, 0};
    status = lw_gemv(device_, matrix.get(), activation_.get(), out, &error);
    if (status != LW_OK) return from_c(status, error);
    LW_TRY(site_.fetch(room, y_.data(), y_.size() * sizeof(float)));
    const Fingerprint hash = fingerprint({reinterpret_cast<const std::uint8_t*>(y_.data()), y_.size() * sizeof(float)});
    all_.add(name, hash);
    return to_string(hash);
  }
  void warn() const { print_warnings(site_.gpu().get()); }
  std::string whole() { return to_string(all_.result()); }

 private:
  // Many matrices of a model read an x of the same K: it is made once for those that follow one another.
  Outcome prepare(const MatrixView& w) {
    if (activation_ != nullptr && w.cols == cols_) return Done{};
    lw_error error = LW_ERROR_INIT;
    lw_activation* raw = nullptr;
    lw_status status =
        lw_activation_create(device_, static_cast<lw_planes>(planes_), digest_tokens, w.cols, &raw, &error);
    if (status != LW_OK) return from_c(status, error);
    activation_.reset(raw);
    const std::vector<float> x = digest_x(digest_tokens, w.cols);
    LW_ASSIGN(there, site_.put(x.data(), x.size() * sizeof(float)));
    status = lw_activation_set(activation_.get(), LW_DTYPE_F32, there.data, digest_tokens, 0, &error);
    if (status == LW_OK) status = lw_device_wait(device_, &error);  // x goes when this returns
    if (status != LW_OK) return from_c(status, error);
    cols_ = w.cols;
    return Done{};
  }

  lw_device* device_;
  Site site_;
  Planes planes_;
  ActivationHandle activation_;
  std::uint64_t cols_ = 0;
  std::vector<float> y_;
  ModelDigest all_;
};

Exit digest(Context& context, const DigestOptions& options) {
  if (auto fault = check_device(options.device)) return *fault;
  LW_ASSIGN(model, open_model(options.model));
  LW_TRY(check_json(options.json));
  LW_ASSIGN(planes, parse_planes(options.activation));
  auto opened = open_device(options.device);
  if (!opened) return no_kernel(std::move(opened).error());
  const DeviceHandle device = *std::move(opened);
  LW_ASSIGN(site, Site::open(options.device.device));
  Digest all(device.get(), std::move(site), planes);
  const bool text = options.json != "-";
  Json list = Json::array();
  std::optional<Error> failed;
  std::uint64_t done = 0;
  Progress progress(context.quiet);
  if (text)
    context.out.print("# lanewise digest, arithmetic version {}, {}, {} tokens\n", lw_arithmetic_version(),
                      options.activation, digest_tokens);
  for_each_matrix(model, [&](const std::string& name, const MatrixView& view) {
    progress.show(done++, model.tensor_count(), name);
    auto hash = all.add(name, view);
    if (!hash) {
      failed = std::move(hash).error();
      failed->message = fmt::format("'{}': {}", printable(name), failed->message);
      return false;
    }
    if (text) {
      context.out.print("{}  {:<8} {:>7} x {:<7} {}\n", *hash, view.info().name, view.cols, view.rows, printable(name));
    }
    if (!options.json.empty()) {
      list.push_back({{"name", name},
                      {"format", view.info().name},
                      {"cols", view.cols},
                      {"rows", view.rows},
                      {"xxh3_128", *hash}});
    }
    return !stop_asked && !context.out.failed();
  });
  progress.clear();
  all.warn();
  if (failed) return no_kernel(*failed);
  if (stop_asked) return interrupted();
  if (text) context.out.print("{}  all {} matrices\n", all.whole(), done);
  if (options.json.empty()) return exit_ok;
  return write_json(context, options.json,
                    Json{{"arithmetic_version", lw_arithmetic_version()},
                         {"activation", options.activation},
                         {"tokens", digest_tokens},
                         {"matrices", list},
                         {"all", all.whole()}});
}

Job setup_digest(Arguments& arguments) {
  auto options = std::make_shared<DigestOptions>();
  arguments.model(&options->model);
  options->device.declare_device(arguments);
  options->device.declare_threads(arguments);
  options->device.declare_kernel(arguments);
  declare_planes(arguments, &options->activation);
  declare_json(arguments, &options->json);
  return [options](Context& context) { return digest(context, *options); };
}

}  // namespace

const Command digest_command{"digest", "Hash every product of a model: the same lines on every device and machine",
                             "  lanewise digest model.gguf > here.txt      and on the other machine, there.txt\n"
                             "  diff here.txt there.txt\n"
                             "Each line: XXH3-128 of y (fp32, little-endian) for a fixed x, format, K x rows, name.",
                             setup_digest};

}  // namespace lanewise::program
