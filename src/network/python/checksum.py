# SPDX-License-Identifier: BSD-3-Clause
"""A sum that tells damaged tensors: torch does not look at the checksums of its own files."""

from typing import List

import torch
from torch import Tensor
from torch.nn import Module


class Checksum(Module):
    def checksum_of(self, tensors: List[Tensor]) -> int:
        """Of tensors of 4 or 8 bytes a number, modulo 2^64: the same on all devices.

        Weights are odd, so that no change of one word goes unseen. Types are torch's int32, 3, and
        int64, 4.
        """
        total = torch.zeros([1], dtype=4)
        for tensor in tensors:
            words = torch.view_copy(tensor.detach().reshape([-1]), dtype=3).to(dtype=4)
            weights = 2 * torch.arange(words.numel(), device=words.device) + 1
            total = total * 1000003 + (words * weights).sum().cpu()
        return int(total)
