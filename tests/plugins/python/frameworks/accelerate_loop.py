"""A training loop with Hugging Face's accelerate.

    accelerate launch --multi_gpu --num_processes 2 accelerate_loop.py ddp | compiled | fsdp1 | fsdp2
"""

import sys

import torch
from accelerate import Accelerator, FullyShardedDataParallelPlugin
from common import BATCH, Tokens, gpt2, print_digest
from sharding import on_processors


def plugin(kind):
    return FullyShardedDataParallelPlugin(
        fsdp_version=int(kind[-1]), auto_wrap_policy="transformer_based_wrap",
        transformer_cls_names_to_wrap=["GPT2Block"],
        cpu_ram_efficient_loading=False, state_dict_type="FULL_STATE_DICT",
        **({"use_orig_params": True} if kind == "fsdp1" else {}))


def accelerator_of(kind):
    if kind == "ddp":
        return Accelerator(cpu=True, gradient_accumulation_steps=2)
    if kind == "compiled":
        return Accelerator(cpu=True, dynamo_backend="eager")
    on_processors()
    return Accelerator(cpu=True, fsdp_plugin=plugin(kind))


def main():
    accelerator = accelerator_of(sys.argv[1])
    model = gpt2()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 10)
    data = torch.utils.data.DataLoader(Tokens(), batch_size=BATCH)
    model, optimizer, data, schedule = accelerator.prepare(model, optimizer, data, schedule)
    model.train()
    for batch in data:
        with accelerator.accumulate(model):
            loss = model(**batch).loss
            accelerator.backward(loss)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
    print_digest(model)
    accelerator.end_training()


main()
