# SPDX-License-Identifier: BSD-3-Clause
import torch
from torch import Tensor
from torch.nn import Module


class NormAct(Module):
    gamma: Tensor
    beta: Tensor
    running_mean: Tensor
    running_var: Tensor
    norm: str
    groups: int
    epsilon: float
    negative_slope: float

    def forward(self, x: Tensor) -> Tensor:
        if self.norm == "sync_batch":
            y = torch.batch_norm(x, self.gamma, self.beta, self.running_mean, self.running_var,
                                 False, 0., self.epsilon, False)
        elif self.norm == "none":
            shape = [1, -1, 1, 1, 1]
            y = x * self.gamma.reshape(shape) + self.beta.reshape(shape)
        else:
            y = torch.group_norm(x, self.groups, self.gamma, self.beta, self.epsilon, False)
        return torch.leaky_relu(y, self.negative_slope)
