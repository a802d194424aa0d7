# SPDX-License-Identifier: BSD-3-Clause
import torch
from torch import Tensor
from torch.nn import Module


class Conv(Module):
    weight: Tensor  # and `bias`, where there is one
    stride: int
    padding: int
    transposed: bool

    def forward(self, x: Tensor) -> Tensor:
        stride = [self.stride, self.stride, self.stride]
        padding = [self.padding, self.padding, self.padding]
        if hasattr(self, "bias"):
            return torch.convolution(x, self.weight, self.bias, stride, padding, [1, 1, 1],
                                     self.transposed, [0, 0, 0], 1)
        return torch.convolution(x, self.weight, None, stride, padding, [1, 1, 1],
                                 self.transposed, [0, 0, 0], 1)
