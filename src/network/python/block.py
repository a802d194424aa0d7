# SPDX-License-Identifier: BSD-3-Clause
from torch import Tensor
from torch.nn import Module

from conv import Conv
from norm_act import NormAct


class Block(Module):
    conv1: Conv
    norm1: NormAct
    conv2: Conv
    norm2: NormAct

    def forward(self, x: Tensor) -> Tensor:
        h = self.norm1.forward(self.conv1.forward(x))
        return self.norm2.forward(self.conv2.forward(h))
