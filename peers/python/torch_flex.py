#!/usr/bin/env python3
"""PyTorch's FlexAttention on the CPU, compiled: a sliding window, and BigBird with the very blocks of our method.

The compilation needs a C++ compiler. Needs: pip install torch numpy (on PyPI a CUDA build of 5.4 GB; peers/README.md).
"""

import numpy as np
import torch
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from attnscale_worker import Unsupported, Worker

worker = Worker()
torch.set_grad_enabled(False)
torch._dynamo.config.recompile_limit = 64  # one process meets many shapes


def attention(problem, mask_mod, per_head):
    torch.set_num_threads(problem.threads)
    q, k, v = (torch.from_numpy(array) for array in (problem.q, problem.k, problem.v))
    mask = create_block_mask(mask_mod, None, problem.heads if per_head else None, problem.queries, problem.keys,
                             device="cpu")
    compiled = torch.compile(flex_attention, dynamic=False)
    grouped = problem.heads != problem.kv_heads

    def call():
        return compiled(q, k, v, block_mask=mask, scale=problem.scale, enable_gqa=grouped)

    return call


@worker.method("torch.flex.window", like="window", summary="FlexAttention of PyTorch: a sliding window", causal=True,
               gqa=True)
def window(problem):
    if problem.params["dilation"] != "1" or problem.params["edge"] != "truncate":
        raise Unsupported("only dilation=1 and edge=truncate are written down for FlexAttention")
    w = int(problem.params["w"])
    shift = problem.keys - problem.queries
    causal = problem.causal

    def mask_mod(b, h, i, j):
        position = i + shift
        seen = (j >= position - w) & (j <= position)
        return seen if causal else seen | ((j > position) & (j <= position + w))

    return attention(problem, mask_mod, False)


@worker.method("torch.flex.bigbird", like="bigbird", summary="FlexAttention of PyTorch: BigBird's blocks", gqa=True,
               visible=True)
def bigbird(problem):
    block = int(problem.params["block"])
    # One query and one key stand for their block, since no causal mask cuts through it.
    bits = np.unpackbits(problem.visible[:, ::block], axis=-1, bitorder="little", count=problem.keys)
    table = torch.from_numpy(np.ascontiguousarray(bits[:, :, ::block]).astype(bool))

    def mask_mod(b, h, i, j):
        return table[h, i // block, j // block]

    return attention(problem, mask_mod, True)


worker.serve()
