"""One rank of a model that trains under DistributedDataParallel, with or without crossing.

    shaped_step.py --model mlp [--cap-bytes N] [--config JSON | --tune] [--steps 30]

RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT are torch.distributed's; the link is that of
GLOO_SOCKET_IFNAME. Rank 0 prints one line of JSON: the median iteration, its quartiles, and a
digest of the parameters, by which runs with the same buckets are compared to the bit.
"""

import argparse
import hashlib
import json
import logging
import statistics
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Block(nn.Module):
    def __init__(self, width, heads=4):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.project = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2)
                   for part in self.qkv(self.norm1(x)).chunk(3, dim=-1))
        scores = q @ k.transpose(-2, -1) / (width // self.heads) ** 0.5
        future = torch.ones(length, length, dtype=torch.bool).triu(1)
        attention = scores.masked_fill(future, float("-inf")).softmax(-1) @ v
        x = x + self.project(attention.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))


class Gpt2(nn.Module):
    """As examples/gpt2: the output has the weights of the embedding."""

    def __init__(self, layers=6, width=256, length=64, vocabulary=256):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(length, width)
        self.blocks = nn.Sequential(*[Block(width) for _ in range(layers)])
        self.norm = nn.LayerNorm(width)

    def forward(self, tokens):
        x = self.tokens(tokens) + self.positions.weight
        return self.norm(self.blocks(x)) @ self.tokens.weight.t()


class Wait(torch.autograd.Function):
    """Computation of a device: takes its time, and no processor's."""

    @staticmethod
    def forward(ctx, x, seconds):
        ctx.seconds = seconds
        time.sleep(seconds)
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        time.sleep(2 * ctx.seconds)
        return gradient, None


class DeviceLayer(nn.Module):
    def __init__(self, width, seconds):
        super().__init__()
        self.linear, self.seconds = nn.Linear(width, width), seconds

    def forward(self, x):
        return Wait.apply(self.linear(x), self.seconds)


def mlp(layers, width):
    return nn.Sequential(*[part for _ in range(layers)
                           for part in (nn.Linear(width, width), nn.ReLU())])


def device_mlp(layers, width, step_s):
    return nn.Sequential(*[part for _ in range(layers) for part in (
        DeviceLayer(width, step_s / layers / 3), nn.ReLU())])


def square_loss(output, _):
    return output.pow(2).mean()


def token_loss(output, tokens):
    return nn.functional.cross_entropy(output.flatten(0, 1), tokens.roll(-1, 1).flatten())


def make(name, batch, generator):
    """Returns a model, its input, and its loss."""
    if name == "mlp":
        return mlp(24, 512), torch.randn(batch or 1536, 512, generator=generator), square_loss
    if name == "layers":
        return mlp(100, 128), torch.randn(batch or 256, 128, generator=generator), square_loss
    if name == "device":
        return device_mlp(24, 512, 0.5), torch.randn(batch or 8, 512), square_loss
    return (Gpt2(), torch.randint(256, (batch or 10, 64), generator=generator), token_loss)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", choices=("mlp", "layers", "gpt2", "device"), default="mlp")
    parser.add_argument("--batch", type=int)
    parser.add_argument("--cap-bytes", type=int, default=25 << 20)
    parser.add_argument("--config", help="cross, by this configuration of the schedule")
    parser.add_argument("--optimizer", choices=("sgd", "adamw"), default="sgd")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--skip", type=int, default=12, help="steps that are not measured")
    parser.add_argument("--alone", action="store_true", help="computation without communication")
    parser.add_argument("--bytes-alone", action="store_true",
                        help="an all-reduce of all gradients without computation")
    parser.add_argument("--fsdp", action="store_true", help="fully_shard in place of DDP")
    parser.add_argument("--tune", action="store_true", help="by hocket.torch.tune()")
    parser.add_argument("--schedule", action="store_true", help="tune(schedule=True)")
    parser.add_argument("--explore", type=float, default=0.0)
    return parser.parse_args()


def sharded(model):
    """Shards each block, or layer, and then the rest."""
    from torch.distributed.fsdp import fully_shard
    for part in getattr(model, "blocks", model):
        if any(True for _ in part.parameters()):
            fully_shard(part)
    fully_shard(model)
    return model


def wrapped(model, given):
    if given.fsdp:
        return sharded(model)
    return DistributedDataParallel(model, bucket_cap_mb=given.cap_bytes / (1 << 20),
                                   gradient_as_bucket_view=True)


def digest_of(model):
    digest = hashlib.sha256()
    for parameter in model.parameters():
        local = parameter.to_local() if hasattr(parameter, "to_local") else parameter
        digest.update(local.detach().numpy().tobytes())
    return digest.hexdigest()[:12]


def sum_gradients(model):
    """Returns a step that communicates as many bytes as the model's gradients have."""
    gradients = torch.zeros(sum(p.numel() for p in model.parameters()))
    return lambda: dist.all_reduce(gradients)


def train(model, optimizer, data, loss):
    """Returns a step of the training."""
    def step():
        optimizer.zero_grad(set_to_none=True)
        loss(model(data), data).backward()
        optimizer.step()
    return step


def tuned(model, optimizer, given):
    """Returns the job, and the list to which its log goes."""
    import hocket.torch
    lines, logger = [], logging.getLogger("hocket")
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    return hocket.torch.tune(model, optimizer, schedule=given.schedule,
                             explore=given.explore), lines


def main():
    given = arguments()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    model, data, loss = make(given.model, given.batch, torch.Generator().manual_seed(rank))
    is_alone = given.alone or given.bytes_alone
    if not is_alone:
        model = wrapped(model, given)
    if given.optimizer == "sgd":
        optimizer = torch.optim.SGD(model.parameters(), 1e-3, momentum=0.9)
    else:
        optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    crossing = None
    if given.config:
        from hocket.torch.crossing import Crossing
        crossing = Crossing(model, optimizer, given.config)
    job, lines = tuned(model, optimizer, given) if given.tune else (None, [])
    step = sum_gradients(model) if given.bytes_alone else train(model, optimizer, data, loss)
    ends = []
    for _ in range(given.steps):
        step()
        ends.append(time.perf_counter())
    if crossing:
        crossing.flush()
    times = [1e3 * (b - a) for a, b in zip(ends[given.skip:], ends[given.skip + 1:])]
    if is_alone:
        dist.barrier()
    if job:
        job.close()
    digest = digest_of(model)
    quartiles = statistics.quantiles(times, n=4)
    if rank == 0:
        print(json.dumps({"median_ms": round(quartiles[1], 2), "low_ms": round(quartiles[0], 2),
                          "high_ms": round(quartiles[2], 2), "digest": digest,
                          "off": crossing and crossing.off_reason,
                          "values": job and job.values, "log": lines}), flush=True)
    if crossing:
        crossing.close()
    dist.barrier()


if __name__ == "__main__":
    sys.exit(main())
