// `lanewise bench --device cuda:N` but for the device: what is made of times, what outputs are compared with, and what
// is said of it, on an emulated device whose launches take known times.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>

#include <nlohmann/json.hpp>

#include "bench_gpu.h"
#include "bench_gpu_report.h"
#include "cuda/emulated_device.h"
#include "cuda/emulated_timer.h"

namespace lanewise::test {
namespace {

using program::GpuBench;
using program::GpuBenchMachine;
using program::GpuBenchReport;
using program::GpuTime;
using Json = nlohmann::json;

class GpuBenchTest : public testing::Test {
 protected:
  static Case problem(Format format) {
    Case problem;
    problem.format = format;
    problem.rows = 80;
    problem.cols = 256;
    problem.fill = Fill::random;
    return problem;
  }
  GpuBench bench(std::uint64_t copies, const Case& of) {
    program::GpuBenchOptions options;
    options.walked = copies * GpuBench::stride_of(*device_, of);
    options.replays = 2;
    return GpuBench(device_, timer_, options);
  }
  // The report of these times, through a file for its text.
  Json report_of(const std::vector<GpuTime>& times, int* exit_code = nullptr) {
    program::Output out;
    GpuBenchMachine machine;
    machine.device = "cuda:0";
    machine.info = device_->info();
    GpuBenchReport report(out, machine, false, false);
    report.head({});
    report.add(times);
    machine.ceiling_gbps = 123;
    report.summary();
    if (exit_code != nullptr) *exit_code = report.exit(false).code();
    return Json::parse(report.json().dump());
  }

  std::shared_ptr<EmulatedDevice> device_ = std::make_shared<EmulatedDevice>();
  EmulatedTimer timer_{device_};
};

TEST_F(GpuBenchTest, FiguresAreWhatLaunchesTake) {
  const Case of = problem(Format::Q4_K);
  GpuBench bench = this->bench(7, of);
  const auto times = bench.time(of, {1, 3, 9});
  ASSERT_TRUE(times) << times.error().message;
  ASSERT_EQ(times->size(), 3U);
  const std::uint64_t windows[] = {1, 3, 9};
  for (std::size_t i = 0; i < 3; ++i) {
    const GpuTime& time = (*times)[i];
    const double slices = windows[i] > 8 ? 2 : 1;
    EXPECT_EQ(time.problem.tokens, windows[i]);
    EXPECT_EQ(time.products, 7U);
    EXPECT_EQ(time.bytes, 80U * 144);
    EXPECT_EQ(time.kernel, "dp4a");
    EXPECT_DOUBLE_EQ(time.plain.us, 4 * slices);
    EXPECT_DOUBLE_EQ(time.plain.floor_us, 2);
    EXPECT_DOUBLE_EQ(time.plain.fraction, 2 / (4 * slices));
    EXPECT_DOUBLE_EQ(time.plain.spread, 0);
    ASSERT_TRUE(time.overlapped);
    EXPECT_DOUBLE_EQ(time.overlapped->us, 3 * slices);
    EXPECT_DOUBLE_EQ(time.overlapped->floor_us, 1);
    EXPECT_DOUBLE_EQ(time.image_us, 0.5);
    // Of four buffers 64 rows, after the plain chain and after the overlapped one.
    EXPECT_EQ(time.compared, 2 * 4 * 64 * windows[i]);
    EXPECT_EQ(time.differing, 0U);
  }
  EXPECT_DOUBLE_EQ(bench.ceiling_gbps(), 80 * 144 / 2.0 / 1e3);
  // The shapes are chosen once for so many bytes: 12 plain, 12 overlapped, then those two, and three chains a window.
  EXPECT_EQ(timer_.recorded, 24 + 2 + 3 * 3U);
  ASSERT_TRUE(bench.time(of, {1}));
  EXPECT_EQ(timer_.recorded, 24 + 2 + 3 * 3U + 2 + 3);
}

// A chain goes over copies that differ, and y goes round four buffers.
TEST_F(GpuBenchTest, ChainsWalkCopies) {
  const Case of = problem(Format::Q8_0);
  std::map<const std::uint8_t*, std::vector<std::uint8_t>> copies;
  std::set<const void*> buffers;
  device_->after_launch = [&](const cuda::Launch& what) {
    copies[what.targets[0].w].assign(what.targets[0].w, what.targets[0].w + 80 * 272);
    buffers.insert(what.targets[0].y);
    EXPECT_EQ(what.targets[0].rows, 80U);
  };
  GpuBench bench = this->bench(9, of);
  ASSERT_TRUE(bench.time(of, {1}));
  EXPECT_EQ(copies.size(), 9U);
  EXPECT_EQ(buffers.size(), 4U);
  const std::vector<std::uint8_t>* before = nullptr;
  for (const auto& [place, bytes] : copies) {
    if (before != nullptr) {
      EXPECT_NE(*before, bytes);
    }
    before = &bytes;
  }
  EXPECT_EQ(GpuBench::copies_of(1000, 4'000'000), 600U);
  EXPECT_EQ(GpuBench::copies_of(1000, 20'000), 20U);
  EXPECT_EQ(GpuBench::copies_of(1000, 1), 4U);
}

TEST_F(GpuBenchTest, SeesWrongBits) {
  const Case of = problem(Format::Q6_K);
  const auto differing = [&](std::function<void(const cuda::Launch&)> fault) {
    device_->after_launch = std::move(fault);
    GpuBench bench = this->bench(6, of);
    const auto times = bench.time(of, {2});
    EXPECT_TRUE(times);
    int code = -1;
    const Json document = report_of(*times, &code);
    const std::uint64_t found = times->front().differing;
    EXPECT_EQ(code, found == 0 ? program::exit_ok : program::exit_wrong);
    EXPECT_EQ(document["warnings"].size(), found == 0 ? 0U : 1U);
    EXPECT_EQ(document["cases"][0]["outputs_differing"], found);
    return found;
  };
  EXPECT_EQ(differing({}), 0U);
  EXPECT_EQ(differing([](const cuda::Launch& what) { static_cast<std::uint32_t*>(what.targets[0].y)[79] ^= 1; }),
            2 * 4U);
  // Overlapped launches alone.
  EXPECT_EQ(differing([](const cuda::Launch& what) {
              if (what.overlapped) static_cast<std::uint32_t*>(what.targets[0].y)[80] ^= 1;
            }),
            4U);
  // What a launch left in its buffer is that of another copy.
  std::vector<float> last(160);
  EXPECT_GT(differing([&](const cuda::Launch& what) {
              std::vector<float> now(160);
              std::memcpy(now.data(), what.targets[0].y, 640);
              std::memcpy(what.targets[0].y, last.data(), 640);
              last = now;
            }),
            2 * 4 * 64U);
  // Nothing written.
  EXPECT_GT(differing([](const cuda::Launch& what) { std::memset(what.targets[0].y, 0xA5, 640); }), 2 * 4 * 64U);
}

// Several matrices in one launch, as q|k|v and as the gate and up of experts.
TEST_F(GpuBenchTest, GroupsAndExpertsAreOneLaunch) {
  Case group = problem(Format::Q4_K);
  group.group = {80, 80, 80};
  group.rows = 240;
  Case experts = problem(Format::Q4_K);
  experts.group = {320, 320};
  experts.experts = 4;
  experts.rows = 640;
  for (const Case& of : {group, experts}) {
    const std::uint64_t lists = of.group.size();
    const std::uint64_t matrices = lists * std::max(of.experts, 1U);
    for (const std::uint64_t tokens : {1U, 3U, 9U}) {
      std::set<const std::uint8_t*> copies;
      device_->after_launch = [&](const cuda::Launch& what) {
        EXPECT_EQ(what.count, lists);
        for (std::uint64_t list = 0; list < lists; ++list) {
          EXPECT_EQ(what.targets[list].rows, 80U);
          EXPECT_EQ(what.targets[list].w == nullptr, of.experts != 0);
          if (of.experts == 0) copies.insert(what.targets[list].w);
          for (std::uint32_t e = 0; e < of.experts; ++e) copies.insert(what.route->w[list][e]);
        }
        if (of.experts != 0) {
          EXPECT_EQ(what.route->count, of.experts);
        }
      };
      GpuBench bench = this->bench(6 * matrices, of);
      const auto times = bench.time(of, {tokens});
      ASSERT_TRUE(times) << times.error().message;
      const GpuTime& time = times->front();
      EXPECT_EQ(copies.size(), 6 * matrices);
      EXPECT_EQ(time.products, 6U);
      EXPECT_EQ(time.matrices, matrices);
      EXPECT_EQ(time.rows, 80U);
      EXPECT_EQ(time.bytes, matrices * 80 * 144);
      EXPECT_DOUBLE_EQ(time.plain.us, tokens > 8 ? 8 : 4);
      EXPECT_DOUBLE_EQ(time.plain.floor_us, 2);
      EXPECT_EQ(time.compared, 2 * 4 * 64 * matrices * tokens);
      EXPECT_EQ(time.differing, 0U);
      EXPECT_EQ(time.route_us.has_value(), of.experts != 0);
      const Json document = report_of(*times);
      EXPECT_EQ(document["cases"][0]["rows"], 80);
      EXPECT_EQ(document["cases"][0]["matrices"], matrices);
      EXPECT_EQ(document["cases"][0].contains("experts"), of.experts != 0);
      const auto read = parse_case(document["cases"][0]["problem"].get<std::string>());
      ASSERT_TRUE(read);
      EXPECT_EQ(read->group, of.group);
      EXPECT_EQ(read->experts, of.experts);
    }
  }
  // One output of one expert.
  device_->after_launch = [](const cuda::Launch& what) { static_cast<std::uint32_t*>(what.targets[1].y)[79] ^= 1; };
  GpuBench bench = this->bench(6 * 8, experts);
  const auto times = bench.time(experts, {1});
  ASSERT_TRUE(times);
  EXPECT_EQ(times->front().differing, 2 * 4U);
}

TEST_F(GpuBenchTest, FloatWeightsTakeTheirImage) {
  for (const Format format : {Format::F16, Format::BF16, Format::F32}) {
    const Case of = problem(format);
    GpuBench bench = this->bench(5, of);
    const auto times = bench.time(of, {2});
    ASSERT_TRUE(times) << times.error().message;
    EXPECT_EQ(times->front().differing, 0U);
    EXPECT_DOUBLE_EQ(times->front().image_us, 0.75);
    EXPECT_EQ(times->front().kernel, "simt");
  }
}

TEST_F(GpuBenchTest, NoOverlapWhereTheDeviceHasNone) {
  device_->set_capability(8, 0);
  const Case of = problem(Format::Q4_0);
  GpuBench bench = this->bench(5, of);
  const auto times = bench.time(of, {1});
  ASSERT_TRUE(times);
  EXPECT_FALSE(times->front().overlapped);
  EXPECT_EQ(times->front().compared, 4 * 64U);
  const Json document = report_of(*times);
  EXPECT_FALSE(document["cases"][0].contains("overlapped_us"));
}

TEST_F(GpuBenchTest, WarnsAboveTheFloorAndBelowTheCache) {
  timer_.costs.product[0] = 1.9;
  timer_.cache = 1'000'000;
  const Case of = problem(Format::Q4_0);
  GpuBench bench = this->bench(5, of);
  const auto times = bench.time(of, {1});
  ASSERT_TRUE(times);
  ASSERT_EQ(bench.warm().size(), 1U);
  EXPECT_NE(bench.warm()[0].find("less than twice the cache of 1.0 MB"), std::string::npos) << bench.warm()[0];
  const Json document = report_of(*times);
  ASSERT_EQ(document["warnings"].size(), 1U);
  EXPECT_NE(document["warnings"][0].get<std::string>().find("plain: 105.3 % of the read floor"), std::string::npos);
}

TEST_F(GpuBenchTest, JsonHasWhatWasMeasured) {
  const Case of = problem(Format::IQ2_XXS);
  GpuBench bench = this->bench(5, of);
  const auto times = bench.time(of, {1, 2});
  ASSERT_TRUE(times);
  const Json document = report_of(*times);
  EXPECT_EQ(document["ceiling_gbps"], 123);
  EXPECT_EQ(document["machine"]["device"], "emulated");
  ASSERT_EQ(document["cases"].size(), 2U);
  for (const Json& one : document["cases"]) {
    EXPECT_EQ(one["format"], "iq2_xxs");
    EXPECT_EQ(one["rows"], 80);
    EXPECT_EQ(one["cols"], 256);
    EXPECT_EQ(one["device"], "cuda:0");
    EXPECT_EQ(one["layout"], "raw");
    EXPECT_EQ(one["bytes"], 80 * 66);
    EXPECT_EQ(one["median_us"], 4);
    EXPECT_EQ(one["floor_us"], 2);
    EXPECT_EQ(one["fraction"], 0.5);
    EXPECT_EQ(one["overlapped_us"], 3);
    EXPECT_EQ(one["overlapped_floor_us"], 1);
    EXPECT_NEAR(one["overlapped_fraction"].get<double>(), 1.0 / 3, 1e-12);
    EXPECT_EQ(one["image_us"], 0.5);
    EXPECT_EQ(one["over_first_window"], 1);
    EXPECT_FALSE(one.contains("peer_us"));
    const auto read = parse_case(one["problem"].get<std::string>());
    ASSERT_TRUE(read) << one["problem"];
    EXPECT_EQ(read->kernel, one["kernel"]);
  }
}

// A peer makes an image in every call, so it is compared with an image and a product that may begin beside it.
TEST_F(GpuBenchTest, APeerIsBesideTheImageAndItsProduct) {
  const std::filesystem::path peer = std::filesystem::path(testing::TempDir()) / "lanewise-bench-peer";
  // A round takes longer than the time that it tells, which would be disbelieved otherwise.
  std::ofstream(peer) << "#!/bin/sh\nwhile read -r verb rest; do case $verb in hello) echo hello 1 fake 1 none ;; "
                         "case) echo ok so ;; round) sleep 0.01; echo time 10 70 ;; esac; done\n";
  std::filesystem::permissions(peer, std::filesystem::perms::owner_all);
  for (const Format format : {Format::Q4_K, Format::F16}) {
    const Case of = problem(format);
    program::GpuBenchOptions options;
    options.walked = 5 * GpuBench::stride_of(*device_, of);
    options.replays = 2;
    options.peer.emplace().program = peer.string();
    GpuBench bench(device_, timer_, options);
    const auto times = bench.time(of, {1});
    ASSERT_TRUE(times) << times.error().message;
    ASSERT_TRUE(times->front().peer);
    EXPECT_EQ(times->front().peer->missing, "");
    // 0.5 an image, 0.25 floats of it, 3 an overlapped product, which is the faster; outputs are compared after each.
    const double pair = format == Format::F16 ? 3.75 : 3.5;
    ASSERT_TRUE(times->front().with_image_us);
    EXPECT_DOUBLE_EQ(*times->front().with_image_us, pair);
    EXPECT_DOUBLE_EQ(times->front().peer->over_ours, 7 / pair);
    EXPECT_EQ(times->front().compared, 4U * 4 * 64);
    EXPECT_EQ(report_of(*times)["cases"][0]["with_image_us"], pair);
  }
  std::filesystem::remove(peer);
}

// The widest rows there are.
TEST_F(GpuBenchTest, TheTableFits) {
  GpuTime time;
  time.problem = problem(Format::IQ2_XXS);
  time.problem.rows = 128256;
  time.rows = 128256;
  time.problem.cols = 14336;
  time.problem.tokens = 16;
  time.kernel = "dp4a";
  time.plain = {1234.5, 0, 1000.25, 0.81};
  time.overlapped = time.plain;
  time.image_us = 12.25;
  time.peer.emplace();
  time.peer->median_us = 2345.6;
  time.peer->over_ours = 12.5;
  program::Output out;
  GpuBenchMachine machine;
  machine.device = "cuda:0";
  machine.info = device_->info();
  machine.peer.emplace();
  machine.peer->name = "peer";
  GpuBenchReport report(out, machine, true, false);
  testing::internal::CaptureStdout();
  report.head({});
  report.add({time});
  machine.ceiling_gbps = 4000;
  report.summary();
  ASSERT_TRUE(out.flush());
  const std::string text = testing::internal::GetCapturedStdout();
  EXPECT_NE(text.find("iq2_xxs "), std::string::npos);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    if (line.starts_with("iq2_xxs") || line.starts_with("format")) {
      EXPECT_LE(line.size(), 100U) << line;
    }
    at = end + 1;
  }
}

// What the device says ends the run.
TEST_F(GpuBenchTest, ErrorsComeThrough) {
  const Case of = problem(Format::Q4_0);
  device_->allocations_left = 3;
  GpuBench bench = this->bench(5, of);
  const auto times = bench.time(of, {1});
  ASSERT_FALSE(times);
  EXPECT_EQ(times.error().code, LW_ERROR_MEMORY);
  device_->allocations_left = ~std::uint64_t{0};
  EXPECT_TRUE(bench.time(of, {1}));
}

}  // namespace
}  // namespace lanewise::test
