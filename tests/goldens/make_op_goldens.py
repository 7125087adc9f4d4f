"""Writes tests/goldens/ops_*.txt: values and gradients of ops as PyTorch computes them on the CPU.

Run it from the root of the checkout with a Python that has PyTorch 2.13:
    python tests/goldens/make_op_goldens.py
The tests read the files and need no Python. Format, one word-separated record a line:
    op NAME TOLERANCE          begins a case; |got - expected| <= TOLERANCE * (1 + |expected|)
    attr WORD                  attributes in order (true/false, numbers, dtypes, shapes as 2,3; '-' is the empty shape)
    in|out|after|seed|grad DTYPE SHAPE VALUES...    or '-' alone for what is absent
`after` are the inputs of a mutating op once it ran; `grad` is the gradient of sum_i <seed_i, out_i>.
"""
import pathlib

import torch
import torch.nn.functional as F

HERE = pathlib.Path(__file__).parent
F32_ELEMENTWISE, F32_SUMS, F64 = 4e-7, 2e-6, 1e-12
lines = []
torch.set_num_threads(1)
torch.manual_seed(20240613)


def word(v):
    if isinstance(v, bool):
        return "true" if v else "false"
    if isinstance(v, torch.dtype):
        return str(v).removeprefix("torch.")
    if isinstance(v, (tuple, list)):
        return ",".join(map(str, v)) if v else "-"
    return repr(v)


def tensor(kind, t):
    if t is None:
        lines.append(f"{kind} -")
        return
    t = t.detach()
    if t.dtype == torch.float32:
        values = [f"{v:.9g}" for v in t.flatten().tolist()]
    elif t.dtype == torch.float64:
        values = [f"{v:.17g}" for v in t.flatten().tolist()]
    else:
        values = [str(int(v)) for v in t.flatten().tolist()]
    lines.append(" ".join([kind, word(t.dtype), word(tuple(t.shape)), *values]))


def case(op, tolerance, inputs, attrs, f, gradient=True):
    lines.append(f"op {op} {tolerance:g}")
    for a in attrs:
        lines.append(f"attr {word(a)}")
    leaves = [None if t is None else t.clone().requires_grad_(t.is_floating_point()) for t in inputs]
    for t in leaves:
        tensor("in", t)
    outs = f(*leaves)
    outs = outs if isinstance(outs, tuple) else (outs,)
    for t in outs:
        tensor("out", t)
    if not gradient:
        return
    seeds = [torch.randn(t.shape, dtype=t.dtype) for t in outs]
    live = [t for t in leaves if t is not None and t.requires_grad]
    grads = torch.autograd.grad(outs, live, seeds)
    for t in seeds:
        tensor("seed", t)
    known = dict(zip(map(id, live), grads))
    for t in leaves:
        tensor("grad", known.get(id(t)))


def write(name):
    head = f"# {name}: made by tests/goldens/make_op_goldens.py with PyTorch {torch.__version__.split('+')[0]} (CPU, one thread, seed 20240613)"
    path = HERE / f"ops_{name}.txt"
    path.write_text("\n".join([head, *lines]) + "\n")
    print(path.name, path.stat().st_size)
    lines.clear()


def rand(shape, dtype, low=-2.0, high=2.0):
    return torch.rand(shape, dtype=dtype) * (high - low) + low


for dtype in (torch.float32, torch.float64):
    tight = F32_ELEMENTWISE if dtype == torch.float32 else F64
    loose = F32_SUMS if dtype == torch.float32 else F64
    unary = {"neg": torch.neg, "abs": torch.abs, "sign": torch.sign, "exp": torch.exp, "log": torch.log, "log1p": torch.log1p,
             "expm1": torch.expm1, "sqrt": torch.sqrt, "sin": torch.sin, "cos": torch.cos, "erf": torch.erf, "relu": torch.relu,
             "tanh": torch.tanh, "sigmoid": torch.sigmoid, "gelu": F.gelu}
    for name, f in unary.items():
        low = 0.1 if name in ("log", "sqrt") else -0.9 if name == "log1p" else -4.0
        for shape in ((2, 7), (), (0, 2), (5, 1)):
            case(name, loose if name == "gelu" else tight, [rand(shape, dtype, low, 4.0)], [], f)
    binary = {"add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div, "maximum": torch.maximum, "minimum": torch.minimum}
    for name, f in binary.items():
        for a, b in (((3, 5), (3, 5)), ((3, 1), (5,)), ((), (2, 3)), ((2, 1, 3), (4, 1)), ((0, 3), (3,))):
            case(name, tight, [rand(a, dtype), rand(b, dtype, 0.5, 3.0)], [], f)
    case("maximum", tight, [torch.tensor([1.0, 2, 3], dtype=dtype), torch.tensor([1.0, 3, 2], dtype=dtype)], [], torch.maximum)
    case("add_scalar", tight, [rand((3, 5), dtype)], [0.3], lambda x: x + 0.3)
    case("mul_scalar", tight, [rand((3, 5), dtype)], [0.3], lambda x: x * 0.3)
    case("where", tight, [torch.rand(3, 1) > 0.5, rand((3, 5), dtype), rand((5,), dtype)], [], torch.where)
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        x = torch.randint(0, 3, (4, 5)).to(dtype)
        case(name, 0, [x, torch.randint(0, 3, (5,)).to(dtype)], [], getattr(torch, name), gradient=False)
write("elementwise")

for dtype in (torch.float32, torch.float64):
    loose = F32_SUMS if dtype == torch.float32 else F64
    for shape, axes in (((3, 5), (1,)), ((3, 5), (0, 1)), ((2, 3, 4), (0, 2)), ((5, 9), (0,)), ((4, 0), (1,))):
        for keep in (False, True):
            case("sum", loose, [rand(shape, dtype)], [axes, keep], lambda x: x.sum(axes, keep))
            if 0 in shape:
                continue
            case("mean", loose, [rand(shape, dtype)], [axes, keep], lambda x: x.mean(axes, keep))
            case("amax", loose, [rand(shape, dtype)], [axes, keep], lambda x: x.amax(axes, keep))
            case("var", loose, [rand(shape, dtype)], [axes, keep, True], lambda x: x.var(axes, correction=1, keepdim=keep))
            case("var", loose, [rand(shape, dtype)], [axes, keep, False], lambda x: x.var(axes, correction=0, keepdim=keep))
    case("amax", loose, [torch.tensor([[1.0, 3, 3], [2, 2, 2]], dtype=dtype)], [(1,), False], lambda x: x.amax(1))
    case("argmax", 0, [torch.tensor([[1.0, 3, 3], [2, 2, 2]], dtype=dtype)], [1, False], lambda x: x.argmax(1), gradient=False)
    case("argmax", 0, [torch.tensor([[1.0, float("nan"), 3], [2, 2, 2]], dtype=dtype)], [0, True], lambda x: x.argmax(0, True), gradient=False)
    case("total", loose, [rand((3, 7), dtype)], [], lambda x: x.double().sum())
    case("sum_squares", loose, [rand((3, 7), dtype)], [], lambda x: x.double().square().sum())
    for shape in ((3, 5), (7,), (2, 3, 4), (4, 1), (0, 3)):
        case("softmax", loose, [rand(shape, dtype, -6, 6)], [], lambda x: x.softmax(-1))
        case("log_softmax", loose, [rand(shape, dtype, -6, 6)], [], lambda x: x.log_softmax(-1))
    for m, k, n in ((3, 4, 5), (1, 7, 1), (2, 0, 3), (7, 13, 5)):
        case("matmul", loose, [rand((m, k), dtype), rand((k, n), dtype)], [], torch.matmul)
    for shape, n in (((3, 4), 5), ((4,), 3), ((2, 3, 4), 2), ((0, 4), 3)):
        case("linear", loose, [rand(shape, dtype), rand((n, 4), dtype), rand((n,), dtype)], [], F.linear)
        case("linear", loose, [rand(shape, dtype), rand((n, 4), dtype), None], [], lambda x, w, b: F.linear(x, w))
write("products")

for dtype in (torch.float32, torch.float64):
    loose = F32_SUMS if dtype == torch.float32 else F64
    for weighted in (False, True):
        for eps in (0.0, 0.1):
            for ignore in (-100, 1):
                w = rand((4,), dtype, 0.5, 2.0) if weighted else None
                t = torch.tensor([0, 1, 3, 2, 1, 0])
                x = rand((6, 4), dtype, -5, 5)
                # PyTorch's class weights take no gradient, so they enter as constants.
                case("cross_entropy", loose, [x, t, w], [eps, ignore],
                     lambda x, t, w: F.cross_entropy(x, t, None if w is None else w.detach(), ignore_index=ignore, label_smoothing=eps,
                                                     reduction="none") + (0 if w is None else 0 * w.sum()))
    for shape in ((3, 5), ()):
        case("bce_with_logits", loose, [rand(shape, dtype, -8, 8), rand(shape, dtype, 0, 1)], [],
             lambda x, t: F.binary_cross_entropy_with_logits(x, t, reduction="none"))
    for shape in ((5, 3), (4, 2, 3)):
        axes = [i for i in range(len(shape)) if i != 1]

        def batch_norm(x, w, b):
            return F.batch_norm(x, None, None, w, b, True, 0.0, 1e-5), x.mean(axes), x.var(axes, correction=0)

        case("batch_norm", 10 * loose, [rand(shape, dtype), rand((shape[1],), dtype), rand((shape[1],), dtype)], [1e-5], batch_norm)
        case("batch_norm", 10 * loose, [rand(shape, dtype), None, None], [1e-5], batch_norm)
    index = torch.tensor([2, 0, 2, 1, 2])
    case("index_select", 0, [rand((4, 3), dtype), index], [0], lambda x, i: x.index_select(0, i))
    case("index_select", 0, [rand((2, 3), dtype), index], [1], lambda x, i: x.index_select(1, i))
    case("index_add", F32_ELEMENTWISE if dtype == torch.float32 else F64, [rand((3, 2), dtype), index, rand((5, 2), dtype)], [0],
         lambda x, i, s: x.index_add(0, i, s))
    case("one_hot", 0, [index], [4, dtype], lambda i: F.one_hot(i, 4).to(dtype), gradient=False)
    case("reshape", 0, [rand((3, 4), dtype)], [(2, 6)], lambda x: x.reshape(2, 6))
    case("permute", 0, [rand((2, 3, 4), dtype)], [(2, 0, 1)], lambda x: x.permute(2, 0, 1))
    case("expand", F32_ELEMENTWISE if dtype == torch.float32 else F64, [rand((3, 1), dtype)], [(2, 3, 4)], lambda x: x.expand(2, 3, 4))
    case("narrow", 0, [rand((5, 3), dtype)], [0, 1, 2], lambda x: x.narrow(0, 1, 2))
    case("pad_axis", 0, [rand((2, 3), dtype)], [1, 2, 1], lambda x: F.pad(x, (2, 1)))
for to in (torch.float32, torch.float64, torch.int64, torch.int32, torch.uint8, torch.bool):
    x = torch.tensor([-2.7, -0.5, 0.0, 0.5, 1.0, 3.99], dtype=torch.float64)
    case("cast", 0, [x.abs() if to == torch.uint8 else x], [to], lambda x: x.to(to), gradient=False)


def steps(op, make, slots, attrs_of, dtype):
    """Two optimizer steps; each is one case with the state before and after."""
    param = torch.nn.Parameter(rand((7,), dtype))
    optimizer = make([param])
    state = [None if s is None else torch.zeros(7, dtype=dtype) for s in slots]
    for step in range(2):
        param.grad = rand((7,), dtype)
        lines.append(f"op {op} {F32_ELEMENTWISE if dtype == torch.float32 else F64:g}")
        for a in attrs_of(step):
            lines.append(f"attr {word(a)}")
        for t in (param, param.grad, *state):
            tensor("in", t)
        optimizer.step()
        now = optimizer.state[param]
        state = [None if s is None else now[s].clone() for s in slots]
        for t in (param, param.grad, *state):
            tensor("after", t)


for dtype in (torch.float32, torch.float64):
    for momentum, dampening, decay, nesterov in ((0.0, 0.0, 0.0, False), (0.9, 0.0, 0.01, False), (0.9, 0.1, 0.01, False), (0.9, 0.0, 0.01, True)):
        steps("sgd_step", lambda p: torch.optim.SGD(p, lr=0.1, momentum=momentum, dampening=dampening, weight_decay=decay, nesterov=nesterov),
              ["momentum_buffer" if momentum else None],
              lambda step: [0.1, momentum, dampening, decay, nesterov, step == 0], dtype)
    for decay in (0.0, 0.1):
        steps("adamw_step", lambda p: torch.optim.AdamW(p, lr=1e-2, betas=(0.9, 0.99), eps=1e-8, weight_decay=decay, foreach=False),
              ["exp_avg", "exp_avg_sq"], lambda step: [1e-2, 0.9, 0.99, 1e-8, decay, step + 1], dtype)
write("training")
