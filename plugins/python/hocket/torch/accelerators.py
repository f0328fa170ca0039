"""The GPUs on which the ranks of a model compute, as a part of its job's topology."""

import collections
import socket

import torch


def accelerator_of(module):
    """Returns this rank's host, GPU and the GPU's model; None where the module is on CPUs."""
    device = next(module.parameters()).device
    if device.type != "cuda":
        return None
    properties = torch.cuda.get_device_properties(device)
    # The index depends on which devices the launcher shows to this rank.
    return socket.gethostname(), str(getattr(properties, "uuid", device.index)), properties.name


def accelerator_text(gpus):
    """Returns the GPUs of the first rank's host, such as "2 x NVIDIA H200"; "" without any. Ranks
    that share a GPU, and GPUs that no rank uses, count once and not at all."""
    if not gpus or gpus[0] is None:
        return ""
    used = {gpu for gpu in gpus if gpu is not None and gpu[0] == gpus[0][0]}
    models = collections.Counter(model for _, _, model in used)
    return ", ".join(model if count == 1 else f"{count} x {model}"
                     for model, count in sorted(models.items()))
