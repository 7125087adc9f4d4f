"""Trains tiny networks in PyTorch and writes what the C++ tests must reproduce from equal weights and batches.

Run with a Python that has torch and numpy:  python make_training_goldens.py
It writes training/<case>.safetensors and training/state_dict_names.json beside itself. Every file says which versions
made it. A case holds the data (x, y), the initial state (init.*), losses, gradient norms and learning rates of 100 steps
in float64, the final state (f64.*), and losses and state after 10 steps in float32 (f32.*). The configuration that
Lockstep reads is in the metadata, as YAML.
"""
import json
import math
import pathlib
import struct

import numpy as np
import torch
from torch import nn

HERE = pathlib.Path(__file__).parent / "training"
PROVENANCE = f"make_training_goldens.py, torch {torch.__version__}, numpy {np.__version__}, CPU, one thread"
STEPS_F64, STEPS_F32 = 100, 10


class Residual(nn.Module):
    """shortcut(x) + branch(x); the branch's layers are named by position, the shortcut's below `shortcut`."""

    def __init__(self, branch, shortcut=()):
        super().__init__()
        self.count = len(branch)
        for i, layer in enumerate(branch):
            self.add_module(str(i), layer)
        if shortcut:
            self.shortcut = nn.Sequential(*shortcut)

    def forward(self, x):
        y = x
        for i in range(self.count):
            y = getattr(self, str(i))(y)
        return (self.shortcut(x) if hasattr(self, "shortcut") else x) + y


class WithRows:
    """Batches of `size` rows, in order, over and over; the last one of a pass is short."""

    def __init__(self, rows, size):
        self.rows, self.size = rows, size
        self.per_pass = -(-rows // size)

    def __call__(self, step):
        begin = step % self.per_pass * self.size
        return slice(begin, min(begin + self.size, self.rows))


def warmup(steps, base, after):
    return lambda step: base * ((step + 1) / steps) if step < steps else after(step - steps)


def cosine(base, total, min_factor):
    return lambda step: base * (min_factor + (1 - min_factor) * 0.5 * (1 + math.cos(math.pi * step / total)))


CASES = {
    "norm_residual_sgd": dict(
        yaml="""model:
  layers:
    - linear: {out_features: 12, bias: false}
    - batch_norm1d
    - relu
    - residual: {layers: [linear: {out_features: 12}, tanh]}
    - linear: {out_features: 4}
loss: {name: cross_entropy, label_smoothing: 0.1, weight: [1.0, 2.0, 0.5, 1.5]}
optim: {name: sgd, lr: 0.05, momentum: 0.9, nesterov: true, weight_decay: 0.01}
""",
        model=lambda: nn.Sequential(nn.Linear(6, 12, bias=False), nn.BatchNorm1d(12), nn.ReLU(),
                                    Residual([nn.Linear(12, 12), nn.Tanh()]), nn.Linear(12, 4)),
        loss=lambda t: nn.CrossEntropyLoss(weight=torch.tensor([1.0, 2.0, 0.5, 1.5], dtype=t), label_smoothing=0.1),
        optim=lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, nesterov=True, weight_decay=0.01),
        lr=lambda step: 0.05, clip=None, target="classes_with_ignored", steps=100),
    "gelu_adamw_clipped": dict(
        yaml="""model:
  layers:
    - linear: {out_features: 10}
    - gelu
    - residual: {layers: [linear: {out_features: 8}, sigmoid], shortcut: [linear: {out_features: 8, bias: false}]}
    - linear: {out_features: 4}
loss: cross_entropy
optim: {name: adamw, lr: 1e-2, weight_decay: 0.05, schedule: {name: cosine, warmup_steps: 10, min_factor: 0.1}}
""",
        model=lambda: nn.Sequential(nn.Linear(6, 10), nn.GELU(),
                                    Residual([nn.Linear(10, 8), nn.Sigmoid()], [nn.Linear(10, 8, bias=False)]),
                                    nn.Linear(8, 4)),
        loss=lambda t: nn.CrossEntropyLoss(),
        optim=lambda p: torch.optim.AdamW(p, lr=1e-2, weight_decay=0.05),
        lr=warmup(10, 1e-2, cosine(1e-2, 90, 0.1)), clip=0.5, target="classes", steps=100),
    "mse_sgd_dampening": dict(
        yaml="""model:
  layers:
    - linear: {out_features: 9}
    - tanh
    - linear: {out_features: 3}
loss: mse
optim: {name: sgd, lr: 0.1, momentum: 0.8, dampening: 0.1, schedule: {name: linear, end_factor: 0.2}}
""",
        model=lambda: nn.Sequential(nn.Linear(6, 9), nn.Tanh(), nn.Linear(9, 3)),
        loss=lambda t: nn.MSELoss(),
        optim=lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.8, dampening=0.1),
        lr=lambda step: 0.1 * (1 + (0.2 - 1) * step / 100), clip=None, target="numbers", steps=100),
    "bce_adamw_step": dict(
        yaml="""model: {name: mlp, hidden_features: [8, 7], out_features: 3, activation: sigmoid}
loss: {name: bce_with_logits, pos_weight: [2.0, 1.0, 0.5]}
optim: {name: adamw, lr: 2e-2, betas: [0.8, 0.95], eps: 1e-6, weight_decay: 0, schedule: {name: step, step_size: 3, gamma: 0.9}}
""",
        model=lambda: nn.Sequential(nn.Linear(6, 8), nn.Sigmoid(), nn.Linear(8, 7), nn.Sigmoid(), nn.Linear(7, 3)),
        loss=lambda t: nn.BCEWithLogitsLoss(pos_weight=torch.tensor([2.0, 1.0, 0.5], dtype=t)),
        optim=lambda p: torch.optim.AdamW(p, lr=2e-2, betas=(0.8, 0.95), eps=1e-6, weight_decay=0.0),
        lr=lambda step: 2e-2 * 0.9 ** (step // 4 // 3), clip=None, target="bits", steps=100),
}


def make_target(kind, x, g):
    n = len(x)
    if kind.startswith("classes"):
        y = torch.randint(0, 4, (n,), generator=g)
        if kind == "classes_with_ignored":
            y[3], y[20] = -100, -100
        return y
    if kind == "bits":
        return torch.randint(0, 2, (n, 3), generator=g).double()
    return torch.stack([x.sin().sum(1), (x[:, 0] * x[:, 1]), x[:, 2] - x[:, 3]], 1)


def train(case, dtype, steps, init, x, y):
    model = case["model"]().to(dtype)
    model.load_state_dict({k: v.to(dtype) if v.is_floating_point() else v for k, v in init.items()})
    model.train()
    loss_of = case["loss"](dtype)
    optim = case["optim"](model.parameters())
    batches = WithRows(len(x), 8)
    x, y = x.to(dtype), y.to(dtype) if y.is_floating_point() else y
    out = dict(loss=[], norm=[], lr=[])
    for step in range(steps):
        rows = batches(step)
        for group in optim.param_groups:
            group["lr"] = case["lr"](step)
        optim.zero_grad()
        loss = loss_of(model(x[rows]), y[rows])
        loss.backward()
        clip = math.inf if case["clip"] is None else case["clip"]
        norm = nn.utils.clip_grad_norm_(model.parameters(), clip)
        optim.step()
        out["loss"].append(loss.item())
        out["norm"].append(float(norm))
        out["lr"].append(case["lr"](step))
    return model.state_dict(), {k: torch.tensor(v, dtype=torch.float64) for k, v in out.items()}


NAMES = {torch.float32: "F32", torch.float64: "F64", torch.int64: "I64"}


def save(path, tensors, metadata):
    header, blob = {"__metadata__": metadata}, b""
    for name in sorted(tensors):
        t = tensors[name].detach().contiguous()
        raw = t.numpy().tobytes()
        header[name] = {"dtype": NAMES[t.dtype], "shape": list(t.shape), "data_offsets": [len(blob), len(blob) + len(raw)]}
        blob += raw
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + blob)
    print(path.name, path.stat().st_size, "bytes")


def write_case(name, case, seed):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 1)
    model = case["model"]().double()
    init = {k: v.clone() for k, v in model.state_dict().items()}
    x = torch.randn(30, 6, generator=g, dtype=torch.float64)
    y = make_target(case["target"], x, g)
    f64, curves64 = train(case, torch.float64, STEPS_F64, init, x, y)
    f32, curves32 = train(case, torch.float32, STEPS_F32, init, x, y)
    model.load_state_dict(f64)
    model.eval()
    tensors = {"x": x, "y": y, "eval.logits": model(x)}
    tensors |= {f"init.{k}": v for k, v in init.items()}
    tensors |= {f"f64.{k}": v for k, v in f64.items()}
    tensors |= {f"f32.{k}": v for k, v in f32.items()}
    tensors |= {f"curve64.{k}": v for k, v in curves64.items()}
    tensors |= {f"curve32.{k}": v for k, v in curves32.items()}
    meta = {"config": case["yaml"], "clip": "" if case["clip"] is None else str(case["clip"]), "batch": "8",
            "provenance": PROVENANCE}
    save(HERE / f"{name}.safetensors", tensors, meta)


def names_of(yaml, shape, classes, model):
    state = model.state_dict()
    return {"model": yaml, "input": shape, "num_classes": classes,
            "state_dict": [[k, list(v.shape), str(v.dtype).removeprefix("torch.")] for k, v in state.items()]}


def write_names():
    r = nn.ReLU
    entries = [
        names_of("{name: mlp, hidden_features: [128]}", [28, 28], 10,
                 nn.Sequential(nn.Linear(784, 128), r(), nn.Linear(128, 10))),
        names_of("{name: mlp, hidden_features: [16, 8], norm: batch_norm1d, activation: gelu, dropout: 0.1}", [20], 3,
                 nn.Sequential(nn.Linear(20, 16), nn.BatchNorm1d(16), nn.GELU(), nn.Dropout(0.1),
                               nn.Linear(16, 8), nn.BatchNorm1d(8), nn.GELU(), nn.Dropout(0.1), nn.Linear(8, 3))),
        names_of("{layers: [flatten, linear: {out_features: 8, bias: false}, batch_norm1d, relu, "
                 "residual: {layers: [linear: {out_features: 8}, relu]}, linear: {out_features: 5}]}", [2, 3], 5,
                 nn.Sequential(nn.Flatten(), nn.Linear(6, 8, bias=False), nn.BatchNorm1d(8), r(),
                               Residual([nn.Linear(8, 8), r()]), nn.Linear(8, 5))),
    ]
    text = json.dumps({"provenance": PROVENANCE, "models": entries}, indent=1)
    (HERE / "state_dict_names.json").write_text(text + "\n")


if __name__ == "__main__":
    torch.set_num_threads(1)
    HERE.mkdir(exist_ok=True)
    for position, (case_name, case_data) in enumerate(CASES.items()):
        write_case(case_name, case_data, 100 + position)
    write_names()
