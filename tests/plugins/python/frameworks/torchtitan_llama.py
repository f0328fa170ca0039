"""torchtitan's debug model of Llama 3, with its Trainer, which clips gradients.

    torchrun --nproc-per-node 2 torchtitan_llama.py replicas | fsdp2

torchtitan knows accelerators alone, and imports Triton. Everything else runs on processors: they get
a module such as accelerators have in PyTorch, with which it counts memory. The tokens are random.
"""

import itertools
import sys
import tempfile
import types
from dataclasses import dataclass

import torch
import torchtitan.tools.utils as utils
from common import BATCH, LENGTH, STEPS, VOCABULARY, print_digest
from torch.distributed.fsdp import FSDPModule


class Processors(types.ModuleType):
    get_device_name = staticmethod(lambda _: "CPU")
    get_device_properties = staticmethod(lambda _: types.SimpleNamespace(total_memory=1 << 30))
    memory_stats = staticmethod(lambda _: {})
    reset_peak_memory_stats = empty_cache = staticmethod(lambda: None)
    current_device = staticmethod(lambda: 0)

    def __getattr__(self, name):
        return getattr(torch.cpu, name)


# Before its other modules take them from here.
utils.device_type, utils.device_module = "cpu", Processors("cpu")

import torchtitan.distributed.utils as dist_utils  # noqa: E402
from torchtitan.components.dataloader import BaseDataLoader  # noqa: E402
from torchtitan.components.tokenizer import BaseTokenizer  # noqa: E402
from torchtitan.models.common import ScaledDotProductAttention  # noqa: E402
from torchtitan.models.llama3.config_registry import llama3_debugmodel_ce_loss  # noqa: E402
from torchtitan.tools.logging import init_logger  # noqa: E402


class NoTokenizer(BaseTokenizer):
    @dataclass(kw_only=True, slots=True)
    class Config(BaseTokenizer.Config):
        pass

    def __init__(self, config, **_):
        super().__init__()

    def encode(self, *_, **__):
        return []

    def decode(self, *_, **__):
        return ""

    def get_vocab_size(self):
        return VOCABULARY


class RandomTokens(BaseDataLoader):
    @dataclass(kw_only=True, slots=True)
    class Config(BaseDataLoader.Config):
        pass

    def __init__(self, config, dp_rank, **_):
        self._rank = dp_rank

    def __iter__(self):
        generator = torch.Generator().manual_seed(self._rank)
        for _ in itertools.count():
            tokens = torch.randint(VOCABULARY, (BATCH, LENGTH), generator=generator)
            yield {"input": tokens}, tokens

    def state_dict(self):
        return {}

    def load_state_dict(self, _):
        pass


def configuration(kind, folder):
    config = llama3_debugmodel_ce_loss()
    config.dump_folder = folder
    config.tokenizer, config.dataloader = NoTokenizer.Config(), RandomTokens.Config()
    config.training.steps, config.training.seq_len = STEPS, LENGTH
    config.training.local_batch_size = BATCH
    config.training.disable_cuda_graphs = True
    config.training.mixed_precision_param = "float32"
    config.validator.enable = False
    # The default needs a PyTorch that is newer, and the default attention an accelerator.
    config.parallelism.spmd_backend = "partial_dtensor"
    for layer in config.model_spec.model.layers:
        layer.attention.inner_attention = ScaledDotProductAttention.Config()
    config.debug.seed = 0
    config.metrics.log_freq = STEPS // 2
    if kind == "replicas":
        config.parallelism.data_parallel_replicate_degree = 2
    elif kind != "fsdp2":
        sys.exit(f"expected replicas or fsdp2, found {kind}")
    return config


def main():
    init_logger()
    with tempfile.TemporaryDirectory() as folder:
        trainer = configuration(sys.argv[1], folder).build()
        for module in trainer.model_parts[0].modules():
            if isinstance(module, FSDPModule):
                module.set_force_sum_reduction_for_comms(True)  # gloo has no PREMUL_SUM
        # PyTorch 2.13 cannot change the time limits of its groups.
        dist_utils.set_pg_timeouts = lambda **_: None
        trainer.train()
        print_digest(trainer.model_parts[0])
        trainer.close()
    torch.distributed.destroy_process_group()


main()
