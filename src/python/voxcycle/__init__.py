# SPDX-License-Identifier: BSD-3-Clause
"""voxcycle: -div(nu grad u) = f on voxels, solved with a proven error, or by a trained network.

    solution = voxcycle.solve(nu)                   # numpy or torch, [nx, ny, nz]
    model = voxcycle.Model("checkpoint.h5")         # a torch.nn.Module, differentiable in nu
    samples = voxcycle.read_shard("shard.h5")       # numpy arrays
"""

import json
import math
import os
import types
import warnings

import torch

_TORCH = "2.11.0"
if torch.__version__.split("+")[0] != _TORCH:
    raise ImportError(f"voxcycle was built for torch {_TORCH}, and this is {torch.__version__}. "
                      f"Type: pip install torch=={_TORCH}.")

from . import _core  # noqa: E402  it finds the libraries that torch has loaded
from ._core import Error  # noqa: E402

__version__ = _core.version
__all__ = ["Error", "Model", "read_shard", "solve"]


def _tensor(name, array):
    """The array as a torch tensor of float32 or float64, in its own memory where that is possible."""
    if not isinstance(array, torch.Tensor):
        try:
            if not hasattr(array, "__dlpack__") or hasattr(array, "__array_interface__"):
                import numpy
                array = numpy.asarray(array)
                native = array.dtype.newbyteorder("=")
                array = numpy.array(array, dtype=native, order="C", copy=None)
            array = torch.from_dlpack(array) if _is_writable(array) else torch.tensor(array)
        except (TypeError, ValueError, RuntimeError, BufferError) as problem:
            raise Error(f"{name} is no array that torch understands ({problem}). Pass a numpy "
                        "array or a torch tensor of numbers.") from None
    _require_place(name, array)
    if array.is_complex():
        raise Error(f"{name} has complex values. Pass real ones.")
    array = array.detach()
    exact = (torch.float32, torch.float64)
    return array if array.dtype in exact else array.to(torch.float64)


def _require_place(name, tensor):
    if tensor.device.type not in ("cpu", "cuda"):
        raise Error(f"{name} is on {tensor.device}. Copy it to the CPU or an NVIDIA GPU (cuda).")


def _is_writable(array):
    flags = getattr(array, "flags", None)
    return flags is None or getattr(flags, "writeable", True)


def _like(array, u):
    """u, a torch tensor, as what `array` is, and where that is."""
    if isinstance(array, torch.Tensor):
        return u.to(array.device)
    if hasattr(array, "__array_namespace__") and not hasattr(array, "__array_interface__"):
        u = u.cuda() if array.__dlpack_device__()[0] == 2 else u
        return array.__array_namespace__().from_dlpack(u)
    return u.numpy()


def _boundary(boundary):
    if boundary is None or isinstance(boundary, str):
        return boundary
    return ", ".join("flux" if face in (None, "flux") else repr(float(face)) for face in boundary)


def _source(source):
    if source is None or isinstance(source, str):
        return source
    if isinstance(source, (int, float)):
        return float(source)
    return _tensor("source", source)


def _spacing(spacing):
    if spacing is None:
        return None
    edges = [spacing] * 3 if isinstance(spacing, (int, float)) else list(spacing)
    if len(edges) != 3:
        raise Error(f"spacing has {len(edges)} numbers. Give the edges of a voxel along x, y and z.")
    return tuple(float(edge) for edge in edges)


def solve(nu, *, boundary=None, source=None, model=None, tol=1e-8, iterations=500, spacing=None,
          scheme="q1", fill=math.nan, precision=None, device=None):
    """Solves -div(nu grad u) = f, as `voxcycle solve` does, with a proven bound of the error.

    nu          [nx, ny, nz] >= 0: numpy, torch (CPU or CUDA) or what else speaks DLPack
    boundary    x-, x+, y-, y+, z-, z+: "1, 0, flux, flux, flux, flux" or six numbers and "flux"
                (default: the model's, else this)
    source      f: a number, an array like nu or a formula in x, y, z (default: 0)
    model       a Model, a checkpoint's name or a run's directory, to start from
    tol         relative residual to reach
    iterations  most iterations
    spacing     edges of a voxel along x, y, z, or of a cube (default: the longest edge is 1)
    scheme      "q1": u on nodes [nx+1, ny+1, nz+1]; "finite_volume": u in voxels
    fill        u where nu is 0 all around
    precision   of the network: "f32", "bf16" or "f16" (default: as it was trained)
    device      where to compute, e.g. "cuda" (default: where nu is)

    Returns an object with u (float64, of nu's kind) and the figures of `voxcycle solve --json`:
    converged, iterations, relative_residual, error_estimate, error_bound (None: nothing is proven),
    flow_into_faces, imbalance, seconds, network_used, start_error_estimate, ... Warns where it did
    not converge. Other Python threads go on meanwhile; Ctrl-C ends it before its next iteration.
    Raises Error.
    """
    field = _tensor("nu", nu)
    if model is not None and not isinstance(model, Model):
        model = Model(model)
    try:
        where = torch.device(device or field.device)
    except RuntimeError:
        raise Error(f"device {device!r} is unknown. Choose cpu or cuda.") from None
    arguments = _core.SolveArguments(
        boundary=_boundary(boundary), scheme=scheme, device=str(where), precision=precision,
        tolerance=float(tol), fill=float(fill), iterations=int(iterations))
    u, figures = _core.solve(field, arguments, _source(source), _spacing(spacing),
                             model and model._core)
    solution = types.SimpleNamespace(u=_like(nu, u), **json.loads(figures))
    if not solution.converged:
        warnings.warn(f"reached a relative residual of {solution.relative_residual:g} in "
                      f"{solution.iterations} iterations, not {tol:g}. Raise tol or iterations.",
                      RuntimeWarning, stacklevel=2)
    return solution


class _Map(torch.autograd.Function):
    @staticmethod
    def forward(ctx, core, nu, f):
        ctx.core = core
        ctx.save_for_backward(nu, f)
        return core.solution(nu.detach(), None if f is None else f.detach())

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, of_u):
        nu, f = ctx.saved_tensors
        of_nu, of_f = ctx.core.gradients(nu.detach(), None if f is None else f.detach(), of_u)
        return None, of_nu, of_f


class Model(torch.nn.Module):
    """A trained network: u = model(nu), or model(nu, f) where it was trained with sampled sources.

    nu (not its logarithm) and f are torch tensors [B, 1, nx, ny, nz] or [nx, ny, nz] of any unit, u
    has one more value along each axis. It computes where nu is, is differentiable in nu and f, and
    has the weights of the checkpoint (averaged), which stay as they are. Attributes: boundary and
    source, which it was trained for, and name.
    """

    def __init__(self, path, precision=None):
        """path: checkpoint.h5, best.h5, or the directory of a run; precision, of u alone: "f32",
        "bf16" or "f16" (default: as it was trained). Gradients are those of f32."""
        super().__init__()
        self._path, self._precision = os.fspath(path), precision
        self._core = _core.Surrogate(self._path, precision)
        self.boundary, self.source = self._core.boundary, self._core.source
        self.name = self._core.name

    def __reduce__(self):
        return Model, (self._path, self._precision)

    def extra_repr(self):
        return f"{self._path!r}: {self.name}; boundary {self.boundary}; source {self.source}"

    def forward(self, nu, f=None):
        fields = [_field("nu", nu)] + ([] if f is None else [_field("f", f)])
        batched = [x[None, None] if x.dim() == 3 else x for x in fields]
        u = _Map.apply(self._core, batched[0], batched[1] if len(batched) > 1 else None)
        return u[0, 0] if nu.dim() == 3 else u


def _field(name, x):
    if not isinstance(x, torch.Tensor) or not x.is_floating_point():
        kind = x.dtype if isinstance(x, torch.Tensor) else type(x).__name__
        raise Error(f"{name} is of {kind}. Pass a torch tensor of floating point numbers, e.g. "
                    "torch.from_numpy(nu).")
    _require_place(name, x)
    return x if x.dtype in (torch.float32, torch.float64) else x.float()


def read_shard(path):
    """A file of `voxcycle generate` as a dict: numpy arrays nu [S, nx, ny, nz], omega [S, m] and,
    where it has them, f and u_ref [S, nx+1, ny+1, nz+1]; what it says of itself: family, seed,
    split, boundary, source, lengths, first_index. Checksums are checked. Raises Error."""
    return _core.read_shard(os.fspath(path))
