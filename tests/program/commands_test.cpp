// Every command from the outside, on a synthetic model.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "arithmetic/activation.h"
#include "backends/cpu/cpu.h"
#include "formats/formats.h"
#include "gguf/reader.h"
#include "kernels/devices.h"
#include "npy.h"
#include "oracle/oracle.h"
#include "program/process.h"

namespace lanewise::program_test {
namespace {

using Json = nlohmann::json;

std::span<const std::uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

class Commands : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(run({"synth", "-o", model_}).code, 0); }

  // fp32 elements of a .npy file, whose shape must be this.
  static std::vector<float> load(const std::string& path, const std::vector<std::uint64_t>& shape) {
    const std::string file = read_file(path);
    const auto header = program::parse_npy(bytes_of(file));
    EXPECT_TRUE(header.ok()) << (header ? "" : header.error().message);
    if (!header) return {};
    EXPECT_EQ(header->shape, shape);
    std::vector<float> values(header->elements);
    if (!values.empty()) std::memcpy(values.data(), file.data() + header->data_offset, values.size() * sizeof(float));
    return values;
  }
  static std::vector<float> make_x(std::size_t count) {
    std::vector<float> x(count);
    for (std::size_t i = 0; i < count; ++i) x[i] = static_cast<float>(static_cast<int>(i * 37 % 101) - 50) * 0.03125F;
    return x;
  }
  static void save(const std::string& path, const std::vector<float>& x, const std::vector<std::uint64_t>& shape) {
    std::string data(x.size() * sizeof(float), '\0');
    if (!x.empty()) std::memcpy(data.data(), x.data(), data.size());
    write_file(path, program::npy_header(shape) + data);
  }

  Directory directory_;
  std::string model_ = directory_.file("model.gguf");
};

TEST_F(Commands, SynthIsDeterministicAndHasEveryFormat) {
  const std::string other = directory_.file("other.gguf");
  ASSERT_EQ(run({"synth", "-o", other}).code, 0);
  EXPECT_EQ(read_file(model_), read_file(other));
  ASSERT_EQ(run({"synth", "-o", other, "--seed", "2"}).code, 0);
  EXPECT_NE(read_file(model_), read_file(other));
  const Finished to_stdout = run({"synth", "-o", "-"});
  EXPECT_EQ(to_stdout.code, 0);
  EXPECT_EQ(to_stdout.out, read_file(model_));

  const Finished info = run({"info", model_, "--json", "-"});
  ASSERT_EQ(info.code, 0) << info.err;
  std::set<std::string> seen;
  const Json census = Json::parse(info.out);
  for (const Json& format : census["formats"]) seen.insert(format["format"]);
  for (const FormatInfo& format : formats()) EXPECT_TRUE(seen.contains(std::string(format.name))) << format.name;
}

TEST_F(Commands, InfoCounts) {
  const Finished text = run({"info", model_, "--tensors"});
  EXPECT_EQ(text.code, 0);
  EXPECT_EQ(text.err, "");
  for (const char* needle : {"general.architecture", "bits/weight", "512 x 13, 4 matrices", "experts.q4_K.weight",
                             "one call: attn_q|attn_k|attn_v", "one call: ffn_gate|ffn_up",
                             "NVFP4 scale, left out of y: blk.0.ffn_down.scale"}) {
    EXPECT_NE(text.out.find(needle), std::string::npos) << needle;
  }
  const Json json = Json::parse(run({"info", model_, "--tensors", "--json", "-"}).out);
  const auto model = gguf::Model::open(model_);
  ASSERT_TRUE(model.ok());
  EXPECT_EQ(json["tensors"], model->tensor_count());
  EXPECT_EQ(json["list"].size(), model->tensor_count());
  EXPECT_EQ(json["file_bytes"], read_file(model_).size());
  std::uint64_t bytes = 0;
  std::uint64_t weights = 0;
  for (std::uint64_t i = 0; i < model->tensor_count(); ++i) {
    bytes += model->tensor(i).bytes.size();
    weights += model->tensor(i).elements();
    EXPECT_EQ(json["list"][i]["name"], std::string(model->tensor(i).name));
  }
  EXPECT_EQ(json["tensor_bytes"], bytes);
  EXPECT_EQ(json["weights"], weights);
  ASSERT_EQ(json["companion_scales"].size(), 1u);
  EXPECT_EQ(json["companion_scales"][0]["scale"], "blk.0.ffn_down.scale");
}

TEST_F(Commands, JsonEscapesNamesThatAreNotUtf8) {
  // A name of the file with a byte that is no UTF-8 and one that would colour a terminal.
  std::string bytes = read_file(model_);
  const std::size_t at = bytes.find("blk.0.attn_norm");
  ASSERT_NE(at, std::string::npos);
  bytes[at] = '\xFF';
  bytes[at + 1] = '\x1B';
  const std::string odd = directory_.file("odd.gguf");
  write_file(odd, bytes);
  const Finished text = run({"info", odd, "--tensors"});
  EXPECT_EQ(text.code, 0);
  EXPECT_EQ(text.out.find('\x1B'), std::string::npos);
  const Finished json = run({"info", odd, "--tensors", "--json", "-"});
  EXPECT_EQ(json.code, 0);
  EXPECT_TRUE(Json::accept(json.out));
}

TEST_F(Commands, DequantGivesTheOraclesWeights) {
  const auto model = gguf::Model::open(model_);
  ASSERT_TRUE(model.ok());
  for (const FormatInfo& format : formats()) {
    const std::string name = std::string(format.name) + ".weight";
    const auto tensor = model->find_tensor(name);
    ASSERT_TRUE(tensor.has_value()) << name;
    const std::string output = directory_.file("w.npy");
    const Finished dequant = run({"dequant", model_, name, "-o", output});
    ASSERT_EQ(dequant.code, 0) << dequant.err;
    const std::vector<float> got = load(output, {tensor->rows(), tensor->cols()});
    ASSERT_EQ(got.size(), tensor->rows() * tensor->cols());
    std::vector<float> expected(got.size());
    const auto cols = static_cast<std::int64_t>(tensor->cols());
    const auto stride = static_cast<std::size_t>(oracle::row_bytes(static_cast<int>(format.id), cols));
    for (std::size_t row = 0; row < tensor->rows(); ++row) {
      oracle::dequantize_row(static_cast<int>(format.id), tensor->bytes.data() + row * stride, cols,
                             expected.data() + row * tensor->cols());
    }
    EXPECT_EQ(std::memcmp(got.data(), expected.data(), got.size() * sizeof(float)), 0) << name;
  }
}

TEST_F(Commands, GemvGivesTheOraclesBits) {
  const auto model = gguf::Model::open(model_);
  ASSERT_TRUE(model.ok());
  constexpr std::int64_t tokens = 3;
  const std::string input = directory_.file("x.npy");
  const std::string output = directory_.file("y.npy");
  const std::pair<const char*, int> activations[] = {{"x8", 1}, {"x16", 2}, {"x24", 3}};
  for (const FormatInfo& format : formats()) {
    const std::string name = std::string(format.name) + ".short.weight";
    const auto tensor = model->find_tensor(name);
    ASSERT_TRUE(tensor.has_value()) << name;
    const auto rows = static_cast<std::int64_t>(tensor->rows());
    const auto cols = static_cast<std::int64_t>(tensor->cols());
    const std::vector<float> x = make_x(static_cast<std::size_t>(tokens * cols));
    save(input, x, {tokens, tensor->cols()});
    for (const auto& [planes, count] : activations) {
      const Finished gemv = run({"gemv", model_, name, "-x", input, "-o", output, "--activation", planes, "-q"});
      ASSERT_EQ(gemv.code, 0) << gemv.err;
      EXPECT_EQ(gemv.out, "");
      const std::vector<float> got = load(output, {tokens, tensor->rows()});
      std::vector<float> expected(got.size());
      oracle::gemv(static_cast<int>(format.id), tensor->bytes.data(), rows, cols,
                   oracle::activate(x.data(), oracle::Input::fp32, tokens, cols, count), expected.data());
      EXPECT_EQ(std::memcmp(got.data(), expected.data(), got.size() * sizeof(float)), 0) << name << ' ' << planes;
    }
  }
}

TEST_F(Commands, GemvTakesVectorsHalvesAndExperts) {
  const std::string x = directory_.file("x.npy");
  const std::string a = directory_.file("a.npy");
  const std::string b = directory_.file("b.npy");
  save(x, make_x(512), {512});
  ASSERT_EQ(run({"gemv", model_, "experts.q4_K.weight[2]", "-x", x, "-o", a}).code, 0);
  EXPECT_EQ(load(a, {1, 13}).size(), 13u);
  // The same values as fp16 (they are exact there), the data at an odd place of the file.
  std::string halves = "{'descr':'<f2','fortran_order':False,'shape':(1,512)}";
  std::string file = std::string("\x93NUMPY\x01") + '\0' + static_cast<char>(halves.size()) + '\0' + halves;
  ASSERT_EQ(file.size() % 2, 1u);
  for (const float value : make_x(512)) {
    const std::uint16_t half = oracle::round_to_fp16(value);
    file += static_cast<char>(half & 0xFFu);
    file += static_cast<char>(half >> 8u);
  }
  write_file(x, file);
  ASSERT_EQ(run({"gemv", model_, "experts.q4_K.weight[2]", "-x", x, "-o", b}).code, 0);
  EXPECT_EQ(read_file(a), read_file(b));
  ASSERT_EQ(run({"gemv", model_, "experts.q4_K.weight[1]", "-x", x, "-o", b}).code, 0);
  EXPECT_NE(read_file(a), read_file(b));
  // No tokens: an empty y of the right shape.
  save(x, {}, {0, 512});
  ASSERT_EQ(run({"gemv", model_, "experts.q4_K.weight[1]", "-x", x, "-o", b}).code, 0);
  EXPECT_TRUE(load(b, {0, 13}).empty());
  // The same at an odd place of the file: nothing is copied (a build with UBSan sees a copy from nowhere).
  const std::string none = "{'descr':'<f4','fortran_order':False,'shape':(0,512)}";
  write_file(x, std::string("\x93NUMPY\x01") + '\0' + static_cast<char>(none.size()) + '\0' + none);
  ASSERT_EQ(run({"gemv", model_, "experts.q4_K.weight[1]", "-x", x, "-o", b}).code, 0);
  EXPECT_TRUE(load(b, {0, 13}).empty());
}

TEST_F(Commands, VerifyAModel) {
  const std::string json = directory_.file("report.json");
  const Finished verify = run({"verify", model_, "--tokens", "1,3", "--json", json});
  ASSERT_EQ(verify.code, 0) << verify.err;
  EXPECT_NE(verify.out.find("verdict: "), std::string::npos);
  const Json report = Json::parse(read_file(json));
  EXPECT_EQ(report["total"]["failed"], 0);
  EXPECT_TRUE(report["complete"].get<bool>());
  EXPECT_EQ(report["formats"].size(), formats().size());
  // Each weight is counted once, and each row's y for 1 and for 3 tokens.
  const Json info = Json::parse(run({"info", model_, "--json", "-"}).out);
  EXPECT_EQ(report["total"]["weights_decoded"], info["weights"]);
  std::uint64_t rows = 0;
  for (const Json& shape : info["shapes"]) {
    rows += shape["rows"].get<std::uint64_t>() * shape["matrices"].get<std::uint64_t>() *
            shape["tensors"].get<std::uint64_t>();
  }
  EXPECT_EQ(report["total"]["values_compared"], rows * (1 + 3));
}

TEST_F(Commands, VerifyChoosesTensorsAndFormats) {
  const Json few = Json::parse(run({"verify", model_, "--tensor", "attn_(q|k)", "--tokens", "2", "--json", "-"}).out);
  EXPECT_EQ(few["total"]["cases"], 2);
  const Json one = Json::parse(run({"verify", model_, "--format", "IQ2_XXS", "--tokens", "2", "--json", "-"}).out);
  EXPECT_EQ(one["total"]["cases"], 2);
  EXPECT_EQ(one["formats"].size(), 1u);
  const Json all = Json::parse(run({"verify", model_, "--format", "all", "--tokens", "2", "--json", "-"}).out);
  const Json any = Json::parse(run({"verify", model_, "--tokens", "2", "--json", "-"}).out);
  EXPECT_EQ(all["total"], any["total"]);
}

TEST_F(Commands, VerifySyntheticAndProblems) {
  const Finished synthetic = run({"verify", "--format", "q5_1", "--tokens", "1,2", "--json", "-"});
  ASSERT_EQ(synthetic.code, 0) << synthetic.err;
  const Json report = Json::parse(synthetic.out);
  EXPECT_GT(report["total"]["cases"], 10);
  // A problem that it printed runs again and gives the same counts.
  const Json first = report["verdicts"][0];
  const Finished again = run({"verify", first["problem"].get<std::string>(), "--json", "-"});
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(Json::parse(again.out)["verdicts"][0], first);
  // A problem of a tensor of the file.
  const Finished of_file = run({"verify", model_, "gemv:q5_0:640x65:tensor=blk.0.attn_q.weight:tokens=2"});
  EXPECT_EQ(of_file.code, 0) << of_file.err;
}

// A list is one word: what follows is an argument again.
TEST_F(Commands, OptionsBeforeTheModel) {
  const Finished verify = run({"verify", "--format", "q4_0,q8_0", "--tokens", "1", model_});
  EXPECT_EQ(verify.code, 0) << verify.err;
  EXPECT_NE(verify.out.find("4 cases"), std::string::npos) << verify.out;
}

// Whatever the seed and the windows, no synthetic case is left mistrusted by chance: these were.
TEST_F(Commands, SyntheticCasesProveSomething) {
  for (const auto& [format, seed] : std::vector<std::pair<const char*, const char*>>{{"f16", "1"},
                                                                                     {"q1_0", "3007"},
                                                                                     {"mxfp4", "5007"},
                                                                                     {"tq2_0", "6007"},
                                                                                     {"iq3_xxs", "7007"},
                                                                                     {"nvfp4", "9007"}}) {
    const Finished verify = run({"verify", "--format", format, "--tokens", "1", "--seed", seed});
    EXPECT_EQ(verify.code, 0) << format << ": " << verify.err;
    EXPECT_NE(verify.out.find("24 passed, 0 failed, 0 mistrusted"), std::string::npos) << verify.out;
  }
}

// A model's float matrices are read raw, with a line; asked for by name, they are an error.
TEST_F(Commands, VerifyAModelInAnotherLayout) {
  const Finished verify = run({"verify", model_, "--layout", "rows16", "--tokens", "1,9"});
  const Json devices = Json::parse(run({"devices", "--json", "-"}).out);
  if (devices["devices"][0]["isa"].size() == 1) {
    EXPECT_EQ(verify.code, 4) << verify.err;
    return;
  }
  EXPECT_EQ(verify.code, 0) << verify.err;
  EXPECT_NE(verify.out.find("note: f16 is read raw: layout rows16 holds codes alone"), std::string::npos) << verify.out;
  EXPECT_EQ(run({"verify", model_, "--layout", "rows16", "--format", "f16"}).code, 4);
}

Start with_stdin(const std::string& path) {
  Start start;
  start.stdin_path = path;
  return start;
}

// "-" as an input is stdin; where that is a file, an output may not be it.
TEST_F(Commands, ReadsStdin) {
  const Start model = with_stdin(model_);
  EXPECT_EQ(run({"digest", "-"}, model).out, run({"digest", model_}).out);
  const Finished info = run({"info", "-"}, model);
  EXPECT_EQ(info.code, 0) << info.err;
  EXPECT_TRUE(info.out.starts_with("-: ")) << info.out;
  const Finished verify = run({"verify", "--format", "q4_0", "--tokens", "1", "-"}, model);
  EXPECT_EQ(verify.code, 0) << verify.err;
  const Finished onto = run({"dequant", "-", "q4_0.weight", "-o", model_}, model);
  EXPECT_EQ(onto.code, usage) << onto.err;

  const std::string x = directory_.file("x.npy");
  const std::string a = directory_.file("a.npy");
  const std::string b = directory_.file("b.npy");
  save(x, make_x(512), {512});
  ASSERT_EQ(run({"gemv", model_, "experts.q4_K.weight[2]", "-x", x, "-o", a}).code, 0);
  const Finished gemv = run({"gemv", model_, "experts.q4_K.weight[2]", "-x", "-", "-o", b}, with_stdin(x));
  ASSERT_EQ(gemv.code, 0) << gemv.err;
  EXPECT_EQ(read_file(a), read_file(b));

  const Finished none = run({"digest", "-"}, with_stdin("/dev/null"));
  EXPECT_EQ(none.code, input);
  EXPECT_NE(none.err.find("'/dev/stdin'"), std::string::npos) << none.err;
}

// A kernel for codes leaves a model's float matrices out, with a line; asked for by name, they are an error.
TEST_F(Commands, VerifyAModelByAKernelOfOneClass) {
  std::set<std::string> of_codes;
  std::set<std::string> of_floats;
  for (const KernelDesc& kernel : cpu_kernels()) {
    if (kernel.layout != Layout::raw || (kernel.needs & ~cpu_capabilities()) != 0) continue;
    (kernel.formats == FormatClass::FLOATS ? of_floats : of_codes).emplace(kernel.name);
  }
  EXPECT_EQ(run({"verify", model_, "--kernel", "nonesuch", "--tokens", "1"}).code, unsupported);
  for (const std::string& name : of_floats) of_codes.erase(name);
  if (of_codes.empty()) GTEST_SKIP() << "every kernel here is for both classes";
  const std::string& name = *of_codes.begin();
  const Finished verify = run({"verify", model_, "--kernel", name, "--tokens", "1"});
  EXPECT_EQ(verify.code, 0) << verify.err;
  for (const char* format : {"f32", "f16", "bf16"}) {
    const std::string line = std::string("note: ") + format + " is left out: there is no kernel '" + name + "' for it";
    EXPECT_EQ(verify.out.find(line), verify.out.rfind(line)) << "once: " << verify.out;
    EXPECT_NE(verify.out.find(line), std::string::npos) << verify.out;
  }
  EXPECT_NE(verify.out.find("\n  q4_K "), std::string::npos) << verify.out;
  EXPECT_NE(run({"verify", model_, "--kernel", name, "--format", "f32", "--tokens", "1"}).code, 0);
}

TEST_F(Commands, DigestIsTheSameForAnyNumberOfThreads) {
  const Finished one = run({"digest", model_, "--threads", "1"});
  ASSERT_EQ(one.code, 0) << one.err;
  for (const char* threads : {"2", "5"}) EXPECT_EQ(run({"digest", model_, "--threads", threads}).out, one.out);
  const Json json = Json::parse(run({"digest", model_, "--json", "-"}).out);
  EXPECT_NE(one.out.find(json["all"].get<std::string>()), std::string::npos);
  std::uint64_t lines = 0;
  for (const char c : one.out) lines += c == '\n' ? 1 : 0;
  EXPECT_EQ(json["matrices"].size() + 2, lines);
  EXPECT_NE(run({"digest", model_, "--activation", "x8"}).out, one.out);
  // One bit of one weight changes that matrix's line and the last, and no other.
  std::string bytes = read_file(model_);
  const auto model = gguf::Model::open(model_);
  ASSERT_TRUE(model.ok());
  const auto offset = model->find_tensor("q8_0.weight")->offset + 5;
  bytes[offset] = static_cast<char>(bytes[offset] ^ 1);
  const std::string changed = directory_.file("changed.gguf");
  write_file(changed, bytes);
  const Json other = Json::parse(run({"digest", changed, "--json", "-"}).out);
  EXPECT_NE(other["all"], json["all"]);
  for (std::size_t i = 0; i < json["matrices"].size(); ++i) {
    const bool is_changed = json["matrices"][i]["name"] == "q8_0.weight";
    EXPECT_EQ(json["matrices"][i] != other["matrices"][i], is_changed) << json["matrices"][i];
  }
}

TEST_F(Commands, TraceShowsTheOutputThatGemvGives) {
  for (const FormatInfo& format : formats()) {
    const std::string problem = "gemv:" + std::string(format.name) + ":1280x3:tokens=2:act=x24:seed=5";
    const Finished trace = run({"trace", problem, "--row", "2", "--token", "1", "--json", "-"});
    ASSERT_EQ(trace.code, 0) << trace.err;
    const Json json = Json::parse(trace.out);
    EXPECT_TRUE(json["first_difference"].is_null());
    EXPECT_EQ(json["y"]["kernel"], json["y"]["oracle"]);
    const std::size_t terms = 1280 / format.dgroup * (format.has_min ? 2 : 1);
    EXPECT_EQ(json["steps"].size(), terms);
    EXPECT_EQ(json["e"].size(), 5u);
    EXPECT_EQ(json[format.is_float() ? "xq" : "q"].size(), 1280u);
  }
  const Finished text =
      run({"trace", "gemv:q5_0:640x65:tensor=blk.0.attn_q.weight", "--model", model_, "--row", "64", "--token", "0"});
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_NE(text.out.find("no stage differs: 20 steps"), std::string::npos);
}

// A kernel of another layout reads the matrix in that layout.
TEST_F(Commands, TraceInAnotherLayout) {
  const Json devices = Json::parse(run({"devices", "--json", "-"}).out);
  if (devices["devices"][0]["isa"].size() == 1) GTEST_SKIP() << "this processor or build has no kernel of rows16";
  for (const char* row : {"0", "15", "16", "36"}) {
    const std::string problem = "gemv:q4_K:512x37:tokens=2:layout=rows16:seed=3";
    const Finished trace = run({"trace", problem, "--row", row, "--token", "1"});
    EXPECT_EQ(trace.code, 0) << trace.err;
    EXPECT_NE(trace.out.find(".rows16."), std::string::npos);
    EXPECT_NE(trace.out.find("no stage differs"), std::string::npos) << trace.out;
  }
}

TEST_F(Commands, DevicesVersionHelpCompletions) {
  const Json devices = Json::parse(run({"devices", "--json", "-"}).out);
  EXPECT_EQ(devices["devices"][0]["name"], "cpu");
  EXPECT_GE(devices["devices"][0]["kernels"].size(), formats().size());
  EXPECT_EQ(devices["devices"][0]["isa"][0], "scalar");
  const Finished text = run({"devices"});
  EXPECT_NE(text.out.find("metal    not in this build"), std::string::npos) << text.out;
  std::size_t at = 1;
  for (const GpuBackend& backend : gpu_backends()) {
    const std::string name(backend.name);
    const auto found = backend.list();
    if (!found) {
      const std::string& why = found.error().message;
      const std::string line = fmt::format("{:<9}{}", name, why);
      EXPECT_NE(text.out.find(line), std::string::npos) << text.out;
      EXPECT_EQ(devices["devices"][at++], (Json{{"name", name}, {"available", false}, {"reason", why}}));
      continue;
    }
    EXPECT_EQ(devices["devices"][at]["name"], name + ":0");
    at += found->size();
  }
  // Held to the scalar kernels there is one for each format, and nothing else.
  const Start scalar{{{"LANEWISE_ISA", "scalar"}}, "", false};
  const Json held = Json::parse(run({"devices", "--json", "-"}, scalar).out);
  EXPECT_EQ(held["devices"][0]["kernels"].size(), formats().size());
  EXPECT_EQ(held["devices"][0]["isa"], Json::array({"scalar"}));
  EXPECT_NE(run({"--version"}).out.find("arithmetic version 1"), std::string::npos);
  const Finished help = run({"--help"});
  EXPECT_EQ(help.code, 0);
  for (const char* command : {"info", "gemv", "dequant", "verify", "digest", "trace", "bench", "tune", "lab", "compare",
                              "report", "devices", "synth", "completions"}) {
    EXPECT_NE(help.out.find(std::string("\n  ") + command), std::string::npos) << command;
    const Finished own = run({command, "--help"});
    EXPECT_EQ(own.code, 0);
    EXPECT_NE(own.out.find("Examples:\n  lanewise " + std::string(command)), std::string::npos) << command;
    for (const char* shell : {"bash", "zsh", "fish"}) {
      EXPECT_NE(run({"completions", shell}).out.find(command), std::string::npos) << command << ' ' << shell;
    }
  }
}

// The script in bash itself: what it offers after some words.
TEST_F(Commands, BashCompletes) {
  const std::string script = directory_.file("completion.bash");
  const std::string offered = directory_.file("offered");
  write_file(script, run({"completions", "bash"}).out);
  const auto offers = [&](const std::string& words, int index) {
    const std::string command = "bash -c 'source " + script + "; COMP_WORDS=(lanewise " + words +
                                "); COMP_CWORD=" + std::to_string(index) + "; _lanewise; echo \"${COMPREPLY[@]}\"' > " +
                                offered + " 2>&1";
    EXPECT_EQ(std::system(command.c_str()), 0);
    return read_file(offered);
  };
  EXPECT_EQ(offers("ver", 1), "verify\n");
  EXPECT_EQ(offers("verify --keep", 2), "--keep-going\n");
  EXPECT_EQ(offers("verify --activation x", 3), "x8 x16 x24\n");
  EXPECT_EQ(offers("verify --format iq2_x", 3), "iq2_xxs iq2_xs\n");
  EXPECT_EQ(offers("verify --format q4_K,iq2_x", 3), "q4_K,iq2_xxs q4_K,iq2_xs\n");
  EXPECT_EQ(offers("verify --layout r", 3), "raw rows16\n");
  EXPECT_EQ(offers("completions z", 2), "zsh\n");
  EXPECT_EQ(offers("info " + directory_.file("mod"), 2), model_ + "\n");
}

}  // namespace
}  // namespace lanewise::program_test
