// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/device.hpp"

#include "voxcycle/core/error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace device_test {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// A machine on which everything fits; tests spoil one thing each.
CudaReport good_report() {
  CudaReport report;
  report.compiled = 13000;
  report.min_capability = 80;
  report.driver = 13010;
  report.gpus = {{"NVIDIA H100", 90, std::int64_t{80} << 30}};
  return report;
}

TorchCuda good_torch() {
  TorchCuda torch;
  torch.directory = "/opt/torch/lib";
  torch.present = true;
  torch.runtime = 13000;
  torch.cudnn = 91900;
  torch.nccl = 22809;
  return torch;
}

constexpr CudaNeeds everything{.short_convolutions = true, .nccl_header = 22803};

TEST(Device, NothingIsWrongWhereEverythingFits) {
  EXPECT_EQ(cuda_problem(good_report()), "");
  EXPECT_EQ(torch_cuda_problem(good_torch(), good_report(), everything), "");
}

TEST(Device, ABuildWithoutCudaSaysHowToGetIt) {
  EXPECT_THAT(cuda_problem({}), AllOf(HasSubstr("without CUDA"), HasSubstr("-DVOXCYCLE_CUDA=ON")));
}

TEST(Device, NoDriver) {
  auto report = good_report();
  report.driver = 0;
  report.gpus.clear();
  EXPECT_THAT(cuda_problem(report), AllOf(HasSubstr("no NVIDIA driver"), HasSubstr("580")));
}

TEST(Device, ADriverOfAnOlderMajorVersionIsTooOld) {
  auto report = good_report();
  report.driver = 12080;
  EXPECT_THAT(cuda_problem(report),
              AllOf(HasSubstr("supports CUDA 12.8"), HasSubstr("13.0"), HasSubstr("580")));
  // Within a major version older drivers run newer kernels (NVIDIA's minor version compatibility).
  report.compiled = 12090;
  EXPECT_EQ(cuda_problem(report), "");
}

TEST(Device, NoGpuIsToldInTheDriversWords) {
  auto report = good_report();
  report.gpus.clear();
  report.failure = "no CUDA-capable device is detected";
  EXPECT_THAT(cuda_problem(report),
              AllOf(HasSubstr(report.failure), HasSubstr("CUDA_VISIBLE_DEVICES")));
}

TEST(Device, AnOldGpuIsNamed) {
  auto report = good_report();
  report.gpus.push_back({"Tesla V100", 70, std::int64_t{16} << 30});
  EXPECT_THAT(cuda_problem(report), AllOf(HasSubstr("Tesla V100"), HasSubstr("7.0"),
                                          HasSubstr("8.0"), HasSubstr("ARCHITECTURES=70")));
}

TEST(Device, AGpuWithoutBfloat16IsToldToTakeFloat16) {
  auto report = good_report();
  report.min_capability = 75;
  report.gpus = {{"Tesla T4", 75, std::int64_t{16} << 30}};
  EXPECT_EQ(cuda_problem(report), "");
  EXPECT_EQ(torch_cuda_problem(good_torch(), report, everything), "") << "in float16";
  auto needs = everything;
  needs.bfloat16 = true;
  EXPECT_THAT(torch_cuda_problem(good_torch(), report, needs),
              AllOf(HasSubstr("Tesla T4 has compute capability 7.5"),
                    HasSubstr("Set train.precision = f16")));
  EXPECT_EQ(gpu_lacks(report.gpus[0], report), "no bf16 tensor cores, use train.precision = f16");
  EXPECT_EQ(gpu_lacks({"Tesla V100", 70}, report), "this build has no kernels for it");
  EXPECT_EQ(gpu_lacks({"NVIDIA A100", 80}, report), "");
  EXPECT_EQ(torch_cuda_problem(good_torch(), good_report(), needs), "");
}

TEST(Device, ACpuTorchIsNamedWithItsDirectory) {
  auto torch = good_torch();
  torch.present = false;
  EXPECT_THAT(torch_cuda_problem(torch, good_report(), {}),
              AllOf(HasSubstr("CPU build"), HasSubstr("/opt/torch/lib"), HasSubstr("13.0")));
}

TEST(Device, AMissingCompanionOfTorchIsToldInTheLoadersWords) {
  auto torch = good_torch();
  torch.failure = "libcusparseLt.so.0: cannot open shared object file";
  EXPECT_THAT(torch_cuda_problem(torch, good_report(), {}),
              AllOf(HasSubstr("libcusparseLt.so.0"), HasSubstr("./dev setup --cuda")));
}

TEST(Device, TorchForANewerCudaThanTheDriver) {
  auto report = good_report();
  report.compiled = 12080;
  report.driver = 12080;
  EXPECT_THAT(torch_cuda_problem(good_torch(), report, {}),
              AllOf(HasSubstr("built for CUDA 13.0"), HasSubstr("supports 12.8")));
}

TEST(Device, OldCudnnMattersToBfloat16ConvolutionsAlone) {
  auto torch = good_torch();
  torch.cudnn = 91002;
  EXPECT_EQ(torch_cuda_problem(torch, good_report(), {}), "");
  EXPECT_THAT(torch_cuda_problem(torch, good_report(), {.short_convolutions = true}),
              AllOf(HasSubstr("9.10.2"), HasSubstr("9.15.0"), HasSubstr("nvidia-cudnn-cu13>=9.15"),
                    HasSubstr("f32")));
  torch.cudnn = 91500;
  EXPECT_EQ(torch_cuda_problem(torch, good_report(), {.short_convolutions = true}), "");
}

TEST(Device, NcclHeaderAndLibraryMustAgree) {
  auto torch = good_torch();
  torch.nccl = 21903;
  EXPECT_EQ(torch_cuda_problem(torch, good_report(), {}), "");
  EXPECT_THAT(torch_cuda_problem(torch, good_report(), {.nccl_header = 22809}),
              AllOf(HasSubstr("2.28.9"), HasSubstr("2.19.3")));
  torch.nccl = 0;
  EXPECT_THAT(torch_cuda_problem(torch, good_report(), {.nccl_header = 22809}),
              HasSubstr("no NCCL"));
}

TEST(Device, TorchsLibrariesLoadOrSayWhyNot) {
  TorchCuda const& torch = load_torch_cuda();
  EXPECT_FALSE(torch.directory.empty());
  if (!torch.present) {
    EXPECT_EQ(torch.runtime, 0);
  } else if (!torch.failure.empty()) {
    EXPECT_THAT(torch.failure, HasSubstr(".so"));
  } else {
    // No driver is needed to ask for these; torch 2.11 exists for CUDA 12 and 13 and cuDNN 9.
    EXPECT_GE(torch.runtime, 12000);
    EXPECT_GE(torch.cudnn, 90000);
    EXPECT_GE(torch.nccl, 22000);
  }
  EXPECT_EQ(&torch, &load_torch_cuda());
}

TEST(Device, RequireThrowsWhatIsWrongHere) {
  std::string const problem = cuda_problem(cuda_report());
  if (problem.empty()) GTEST_SKIP() << "a GPU is here";
  try {
    require_cuda();
    FAIL();
  } catch (Error const& error) {
    EXPECT_EQ(error.what(), "GPU: " + problem);
  }
}

}  // namespace device_test
}  // namespace voxcycle
