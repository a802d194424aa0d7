// SPDX-License-Identifier: BSD-3-Clause
// The words of keys that stand for one of a few values.
#pragma once

#include "voxcycle/comm/device_choice.hpp"
#include "voxcycle/config/choice.hpp"
#include "voxcycle/core/log.hpp"
#include "voxcycle/train/trainer.hpp"

#include <algorithm>
#include <map>
#include <string>

namespace voxcycle {

template <class Value>
using Choices = std::map<std::string, Value>;

inline Choices<bool> const kYesNo{{"yes", true}, {"no", false}};
inline Choices<Adaptation> const kAdaptations{{"no", Adaptation::no},
                                              {"deepen", Adaptation::deepen}};
inline Choices<Augmentation> const kAugmentations{{"none", Augmentation::none},
                                                  {"reflections", Augmentation::reflections},
                                                  {"all", Augmentation::all}};
inline Choices<Decay> const kDecays{{"cosine", Decay::cosine},
                                    {"exponential", Decay::exponential},
                                    {"linear", Decay::linear},
                                    {"none", Decay::none}};
inline Choices<DeviceOptions::Kind> const kDevices{{"cpu", DeviceOptions::Kind::cpu},
                                                   {"cuda", DeviceOptions::Kind::cuda},
                                                   {"auto", DeviceOptions::Kind::automatic}};
inline Choices<LbfgsStageOptions::Start> const kLbfgsStarts{
    {"adam", LbfgsStageOptions::Start::adam}, {"identity", LbfgsStageOptions::Start::identity}};
inline Choices<LbfgsStageOptions::Statistics> const kLbfgsStatistics{
    {"batch", LbfgsStageOptions::Statistics::batch},
    {"running", LbfgsStageOptions::Statistics::running}};
inline Choices<at::MemoryFormat> const kLayouts{{"channels_last", at::MemoryFormat::ChannelsLast3d},
                                                {"default", at::MemoryFormat::Contiguous}};
inline Choices<LogMode> const kLogModes{
    {"master", LogMode::master}, {"collect", LogMode::collect}, {"workers", LogMode::workers}};
inline Choices<at::ScalarType> const kPrecisions{
    {"bf16", at::kBFloat16}, {"f16", at::kHalf}, {"f32", at::kFloat}, {"f64", at::kDouble}};
inline Choices<RateScaling> const kRateScalings{
    {"none", RateScaling::none}, {"sqrt", RateScaling::sqrt}, {"linear", RateScaling::linear}};
inline Choices<GradientMode> const kReductions{{"exact", GradientMode::exact},
                                               {"fast", GradientMode::fast}};

/// The word that stands for a value.
template <class Value>
std::string word_of(Choices<Value> const& choices, Value value) {
  return std::find_if(choices.begin(), choices.end(),
                      [&](auto const& choice) { return choice.second == value; })
      ->first;
}

}  // namespace voxcycle
