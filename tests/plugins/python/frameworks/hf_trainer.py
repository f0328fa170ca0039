"""Hugging Face's Trainer, which clips gradients and writes checkpoints.

    torchrun --nproc-per-node 2 hf_trainer.py ddp | fsdp1 | fsdp2
"""

import sys
import tempfile

from common import BATCH, STEPS, Tokens, gpt2, print_digest
from sharding import on_processors
from transformers import Trainer, TrainingArguments


def sharded(kind):
    return {"fsdp": True, "fsdp_config": {
        "version": int(kind[-1]), "transformer_layer_cls_to_wrap": ["GPT2Block"],
        "sync_module_states": False}}


def main():
    kind = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder, use_cpu=True, ddp_backend="gloo", max_steps=STEPS, seed=1,
            per_device_train_batch_size=BATCH, dataloader_pin_memory=False, report_to=[],
            logging_steps=STEPS // 2, disable_tqdm=True, save_only_model=True, save_steps=STEPS // 2,
            # With the first FSDP on processors PyTorch itself ends with SIGSEGV as it gathers them.
            save_strategy="no" if kind == "fsdp1" else "steps",
            **(sharded(kind) if kind != "ddp" else {}))
        if arguments.device and kind != "ddp":
            on_processors()
        trainer = Trainer(model=gpt2(), train_dataset=Tokens(), args=arguments)
        trainer.train()
        print_digest(trainer.model_wrapped)


main()
