#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Prints as JSON what Python's torch makes of model.pt and sample.pt in the current directory.

usage: export_probe.py VOXELS...      of cubes; the model says whether it takes them
"""

import json
import sys

import torch


def main(cubes):
    torch.set_num_threads(1)
    files = {"metadata.json": "", "config.txt": ""}
    model = torch.jit.load("model.pt", map_location="cpu", _extra_files=files)
    sample = torch.load("sample.pt", weights_only=True)
    *arguments, want, _ = sample

    def distance(u):
        return ((u - want).abs().max() / want.abs().max()).item()

    found = {"metadata": json.loads(files["metadata.json"]), "config": files["config.txt"].decode(),
             "levels": model.levels, "training": model.training, "shape": list(want.shape),
             "gradients": any(p.requires_grad for p in model.parameters())}
    found["self check"] = model.self_check(sample)
    found["together"] = distance(model(*arguments))
    found["one by one"] = distance(torch.cat([model(*[a[k:k + 1] for a in arguments])
                                              for k in range(len(want))]))
    found["float64"] = distance(model(*[a.double() for a in arguments]))
    large, small = (model(*[a * unit for a in arguments]) for unit in (2.**20, 2.**-20))
    found["other unit"] = ((large - small).abs().max() / want.abs().max()).item()
    found["change"] = (want[0] - want[1]).abs().max().item()
    found["ends"] = [want[:, :, k].unique().tolist() for k in (0, -1)]
    found["coarse"] = list(model(*[a[..., ::2, ::2, ::2] for a in arguments]).shape)
    model.train()
    found["after train()"] = distance(model.eval()(*arguments))
    found["refusals"] = []
    for n in cubes:
        try:
            model(*[torch.ones(1, 1, n, n, n) for a in arguments])
            found["refusals"].append("")
        except torch.jit.Error as error:
            found["refusals"].append(str(error))
    print(json.dumps(found))


if __name__ == "__main__":
    main([int(voxels) for voxels in sys.argv[1:]])
