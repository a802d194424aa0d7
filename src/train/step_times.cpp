// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/train/train_step.hpp"

namespace voxcycle {

StepTimes& StepTimes::operator+=(StepTimes const& other) {
  data += other.data;
  forward += other.forward;
  loss += other.loss;
  backward += other.backward;
  reduction += other.reduction;
  update += other.update;
  graph += other.graph;
  return *this;
}

StepTimes& StepTimes::operator-=(StepTimes const& other) {
  data -= other.data;
  forward -= other.forward;
  loss -= other.loss;
  backward -= other.backward;
  reduction -= other.reduction;
  update -= other.update;
  graph -= other.graph;
  return *this;
}

std::array<std::pair<char const*, double>, 7> StepTimes::named() const {
  return {{{"data", data},
           {"forward", forward},
           {"loss", loss},
           {"backward", backward},
           {"reduction", reduction},
           {"update", update},
           {"graph", graph}}};
}

}  // namespace voxcycle
