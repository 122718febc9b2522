"""Makes a worker for attnscale in a few lines of Python. Needs the standard library and numpy.

    from attnscale_worker import Worker

    worker = Worker()

    @worker.method("mine.exact", like="exact.streaming", causal=True)
    def prepare(problem):                 # a Problem: sizes, scale, and q, k, v, out as numpy arrays
        def call():                       # what is timed
            problem.out[...] = ...        # or return the output, which is then copied after the timing
        return call

    worker.serve()

`attnscale run --worker 'python3 mine.py' --methods exact.streaming mine.exact --n 1024` verifies and times it. The
protocol is described in docs/workers.md.
"""

import gc
import json
import mmap
import os
import sys
import time
import traceback

import numpy as np

PROTOCOL = 1


class Unsupported(Exception):
    """Raised in `prepare` for a problem that cannot be done; the text becomes the reason in the row."""


class Problem:
    """One problem. Arrays are (batch, heads, rows, width) views of shared memory, float32.

    q, k, v: inputs; k and v have kv_heads heads. out: the output. lse: log-sum-exp of each row (batch, heads, queries),
    natural log, or None when the method does not offer it. visible: the pattern as bits, (heads, queries,
    ceil(keys / 8)) bytes, lowest bit first, or None when the method did not ask for it.
    """

    def __init__(self, message):
        self.method = message["method"]
        self.params = message["params"]  # texts, as in {"w": "256"}
        for name in ("batch", "heads", "kv_heads", "queries", "keys", "dim", "value_dim", "scale", "seed", "threads"):
            setattr(self, name, message[name])
        self.causal = message["mask"] == "causal"
        memory = message["memory"]
        descriptor = os.open("/dev/shm" + memory["name"], os.O_RDWR)
        try:
            self._memory = mmap.mmap(descriptor, memory["bytes"])
        finally:
            os.close(descriptor)
        tensors = message["tensors"]
        self.q, self.k, self.v, self.out = (self._array(tensors[name]) for name in "qkvo")
        self.lse = self._array(tensors["lse"]) if "lse" in tensors else None
        self.visible = self._array(tensors["visible"], np.uint8) if "visible" in tensors else None

    def _array(self, tensor, kind=np.float32):
        shape = tensor["shape"]
        count = int(np.prod(shape))
        return np.frombuffer(self._memory, kind, count, tensor["offset"]).reshape(shape)

    def allowed(self):
        """The causal mask as a (queries, keys) array of bools, aligned bottom right; None without a mask."""
        if not self.causal:
            return None
        positions = np.arange(self.queries)[:, None] + (self.keys - self.queries)
        return np.arange(self.keys)[None, :] <= positions


class Worker:
    def __init__(self):
        self._offers = []
        self._prepare = {}
        self._problem = None
        self._call = None

    def method(self, name, like, summary="", causal=False, gqa=False, lse=False, visible=False):
        """Decorates the function that prepares a problem and returns what is to be timed.

        like: the method of attnscale whose definition this one follows; it brings parameters and the visible keys.
        causal, gqa: whether it does a causal mask, and fewer key/value heads than query heads. lse: whether it writes
        problem.lse. visible: whether it wants problem.visible.
        """

        def register(prepare):
            self._offers.append({"name": name, "like": like, "summary": summary, "causal": causal, "gqa": gqa,
                                 "lse": lse, "visible": visible})
            self._prepare[name] = prepare
            return prepare

        return register

    def serve(self):
        """Answers until the other side goes. Whatever else is printed goes to stderr."""
        answers = os.fdopen(os.dup(1), "w", buffering=1)
        os.dup2(2, 1)

        def answer(**message):
            answers.write(json.dumps(message) + "\n")
            answers.flush()

        answer(type="hello", protocol=PROTOCOL, methods=self._offers)
        for line in iter(sys.stdin.readline, ""):
            message = json.loads(line)
            if message["type"] == "quit":
                break
            try:
                answer(id=message["id"], **self._handle(message))
            except Unsupported as reason:
                answer(type="unsupported", id=message["id"], reason=str(reason))
            except Exception as error:  # whatever a library throws is an answer too
                traceback.print_exc()
                answer(type="error", id=message["id"], reason=f"{type(error).__name__}: {error}")

    def _handle(self, message):
        if message["type"] == "problem":
            self._problem = Problem(message)
            self._call = self._prepare[message["method"]](self._problem)
            self._store(self._call())  # compilation and first use of memory are not part of any time
            return {"type": "ready", "output": list(self._problem.out.shape)}
        if message["type"] == "run":
            return {"type": "times", "ns": self._run(message["iterations"])}
        self._problem = self._call = None
        gc.collect()
        return {"type": "released"}

    def _run(self, iterations):
        call, clock = self._call, time.perf_counter_ns
        times = []
        gc.disable()
        for _ in range(iterations):
            start = clock()
            result = call()
            times.append(clock() - start)
        gc.enable()
        self._store(result)
        return times

    def _store(self, result):
        if result is not None:
            self._problem.out[...] = result
