#!/usr/bin/env python3
"""PyTorch's scaled_dot_product_attention on the CPU: the fused kernel (flash) and the one that holds all scores (math).

Needs: pip install torch numpy (on PyPI a CUDA build of 5.4 GB; peers/README.md).
"""

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from attnscale_worker import Unsupported, Worker

worker = Worker()
torch.set_grad_enabled(False)


def attention(problem, backend):
    if problem.causal and problem.queries != problem.keys:
        raise Unsupported("PyTorch aligns the causal mask top left when there are more keys than queries")
    torch.set_num_threads(problem.threads)
    q, k, v = (torch.from_numpy(array) for array in (problem.q, problem.k, problem.v))
    grouped = problem.heads != problem.kv_heads

    def call():
        with sdpa_kernel(backend):
            return scaled_dot_product_attention(q, k, v, is_causal=problem.causal, scale=problem.scale,
                                                enable_gqa=grouped)

    return call


@worker.method("torch.flash", like="exact.streaming", summary="scaled_dot_product_attention of PyTorch, flash kernel",
               causal=True, gqa=True)
def flash(problem):
    if problem.dim != problem.value_dim:
        raise Unsupported("PyTorch's flash kernel wants values as wide as keys")
    return attention(problem, SDPBackend.FLASH_ATTENTION)


@worker.method("torch.math", like="exact.materialized", summary="scaled_dot_product_attention of PyTorch, math",
               causal=True, gqa=True)
def math(problem):
    return attention(problem, SDPBackend.MATH)


worker.serve()
