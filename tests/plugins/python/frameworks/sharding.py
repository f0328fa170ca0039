"""Lets accelerate, and with it Hugging Face's Trainer, shard models on processors.

It takes its plugin for FSDP on accelerators alone: on processors it uses DistributedDataParallel
instead, without a word. What it does with the plugin does not depend on the device.
"""

import torch
from accelerate import DistributedType, PartialState


def on_processors():
    """Says that the ranks' devices are accelerators; starts their process group if need be."""
    PartialState(cpu=True)
    PartialState._shared_state |= {"distributed_type": DistributedType.MULTI_GPU,
                                   "device": torch.device("cpu")}
