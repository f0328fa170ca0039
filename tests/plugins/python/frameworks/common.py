"""What the programs of this folder share: random data made in code, and what they print at the end.

Each is a framework's smallest job of two ranks on processors, with gradients of several MiB, so that
DistributedDataParallel has several buckets and the sharded modules are several.
"""

import contextlib
import hashlib
import os
import sys

import torch
import torch.distributed as dist

STEPS = int(os.environ.get("FRAMEWORKS_STEPS", "80"))
VOCABULARY, LENGTH, BATCH = 1024, 16, 2


class Tokens(torch.utils.data.Dataset):
    """Random sequences of tokens, as many as two ranks need for all steps."""

    def __len__(self):
        return 2 * BATCH * STEPS

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        tokens = torch.randint(VOCABULARY, (LENGTH,), generator=generator)
        return {"input_ids": tokens, "labels": tokens}


def gpt2():
    """Returns a GPT-2 of 3.5 million parameters, with the dropout that it has by default: its random
    numbers are those of the program."""
    from transformers import GPT2Config, GPT2LMHeadModel
    torch.manual_seed(0)
    return GPT2LMHeadModel(GPT2Config(n_embd=256, n_layer=4, n_head=4, n_positions=LENGTH,
                                      vocab_size=VOCABULARY, bos_token_id=0, eos_token_id=0))


def print_digest(model):
    """Prints what stands for the values of all parameters, to the bit. All ranks call it."""
    total = hashlib.sha256()
    with gathered(model):
        for name, parameter in sorted(model.named_parameters()):
            whole = parameter.detach()
            if hasattr(whole, "full_tensor"):  # of fully_shard
                whole = whole.full_tensor()
            total.update(name.encode())
            # A clone, since FSDP could not free what NumPy has seen.
            total.update(whole.clone().contiguous().view(torch.uint8).numpy().tobytes())
    # In one piece, since the ranks share the output.
    sys.stdout.write(f"digest {dist.get_rank()} {total.hexdigest()}\n")
    sys.stdout.flush()


def gathered(model):
    """Returns a context in which a model of the first FSDP has all values of its parameters."""
    from torch.distributed.fsdp import FullyShardedDataParallel
    if any(isinstance(module, FullyShardedDataParallel) for module in model.modules()):
        return FullyShardedDataParallel.summon_full_params(model, writeback=False)
    return contextlib.nullcontext()
