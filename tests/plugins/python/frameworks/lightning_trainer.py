"""Lightning's Trainer, which starts the second rank itself.

    python lightning_trainer.py ddp | fsdp2
"""

import sys

import lightning
import torch
from common import BATCH, STEPS, Tokens, gpt2, print_digest
from lightning.pytorch.strategies import ModelParallelStrategy


class Gpt2(lightning.LightningModule):
    def __init__(self, is_sharded):
        super().__init__()
        self._is_sharded, self.model = is_sharded, gpt2()

    def configure_model(self):
        if self._is_sharded:
            from torch.distributed.fsdp import fully_shard
            mesh = self.device_mesh["data_parallel"]
            for block in self.model.transformer.h:
                fully_shard(block, mesh=mesh)
            fully_shard(self.model, mesh=mesh)

    def training_step(self, batch, _):
        loss = self.model(**batch).loss
        self.log("loss", loss)
        return loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-3)


def strategy_of(kind):
    if kind == "fsdp2":
        return ModelParallelStrategy(data_parallel_size=2, tensor_parallel_size=1)
    return "ddp"


def main():
    kind = sys.argv[1]
    trainer = lightning.Trainer(
        accelerator="cpu", devices=2, strategy=strategy_of(kind), max_steps=STEPS, logger=False,
        enable_checkpointing=False, enable_progress_bar=False, gradient_clip_val=1.0)
    module = Gpt2(kind == "fsdp2")
    data = torch.utils.data.DataLoader(Tokens(), batch_size=BATCH)
    trainer.fit(module, data)
    print_digest(module)


main()
