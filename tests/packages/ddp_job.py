"""A PyTorch job with several buckets, which knows nothing of hocket."""

import torch
from torch.nn.parallel import DistributedDataParallel

WIDTH, LAYERS, STEPS = 1024, 10, 150

torch.distributed.init_process_group("gloo")
torch.set_num_threads(1)
torch.manual_seed(torch.distributed.get_rank())
model = DistributedDataParallel(torch.nn.Sequential(
    *[torch.nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS)]))
optimizer = torch.optim.SGD(model.parameters(), 0.01)
for _ in range(STEPS):
    optimizer.zero_grad()
    model(torch.randn(4, WIDTH)).square().mean().backward()
    optimizer.step()
torch.distributed.destroy_process_group()
