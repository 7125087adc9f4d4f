#!/usr/bin/env python3
"""Reference of the state hash sd-v1, in plain Python, written from docs/numerics.md and not from the C++.

  sd_v1.py hash FILE.safetensors     prints the root and the leaves of any safetensors file (standard library only)
  sd_v1.py make FOLDER               writes sd_v1.safetensors and sd_v1.json, the goldens that tests/state reads
  sd_v1.py check FILE.safetensors    loads the file with the safetensors package and PyTorch, compares every byte
"""
import hashlib
import json
import pathlib
import struct
import sys

CODES = {"F32": 0, "F64": 1, "BF16": 2, "F16": 3, "I64": 4, "I32": 5, "U8": 6, "I8": 7, "BOOL": 8}
SIZES = {"F32": 4, "F64": 8, "BF16": 2, "F16": 2, "I64": 8, "I32": 4, "U8": 1, "I8": 1, "BOOL": 1}
# infinity and the canonical NaN, as bits
NANS = {"F32": (0x7F800000, 0x7FC00000), "F64": (0x7FF0000000000000, 0x7FF8000000000000),
        "BF16": (0x7F80, 0x7FC0), "F16": (0x7C00, 0x7E00)}
FORMATS = {2: "H", 4: "I", 8: "Q"}


def canonical(dtype, data):
    if dtype not in NANS:
        return data
    infinity, quiet = NANS[dtype]
    size = SIZES[dtype]
    form = "<%d%s" % (len(data) // size, FORMATS[size])
    magnitude = (1 << (8 * size - 1)) - 1
    return struct.pack(form, *(quiet if (w & magnitude) > infinity else w for w in struct.unpack(form, data)))


def sd_v1(tensors):
    """tensors: name -> (dtype, shape, row-major little-endian bytes). Returns the root and the leaves, in hex."""
    root, leaves = hashlib.sha256(), {}
    for name in sorted(tensors, key=lambda n: n.encode()):
        dtype, shape, data = tensors[name]
        head = struct.pack("<I", len(name.encode())) + name.encode()
        leaf = hashlib.sha256(b"sd-v1\0" + head + struct.pack("<BB", CODES[dtype], len(shape)) +
                              struct.pack("<%dQ" % len(shape), *shape) + canonical(dtype, data)).digest()
        root.update(head + leaf)
        leaves[name] = leaf.hex()
    return root.hexdigest(), leaves


def read(path):
    data = pathlib.Path(path).read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + size])
    body = data[8 + size:]
    return {name: (e["dtype"], e["shape"], body[e["data_offsets"][0]:e["data_offsets"][1]])
            for name, e in header.items() if name != "__metadata__"}


def write(path, tensors):
    order = sorted(tensors, key=lambda n: (-SIZES[tensors[n][0]], n.encode()))
    offsets, body = {}, b""
    for name in order:
        offsets[name] = [len(body), len(body) + len(tensors[name][2])]
        body += tensors[name][2]
    header = {"__metadata__": {"format": "pt"}}
    for name in sorted(tensors, key=lambda n: n.encode()):
        header[name] = {"dtype": tensors[name][0], "shape": tensors[name][1], "data_offsets": offsets[name]}
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)


def examples():
    words = lambda form, *w: struct.pack("<%d%s" % (len(w), form), *w)
    return {
        "0.weight": ("F32", [2, 3], words("I", 0x3F800000, 0x80000000, 0x00000000, 0x7FC12345, 0xFF800001, 0x7F800000)),
        "0.bias": ("F32", [3], words("f", -1.5, 0.1, 3e-42)),
        "10.bias": ("F64", [2], words("Q", 0xFFF8000000000001, 0x3FF0000000000000)),
        "bn.num_batches_tracked": ("I64", [], words("q", -7)),
        "ids": ("I32", [2, 1], words("i", -1, 2 ** 31 - 1)),
        "half": ("F16", [4], words("H", 0x3C00, 0x7C01, 0xFE00, 0xFC00)),
        "brain": ("BF16", [3], words("H", 0x3F80, 0x7F81, 0xFF80)),
        "pixels": ("U8", [5], bytes([0, 1, 127, 128, 255])),
        "signed": ("I8", [3], words("b", -128, 0, 127)),
        "mask": ("BOOL", [2, 2], bytes([1, 0, 0, 1])),
        "empty": ("F32", [0, 4], b""),
        "\u00fcber.weight": ("F32", [1], words("f", 2.0)),
    }


def main(command, path):
    if command == "hash":
        root, leaves = sd_v1(read(path))
        print(root)
        for name, leaf in leaves.items():
            print(leaf, name)
    elif command == "make":
        folder = pathlib.Path(path)
        tensors = examples()
        write(folder / "sd_v1.safetensors", tensors)
        root, leaves = sd_v1(tensors)
        golden = {"made_by": "tests/goldens/sd_v1.py make", "root": root, "leaves": leaves}
        (folder / "sd_v1.json").write_text(json.dumps(golden, indent=2, ensure_ascii=False) + "\n")
    elif command == "check":
        import safetensors.torch
        import torch
        loaded = safetensors.torch.load_file(path)
        ours = read(path)
        assert set(loaded) == set(ours), (set(loaded), set(ours))
        for name, (_, shape, data) in ours.items():
            assert list(loaded[name].shape) == shape, name
            flat = loaded[name].contiguous().reshape(-1)
            assert bytes(flat.view(torch.uint8).tolist() if flat.numel() else []) == data, name
        print(sd_v1(ours)[0])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
