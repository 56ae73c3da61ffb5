"""all-MiniLM-L6-v2 with its dense layers in 8-bit integers: which scale each of their inputs takes, and how that is found.

A matrix product in integers needs inputs that fill −128…127 evenly, and a few channels of BERT's are far larger than the
rest. So each channel is divided by a factor of its own, which the weights that meet it are multiplied by (Xiao et al. 2023,
"SmoothQuant"): the product stays the same, and what is rounded is even. Weights are rounded per output channel.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sitt_core.embedding.converted import Say, converted, say_on_stderr
from sitt_core.embedding.minilm import (
    LIMIT,
    STEP,
    WEIGHTS_SHA256,
    MiniLM,
    assembled,
    bert_graph,
    check_loadable,
    packaged_tokenizer,
    packaged_weights,
)
from sitt_core.errors import ModelError
from sitt_core.types import Matrix

VERSION = 1  # raise it when the same text gets another vector, and whenever calibration.txt changes
ALPHA = 0.7  # how much of the unevenness the weights take over: 0 none, 1 all
LEVELS = 255  # steps of an 8-bit integer
LEAST_COSINE = 0.99  # a processor whose integer products overflow (without VNNI some do) falls far below it
RECIPE = f"weights {WEIGHTS_SHA256}; int8 v{VERSION}; alpha {ALPHA}"


def load_int8(*, models_dir: Path, overlong: str = "windows", say: Say = say_on_stderr) -> MiniLM:
    """The embedder, ready for a question; its ranges are measured at the first use on a machine. Raises `ModelError`."""
    treatment = check_loadable(overlong)
    weights = packaged_weights()
    ranges = converted(models_dir / "minilm-int8.model", recipe=RECIPE, make=lambda: _measured(weights), say=say)
    return _embedder(weights, ranges, treatment)


def _embedder(weights: Mapping[str, Matrix], ranges: Mapping[str, Matrix], overlong: Any) -> MiniLM:
    graph = quantised(bert_graph(weights), ranges)
    return assembled(graph, overlong=overlong, name="minilm-int8", precision=f"int8 v{VERSION}, alpha {ALPHA}")


def calibration_texts() -> list[str]:
    """Sixty-four texts of many kinds, the same on every machine: paragraphs of the field guide and a few oddities."""
    return Path(__file__).with_name("calibration.txt").read_text(encoding="utf-8").rstrip("\n").split("\n")


def _measured(weights: Mapping[str, Matrix]) -> dict[str, Matrix]:
    """The ranges; raises `ModelError` when the model that they make is not close to the float one on this processor."""
    texts = calibration_texts()
    ranges = measure_ranges(weights, texts)
    exact = assembled(bert_graph(weights), overlong="truncate").embed_queries(texts)
    cosine = float(np.sum(_embedder(weights, ranges, "truncate").embed_queries(texts) * exact, axis=1).mean())
    if cosine < LEAST_COSINE:
        raise ModelError(
            expected=f"a mean cosine of {LEAST_COSINE} between the int8 model and the float one",
            got=f"{cosine:.3f} on this processor",
            remedy="Use embedder=minilm here.",
        )
    return ranges


def measure_ranges(weights: Mapping[str, Matrix], texts: Sequence[str]) -> dict[str, Matrix]:
    """The least and greatest value of every channel of every dense layer's input over the texts.

    `low 0`, `high 0` … are numbered as `inputs_of_dense_layers` orders them, each of shape (channels,).
    """
    import openvino

    graph = bert_graph(weights)
    inputs = list(inputs_of_dense_layers(graph))
    graph.add_outputs(inputs)
    # In float32 on every processor, so that every machine finds the same ranges.
    model = openvino.Core().compile_model(graph, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    tokenizer = packaged_tokenizer()
    ranges: dict[str, Matrix] = {}
    for encoding in tokenizer.encode_batch(list(texts)):
        ids = encoding.ids[: LIMIT + 2]
        padded = np.full((1, -(-len(ids) // STEP) * STEP), -1, np.int32)
        padded[0, : len(ids)] = ids
        found = model(padded)
        for number in range(len(inputs)):
            values = found[number + 1][0, : len(ids)]
            low, high = f"low {number}", f"high {number}"
            ranges[low] = np.minimum(ranges.get(low, np.inf), values.min(axis=0))
            ranges[high] = np.maximum(ranges.get(high, -np.inf), values.max(axis=0))
    return ranges


def inputs_of_dense_layers(graph: Any) -> dict[Any, list[Any]]:
    """Every value that is multiplied by constant weights, in the graph's order, with the products that take it."""
    layers: dict[Any, list[Any]] = {}
    for node in graph.get_ordered_ops():
        if node.get_type_name() == "MatMul" and node.input_value(1).get_node().get_type_name() == "Constant":
            layers.setdefault(node.input_value(0), []).append(node)
    return layers


def quantised(graph: Any, ranges: Mapping[str, Matrix]) -> Any:
    """The float graph, changed: dense layers take rounded inputs and 8-bit weights, which OpenVINO then multiplies as integers."""
    from openvino import opset13 as op

    for number, (value, products) in enumerate(inputs_of_dense_layers(graph).items()):
        low, high = ranges[f"low {number}"], ranges[f"high {number}"]
        matrices = [product.input_value(1).get_node().data for product in products]
        factors = smoothing(low, high, matrices)
        least, most = whole_range(float((low / factors).min()), float((high / factors).max()))
        smooth = op.multiply(value, op.constant((1 / factors).astype(np.float32).reshape(1, 1, -1)))
        bounds = [op.constant(np.full((1, 1, 1), bound, np.float32)) for bound in (least, most)]
        rounded = op.fake_quantize(smooth, *bounds, *bounds, LEVELS + 1)
        for product, matrix in zip(products, matrices, strict=True):
            integers, steps = rounded_weights(matrix * factors)
            product.input(0).replace_source_output(rounded.output(0))
            product.input(1).replace_source_output(op.multiply(op.convert(op.constant(integers), "f32"), op.constant(steps)).output(0))
    graph.validate_nodes_and_infer_types()
    return graph


def smoothing(low: Matrix, high: Matrix, matrices: Sequence[Matrix]) -> Matrix:
    """What each channel is divided by, shape (channels,): max|x|^α / max|w|^(1−α), over all matrices that take the input."""
    inputs = np.maximum(np.maximum(np.abs(low), np.abs(high)), 1e-5)
    weights = np.maximum(np.max([np.abs(matrix).max(axis=0) for matrix in matrices], axis=0), 1e-5)
    return np.asarray(inputs**ALPHA / weights ** (1 - ALPHA), np.float32)


def whole_range(low: float, high: float) -> tuple[float, float]:
    """The range moved so that zero is one of its steps: a zero that is rounded would shift every product."""
    low, high = min(low, 0.0), max(high, 0.0)
    step = (high - low) / LEVELS
    below = round(-low / step)
    return -below * step, (LEVELS - below) * step


def rounded_weights(matrix: Matrix) -> tuple[Any, Matrix]:
    """A matrix (outputs, inputs) as integers from −127 to 127 of that shape, and the step of each output, shape (outputs, 1)."""
    steps = np.maximum(np.abs(matrix).max(axis=1, keepdims=True) / 127, 1e-12).astype(np.float32)
    return np.rint(matrix / steps).astype(np.int8), steps
