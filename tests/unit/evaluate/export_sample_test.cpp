// SPDX-License-Identifier: BSD-3-Clause
// Checksums of exported models and of the samples beside them.
#include "voxcycle/evaluate/export.hpp"
#include "voxcycle/train/held_out.hpp"

#include <exception>
#include <string>
#include <vector>

#include "exported_networks.hpp"
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/serialization/pickle.h>
#include <torch/script.h>

namespace voxcycle {
namespace export_sample_test {

using ::testing::HasSubstr;

TEST(ExportSample, ReadsBack) {
  at::Tensor const nu = at::rand({2, 1, 4, 4, 4});
  at::Tensor const u = at::rand({3, 1, 5, 5, 5}).narrow(0, 1, 2);
  for (at::Tensor const& f : {at::Tensor(), at::rand({2, 1, 4, 4, 4})}) {
    auto const bytes = export_sample(nu, f, u);
    auto const found =
        torch::jit::pickle_load({bytes.begin(), bytes.end()}).toTuple()->elements().vec();
    ASSERT_EQ(found.size(), f.defined() ? 4U : 3U);
    EXPECT_TRUE(at::equal(found.front().toTensor(), nu));
    EXPECT_TRUE(at::equal(found[found.size() - 2].toTensor(), u));
    EXPECT_TRUE(!f.defined() || at::equal(found[1].toTensor(), f));
    std::uint64_t sums = 0;  // modulo 2^64, as TorchScript counts
    for (auto const& one : f.defined() ? std::vector{nu, f, u} : std::vector{nu, u}) {
      at::Tensor const values = one.contiguous();
      auto const* words = static_cast<std::int32_t const*>(values.const_data_ptr());
      std::uint64_t own = 0;
      for (std::int64_t k = 0; k < values.numel(); ++k)
        own += static_cast<std::uint64_t>((2 * k + 1) * words[k]);
      sums = sums * 1000003 + own;
    }
    EXPECT_EQ(found.back().toTensor().item<std::int64_t>(), static_cast<std::int64_t>(sums));
  }
}

/// With one bit flipped.
std::string damaged(std::string bytes, std::size_t place, int bit) {
  bytes[place] = static_cast<char>(bytes[place] ^ (1 << bit));
  return bytes;
}

/// As they lie in memory and in the archive.
std::string bytes_of(at::Tensor const& tensor) {
  auto const& storage = tensor.storage();
  return {static_cast<char const*>(storage.data()), storage.nbytes()};
}

/// Of a model; each loads it anew.
constexpr std::size_t kFlips = 12;

/// In any parameter or buffer.
TEST(ExportChecksum, EveryFlippedBitOfTheWeightsIsFound) {
  Boundary const boundary = parse_boundary(kMixedBoundary);
  at::Tensor const nu = at::ones({1, 1, 8, 8, 8});
  for (std::string const name : {"multigrid", "unet"}) {
    auto const network = random_network(name, Norm::sync_batch, 1, boundary);
    auto const archive = export_network(*network, options_of(boundary));
    auto const whole = load(archive);
    std::vector<at::Tensor> tensors;
    for (auto const& one : whole.parameters()) tensors.push_back(one);
    for (auto const& one : whole.buffers()) tensors.push_back(one);
    int flips = 0;
    for (std::size_t k = 0; k < tensors.size(); k += 1 + tensors.size() / kFlips) {
      auto const bytes = bytes_of(tensors[k]);
      auto const place = archive.find(bytes);
      ASSERT_NE(place, std::string::npos) << tensors[k].sizes();
      if (bytes.size() < 8 || archive.find(bytes, place + 1) != std::string::npos) continue;
      auto const byte = static_cast<std::size_t>(flips * 7919) % bytes.size();
      auto model = load(damaged(archive, place + byte, flips % 8));
      EXPECT_THAT(refusal(model, {nu}), HasSubstr("the file is damaged")) << name << ' ' << flips;
      ++flips;
    }
    EXPECT_GT(flips, 6) << name;
  }
}

TEST(ExportChecksum, WeightsThatAreChangedOnPurposeAreNoDamage) {
  auto const network = random_network("multigrid", Norm::sync_batch, 1, Boundary{});
  auto const archive = export_network(*network, options_of(Boundary{}));
  std::vector<c10::IValue> const nu{at::rand({1, 1, 8, 8, 8}) + 1};
  at::NoGradGuard const no_grad;
  at::Tensor const u = load(archive).forward(nu).toTensor();
  for (auto const type : {at::kDouble, at::kHalf, at::kBFloat16}) {  // none of which can run
    auto other = load(archive);
    other.to(type);
    EXPECT_NO_THROW(other.run_method("require_weights")) << type;
  }
  auto own = load(archive);
  for (auto const& weight : own.parameters()) at::Tensor(weight).mul_(1.5);
  auto tuned = own.deepcopy();
  EXPECT_THAT(refusal(own, nu), HasSubstr("set model.checked = True before the first call"));
  tuned.setattr("checked", true);
  EXPECT_EQ(refusal(tuned, nu), "");
  auto used = load(archive);
  used.forward(nu);
  for (auto const& weight : used.parameters()) at::Tensor(weight).mul_(1.5);
  EXPECT_EQ(refusal(used, nu), "");
  for (int call = 0; call < 2; ++call) {
    auto frozen = torch::jit::freeze(load(archive));
    at::Tensor const found = frozen.forward(nu).toTensor();
    EXPECT_LE((found - u).abs().max().item<double>(), kRounding * u.abs().max().item<double>());
  }
}

TEST(ExportSample, SelfCheckTellsADamagedSampleFromADamagedModel) {
  for (std::int64_t inputs : {1, 2}) {
    auto const network = random_network("unet", Norm::group, inputs, Boundary{});
    auto const archive = export_network(*network, options_of(Boundary{}, inputs));
    auto model = load(archive);
    Fields const fields = random_fields(Grid3::cube(8), inputs);
    at::NoGradGuard const no_grad;
    at::Tensor const u = predict(*make_self_communicator(), *network, Grid3::cube(8), fields.nu,
                                 fields.f, at::kFloat);
    auto const sample = export_sample(fields.nu, fields.f, u);
    auto const check = [&](std::string const& bytes) {
      auto const read = torch::jit::pickle_load({bytes.begin(), bytes.end()}).toTuple();
      c10::List<at::Tensor> tensors;
      for (auto const& one : read->elements()) tensors.push_back(one.toTensor());
      return model.run_method("self_check", tensors).toDouble();
    };
    EXPECT_LE(check(sample), kRounding);
    auto const place = sample.find(bytes_of(u));
    ASSERT_NE(place, std::string::npos);
    for (std::size_t const byte : {0, 401, 1023}) {
      try {
        check(damaged(sample, place + byte, 5));
        ADD_FAILURE() << byte;
      } catch (std::exception const& error) {
        EXPECT_THAT(error.what(), HasSubstr("the sample does not fit its checksum"));
      }
    }
  }
}

}  // namespace export_sample_test
}  // namespace voxcycle
