#!/usr/bin/env python3
"""The peer of `gpt2 --device cuda`: GPT-2 (124M) in PyTorch, one rank, bfloat16.

Prints one JSON object: the median time of a training step, the middle half of the times around it,
the losses of the first and the last step, and PyTorch's version. A step is timed on the device,
from the end of the one before to its own, while the host goes on. Exit status 3 where there is no
PyTorch that can use a CUDA device.

    benchmarks/gpu/torch_gpt2.py --batch 4             eager, by autocast: float32 parameters,
                                                       residuals and layer norms
    benchmarks/gpu/torch_gpt2.py --batch 4 --pure      all in bfloat16, the optimiser, too
    benchmarks/gpu/torch_gpt2.py --batch 4 --compile   torch.compile
"""

import argparse
import json
import statistics
import sys

try:
    import torch
    import torch.nn.functional as F
    from torch import nn
except ImportError:
    print("torch_gpt2: PyTorch is not installed", file=sys.stderr)
    sys.exit(3)


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.attention_norm, self.mlp_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.projection = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, sequence, width = x.shape
        q, k, v = (
            part.view(batch, sequence, self.heads, width // self.heads).transpose(1, 2)
            for part in self.qkv(self.attention_norm(x)).split(width, dim=2)
        )
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.projection(attended.transpose(1, 2).reshape(batch, sequence, width))
        return x + self.down(F.gelu(self.up(self.mlp_norm(x)), approximate="tanh"))


class Gpt2(nn.Module):
    def __init__(self, layers, width, heads, sequence, vocabulary):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(sequence, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)

    def forward(self, inputs, targets):
        x = self.tokens(inputs) + self.positions.weight
        for block in self.blocks:
            x = block(x)
        logits = F.linear(self.norm(x), self.tokens.weight)
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--width", type=int, default=768)
    parser.add_argument("--heads", type=int, default=12)
    parser.add_argument("--sequence", type=int, default=1024)
    parser.add_argument("--vocabulary", type=int, default=50304)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--warmup", type=int, default=10)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--pure", action="store_true")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print("torch_gpt2: this PyTorch can use no CUDA device", file=sys.stderr)
        sys.exit(3)

    torch.manual_seed(1)
    model = Gpt2(options.layers, options.width, options.heads, options.sequence,
                 options.vocabulary).cuda()
    if options.pure:
        model = model.bfloat16()
    run = torch.compile(model) if options.compile else model
    adamw = torch.optim.AdamW(model.parameters(), lr=5e-4, betas=(0.9, 0.95), weight_decay=0.1,
                              fused=True)
    steps = options.warmup + options.steps
    tokens = torch.randint(256, (steps, options.batch, options.sequence + 1), device="cuda")
    ends = [torch.cuda.Event(enable_timing=True) for _ in range(steps)]
    losses = []
    for step in range(steps):
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=not options.pure):
            loss = run(tokens[step, :, :-1], tokens[step, :, 1:])
        loss.backward()
        adamw.step()
        adamw.zero_grad(set_to_none=True)
        ends[step].record()
        losses.append(loss.detach())
    torch.cuda.synchronize()
    times_ms = [ends[step - 1].elapsed_time(ends[step])
                for step in range(max(options.warmup, 1), steps)]
    low, middle, high = statistics.quantiles(times_ms, n=4)
    print(json.dumps({"peer": "torch.compile" if options.compile else "eager",
                      "pure": options.pure, "torch": torch.__version__, "batch": options.batch,
                      "iteration_ms": middle, "spread_ms": (high - low) / 2,
                      "first_loss": losses[0].item(), "last_loss": losses[-1].item()}))


if __name__ == "__main__":
    main()
