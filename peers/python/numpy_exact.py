#!/usr/bin/env python3
"""Exact attention in numpy: the example of a worker. It holds all scores at once."""

import numpy as np

from attnscale_worker import Worker

worker = Worker()


@worker.method("numpy.exact", like="exact.materialized", summary="exact attention in numpy", causal=True, gqa=True,
               lse=True)
def exact(problem):
    group = problem.heads // problem.kv_heads
    keys = np.repeat(problem.k, group, axis=1).swapaxes(-1, -2)
    values = np.repeat(problem.v, group, axis=1)
    allowed = problem.allowed()

    def call():
        scores = (problem.q * np.float32(problem.scale)) @ keys
        if allowed is not None:
            scores[..., ~allowed] = -np.inf
        largest = scores.max(axis=-1, keepdims=True)
        largest[np.isneginf(largest)] = 0  # a row that sees no key
        weights = np.exp(scores - largest, out=scores)
        total = weights.sum(axis=-1, keepdims=True)
        np.matmul(weights, values, out=problem.out)
        problem.out /= np.where(total == 0, np.float32(1), total)
        with np.errstate(divide="ignore"):
            problem.lse[...] = (largest + np.log(total))[..., 0]

    return call


worker.serve()
