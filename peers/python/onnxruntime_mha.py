#!/usr/bin/env python3
"""ONNX Runtime's MultiHeadAttention on the CPU: one node, fp32, its tensors bound beforehand.

The operator wants (batch, rows, heads * width), so inputs are laid out that way before the timing, and the output
afterwards. Needs: pip install onnxruntime onnx numpy.
"""

import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper

from attnscale_worker import Unsupported, Worker

worker = Worker()


def model(problem):
    node = helper.make_node("MultiHeadAttention", ["q", "k", "v"], ["o"], domain="com.microsoft",
                            num_heads=problem.heads, scale=problem.scale, unidirectional=int(problem.causal))
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in
              (("q", [problem.batch, problem.queries, problem.heads * problem.dim]),
               ("k", [problem.batch, problem.keys, problem.heads * problem.dim]),
               ("v", [problem.batch, problem.keys, problem.heads * problem.value_dim]))]
    output = helper.make_tensor_value_info(
        "o", TensorProto.FLOAT, [problem.batch, problem.queries, problem.heads * problem.value_dim])
    graph = helper.make_graph([node], "attention", inputs, [output])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()


def joined(array):
    """(batch, heads, rows, width) as (batch, rows, heads * width)."""
    batch, heads, rows, width = array.shape
    return np.ascontiguousarray(array.transpose(0, 2, 1, 3)).reshape(batch, rows, heads * width)


@worker.method("onnxruntime.mha", like="exact.streaming", summary="MultiHeadAttention of ONNX Runtime, CPU", causal=True)
def mha(problem):
    if problem.causal and problem.queries != problem.keys:
        raise Unsupported("ONNX Runtime aligns the causal mask otherwise when there are more keys than queries")
    options = ort.SessionOptions()
    options.intra_op_num_threads = problem.threads
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    session = ort.InferenceSession(model(problem), options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    inputs = [joined(problem.q), joined(problem.k), joined(problem.v)]
    for name, array in zip("qkv", inputs):
        binding.bind_ortvalue_input(name, ort.OrtValue.ortvalue_from_numpy(array))
    output = ort.OrtValue.ortvalue_from_numpy(
        np.zeros((problem.batch, problem.queries, problem.heads * problem.value_dim), np.float32))
    binding.bind_ortvalue_output("o", output)
    shape = (problem.batch, problem.queries, problem.heads, problem.value_dim)

    def call():
        session.run_with_iobinding(binding)
        return LazyOutput(output, shape)

    return call


class LazyOutput:
    """The output in our layout, made when it is copied and not when it is timed."""

    def __init__(self, value, shape):
        self.value, self.shape = value, shape

    def __array__(self, dtype=None, copy=None):
        return self.value.numpy().reshape(self.shape).transpose(0, 2, 1, 3)


worker.serve()
