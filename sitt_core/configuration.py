"""The one Configuration: every switch of the engine, its allowed values, and the keys derived from them."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Literal

from sitt_core.errors import InvalidInput, shown

Value = str | int | float
Role = Literal["index", "retrieval", "view", "answer"]

MAX_TOP_K = 100
MAX_CANDIDATES = 1000
MAX_NAME = 300


@dataclass(frozen=True, slots=True)
class Field:
    """One switch: its dotted name everywhere outside Python, what it takes, and what a change of it touches."""

    name: str
    attribute: str
    role: Role
    label: str
    help: str
    choices: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    real: bool = False
    least: int = 0
    most: int = 0
    free: bool = False

    @property
    def allowed(self) -> str:
        """The allowed values, as an error or a help text names them; `hidden` choices, which are for tests, are not named."""
        if self.free:
            return f"a name of 1 to {MAX_NAME} printable characters"
        if self.choices:
            return " | ".join([*self.choices, *(f"{prefix}NAME" for prefix in self.prefixes)])
        return f"a {'' if self.real else 'whole '}number from {self.least} to {self.most}"

    @property
    def variable(self) -> str:
        """The environment variable that sets this field's default."""
        return VARIABLES.get(self.name) or "SITT_" + self.name.upper().replace(".", "_")


@dataclass(frozen=True, slots=True)
class Sizing:
    """What size and overlap mean for a chunking strategy, and their defaults."""

    size: int
    size_unit: str
    overlap: int
    overlap_unit: str


SIZING: dict[str, Sizing] = {
    "structural": Sizing(500, "tokens", 1, "paragraphs"),
    "sentence": Sizing(1024, "characters", 0, "characters"),
    "fixed": Sizing(256, "tokens", 32, "tokens"),
    "semantic": Sizing(500, "tokens", 0, "sentences"),
    "whole": Sizing(8000, "tokens", 0, "tokens"),  # not applied: a document is a chunk, however long
}
UNSIZED = ("whole",)
MODELS: dict[str, str] = {
    "extractive": "minilm",
    "claude": "claude-sonnet-5-5",
    "openai": "gpt-5.4-mini",
    "groq": "openai/gpt-oss-120b",
    "ollama": "llama3.2",
    "custom": "default",
}
"""The providers of answers, and the model of each that is asked when none is named."""
PROVIDER_KEYS: dict[str, str] = {"claude": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY", "groq": "GROQ_API_KEY"}
"""The variable that holds each paid provider's key, in the order in which a present key makes its provider the default."""
VARIABLES = {"answer.provider": "LLM_PROVIDER", "answer.model": "LLM_MODEL"}
"""Fields whose default has an environment variable with a name that other tools use too."""
EMBEDDERS = ("minilm", "minilm-int8", "static-minilm")

FIELDS: tuple[Field, ...] = (
    Field("chunking.strategy", "chunking_strategy", "index", "Chunking", "Where documents are cut.", tuple(SIZING)),
    Field("chunking.size", "chunking_size", "index", "Size", "The most a chunk may hold, overlap included.", least=1, most=8000),
    Field("chunking.overlap", "chunking_overlap", "index", "Overlap", "How much of a chunk its successor repeats.", least=0, most=4000),
    Field(
        "chunking.header",
        "chunking_header",
        "index",
        "Header",
        "Title › headings before the text in what is embedded and indexed.",
        ("on", "off"),
    ),
    Field(
        "chunking.embedder",
        "chunking_embedder",
        "index",
        "Breakpoint embedder",
        "For semantic chunking: whose vectors of sentences are compared, whatever the index is embedded with.",
        EMBEDDERS,
        hidden=("hash",),
    ),
    Field(
        "chunking.breakpoint",
        "chunking_breakpoint",
        "index",
        "Breakpoint",
        "For semantic chunking: cut where the distance to the next sentence exceeds this percentile of the document's distances.",
        least=50,
        most=99,
    ),
    Field(
        "embedder",
        "embedder",
        "index",
        "Embedder",
        "The model that turns texts into vectors; st:NAME is any sentence-transformers model by hub name or folder.",
        EMBEDDERS,
        prefixes=("st:",),
        hidden=("hash",),
    ),
    Field(
        "overlong",
        "overlong",
        "index",
        "Long texts",
        "Texts above the embedder's limit: averaged windows, or cut.",
        ("windows", "truncate"),
    ),
    Field("dense", "dense", "retrieval", "Dense", "Rank by cosine similarity of vectors.", ("exact", "hnsw", "off")),
    Field("hnsw.m", "hnsw_m", "index", "HNSW M", "Links of each vector in the graph.", least=2, most=64),
    Field(
        "hnsw.ef_construction",
        "hnsw_ef_construction",
        "index",
        "HNSW ef construction",
        "Candidates while the graph is built.",
        least=8,
        most=1000,
    ),
    Field("hnsw.ef_search", "hnsw_ef_search", "retrieval", "HNSW ef search", "Candidates while the graph is searched.", least=8, most=1000),
    Field("keyword", "keyword", "retrieval", "Keyword", "Rank by BM25 over shared words.", ("bm25s", "rank-bm25", "off")),
    Field(
        "keyword.stopwords",
        "keyword_stopwords",
        "index",
        "Stop words",
        "The words that keyword search leaves out: a long list with what questions begin with, or Lucene's short one (English has both).",
        ("long", "short"),
    ),
    Field("fusion", "fusion", "retrieval", "Fusion", "How the two rankings become one.", ("rrf", "convex")),
    Field(
        "fusion.alpha",
        "fusion_alpha",
        "retrieval",
        "Convex alpha",
        "Convex fusion: the weight of dense; keyword has the rest.",
        real=True,
        least=0,
        most=1,
    ),
    Field("fusion.k", "fusion_k", "retrieval", "RRF k", "Reciprocal rank fusion: 1 / (k + rank).", least=1, most=1000),
    Field(
        "fusion.candidates",
        "fusion_candidates",
        "retrieval",
        "Candidates",
        "How many chunks each retriever hands over.",
        least=1,
        most=MAX_CANDIDATES,
    ),
    Field("top_k", "top_k", "view", "Top K", "How many passages are shown, and answered from.", least=1, most=MAX_TOP_K),
    Field(
        "answer.provider",
        "answer_provider",
        "answer",
        "Answers by",
        "Who writes the answer: sentences taken from the passages without any key, Claude, or a server that speaks OpenAI's protocol.",
        tuple(MODELS),
    ),
    Field("answer.model", "answer_model", "answer", "Model", "The provider's model.", free=True),
    Field("answer.prompt", "answer_prompt", "answer", "Prompt", "Which version of the instructions a model is given.", ("v1",)),
)
BY_NAME: dict[str, Field] = {field.name: field for field in FIELDS}


@dataclass(frozen=True, slots=True)
class Configuration:
    """A frozen value whose every field is one switch; always valid, since only `configure` makes one.

    `chunking_size` and `chunking_overlap` are in the strategy's own units (`SIZING`).
    """

    chunking_strategy: str = "structural"
    chunking_size: int = 500
    chunking_overlap: int = 1
    chunking_header: str = "on"
    chunking_embedder: str = "minilm"
    chunking_breakpoint: int = 90
    embedder: str = "minilm"
    overlong: str = "windows"
    dense: str = "exact"
    hnsw_m: int = 24
    hnsw_ef_construction: int = 200
    hnsw_ef_search: int = 320
    keyword: str = "bm25s"
    keyword_stopwords: str = "long"
    fusion: str = "rrf"
    fusion_alpha: float = 0.5
    fusion_k: int = 60
    fusion_candidates: int = 50
    top_k: int = 5
    answer_provider: str = "extractive"
    answer_model: str = MODELS["extractive"]
    answer_prompt: str = "v1"

    def __getitem__(self, name: str) -> Value:
        """The value of a field by its dotted name."""
        value: Value = getattr(self, BY_NAME[name].attribute)
        return value

    def to_dict(self) -> dict[str, Value]:
        """Every field by its dotted name, in the order of `FIELDS`."""
        return {field.name: self[field.name] for field in FIELDS}

    @property
    def index_key(self) -> str:
        """Names the index this configuration needs: 12 hex digits over the index fields.

        A graph with the default parameters is part of the plain index (every large one has it), so they are left out.
        """
        named = [field for field in FIELDS if field.role == "index" and not (field.name in GRAPH and self[field.name] == GRAPH[field.name])]
        return self._key(named)

    @property
    def chunking_key(self) -> str:
        """Names the chunking alone: part of every chunk's identity."""
        return self._key([field for field in FIELDS if field.name.startswith("chunking.")])

    @property
    def retrieval_key(self) -> str:
        """Names what decides the ranking; runs that differ only in how much they show, or in who answers, share it."""
        return self._key([field for field in FIELDS if field.role not in ("view", "answer")])

    @property
    def key(self) -> str:
        """Names the whole configuration."""
        return self._key(FIELDS)

    def _key(self, named: Iterable[Field]) -> str:
        """A hash over the named fields that apply: one that changes nothing does not change a key, nor one that is added later."""
        values = {
            field.name: self[field.name] for field in named if applies(field.name, self) and self[field.name] != UNSAID.get(field.name)
        }
        return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:12]

    @property
    def mode(self) -> str:
        """`hybrid`, `dense`, `keyword` or `none`: which retrievers are on."""
        on = (self.dense != "off", self.keyword != "off")
        return {(True, True): "hybrid", (True, False): "dense", (False, True): "keyword", (False, False): "none"}[on]

    @property
    def slug(self) -> str:
        """A readable name, such as `structural-500·minilm·hybrid·k5`; it need not tell every field."""
        size = "" if self.chunking_strategy in UNSIZED else f"-{self.chunking_size}"
        return f"{self.chunking_strategy}{size}·{self.embedder}·{self.mode}·k{self.top_k}"


GRAPH: dict[str, Value] = {"hnsw.m": 24, "hnsw.ef_construction": 200}
"""What every HNSW graph is built with unless asked otherwise (docs/decisions/hnsw.md)."""
UNSAID: dict[str, Value] = {"answer.provider": "extractive", "keyword.stopwords": "long"}
"""Values that are in no key: what was the case before the field was added, so that older keys and links keep their meaning."""


def applies(name: str, configuration: Configuration) -> bool:
    """Whether a field makes any difference, given the others; one that does not is greyed out and in no key."""
    if name in ("chunking.embedder", "chunking.breakpoint"):
        return configuration.chunking_strategy == "semantic"
    if name.startswith("hnsw."):
        return configuration.dense == "hnsw"
    if name == "fusion":
        return configuration.mode == "hybrid"
    if name in ("fusion.alpha", "fusion.k"):
        return configuration.mode == "hybrid" and configuration.fusion == ("convex" if name == "fusion.alpha" else "rrf")
    if name in ("answer.model", "answer.prompt"):
        return configuration.answer_provider != "extractive"
    return True


def parse_field(name: str, value: object) -> Value:
    """A field's value from text or JSON; raises InvalidInput naming the allowed ones."""
    field = BY_NAME.get(name)
    if field is None:
        raise InvalidInput(expected=f"one of the fields {', '.join(BY_NAME)}", got=shown(name), remedy="Check the field's name.")
    parsed = _one_of(field, value) if field.choices else _name(value) if field.free else _number(field, value)
    if parsed is not None:
        return parsed
    raise InvalidInput(expected=f"{name} to be {field.allowed}", got=shown(value), remedy=f"Set {name} to an allowed value.")


def _one_of(field: Field, value: object) -> str | None:
    if not isinstance(value, str):
        return None
    if value in field.choices or value in field.hidden:
        return value
    named = any(value.startswith(prefix) and value.removeprefix(prefix).strip() for prefix in field.prefixes)
    return _name(value) if named else None


def _name(value: object) -> str | None:
    if not isinstance(value, str) or not value.strip():
        return None
    return value if len(value) <= MAX_NAME and value.isprintable() else None


def _number(field: Field, value: object) -> int | float | None:
    # At most 9 digits: Python refuses to convert thousands of them.
    pattern, convert = (r"[0-9]{0,9}\.?[0-9]{1,9}", float) if field.real else (r"[0-9]{1,9}", int)
    number = convert(value) if isinstance(value, str) and re.fullmatch(pattern, value.strip()) else value
    kinds = (int, float) if field.real else (int,)
    if not isinstance(number, kinds) or isinstance(number, bool) or not field.least <= number <= field.most:
        return None
    # Four decimals, so that a real number's text, as links and --set hold it, is the number again.
    return round(float(number), 4) if field.real else number


def configure(changes: Mapping[str, object], base: Configuration | None = None) -> Configuration:
    """`base` (default: the defaults) with `changes` by dotted name, checked as a whole.

    A new strategy brings its own size and overlap, and a new provider its model, unless the changes give them. Raises InvalidInput.
    """
    base = base or Configuration()
    values = {name: parse_field(name, value) for name, value in changes.items()}
    strategy = values.get("chunking.strategy", base.chunking_strategy)
    if strategy != base.chunking_strategy:
        sizing = SIZING[str(strategy)]
        values = {"chunking.size": sizing.size, "chunking.overlap": sizing.overlap, **values}
    if strategy in UNSIZED:
        sizing = SIZING[str(strategy)]
        values = {**values, "chunking.size": sizing.size, "chunking.overlap": sizing.overlap}
    provider = values.get("answer.provider", base.answer_provider)
    if provider != base.answer_provider:
        values = {"answer.model": MODELS[str(provider)], **values}
    if provider == "extractive":
        values = {**values, "answer.model": MODELS["extractive"]}
    made = replace(base, **{BY_NAME[name].attribute: value for name, value in values.items()})  # type: ignore[arg-type]
    _check_together(made)
    return made


def _check_together(made: Configuration) -> None:
    """The rules between fields; K above the candidates and overlap ≥ size are named errors."""
    sizing = SIZING[made.chunking_strategy]
    if sizing.overlap_unit == sizing.size_unit and made.chunking_overlap >= made.chunking_size:
        raise InvalidInput(
            expected=f"chunking.overlap below chunking.size ({made.chunking_size} {sizing.size_unit})",
            got=str(made.chunking_overlap),
            remedy="Lower the overlap or raise the size.",
        )
    if made.top_k > made.fusion_candidates:
        raise InvalidInput(
            expected=f"top_k of at most fusion.candidates ({made.fusion_candidates})",
            got=str(made.top_k),
            remedy="Lower top_k or raise fusion.candidates.",
        )


def require_retriever(configuration: Configuration) -> None:
    """Raises InvalidInput when neither retriever is on: there is nothing to rank by."""
    if configuration.mode == "none":
        raise InvalidInput(
            expected="dense or keyword to be on",
            got="dense=off, keyword=off",
            remedy="Set dense=exact, or keyword=bm25s or rank-bm25.",
        )


def configure_leniently(changes: Mapping[str, object], base: Configuration) -> tuple[Configuration, tuple[str, ...]]:
    """As `configure`, for links: keeps what is good and returns a sentence for each field that was dropped."""
    good: dict[str, object] = {}
    dropped: list[str] = []
    for name, value in changes.items():
        try:
            good[name] = parse_field(name, value)
        except InvalidInput as error:
            dropped.append(f"{name}: expected {error.expected}; got {error.got}")
    while clash := _contradiction(good, base):
        # Of the fields without which this contradiction would not stand, the last one of FIELDS gives way.
        without = {name: {other: value for other, value in good.items() if other != name} for name in BY_NAME if name in good}
        name = next(name for name in reversed(without) if str(_contradiction(without[name], base)) != str(clash))
        dropped.append(f"{name}: expected {clash.expected}; got {clash.got}")
        good = without[name]
    return configure(good, base), tuple(dropped)


def _contradiction(changes: Mapping[str, object], base: Configuration) -> InvalidInput | None:
    try:
        configure(changes, base)
    except InvalidInput as error:
        return error
    return None


def from_environment(environment: Mapping[str, str]) -> Configuration:
    """The defaults, with each variable that names a field applied; raises InvalidInput naming the variable.

    The provider of answers is the first that has a key, unless LLM_PROVIDER names one.
    """
    with_key = (provider for provider, key in PROVIDER_KEYS.items() if environment.get(key, "").strip())
    changes: dict[str, object] = {"answer.provider": next(with_key, "extractive")}
    for field in FIELDS:
        if environment.get(field.variable, "").strip():
            try:
                changes[field.name] = parse_field(field.name, environment[field.variable].strip())
            except InvalidInput as error:
                raise InvalidInput(
                    expected=f"{field.variable} to be {field.allowed}", got=error.got, remedy="Correct it in the environment or in .env."
                ) from None
    try:
        return configure(changes)
    except InvalidInput as error:
        variables = ", ".join(BY_NAME[name].variable for name in changes if environment.get(BY_NAME[name].variable, "").strip())
        raise InvalidInput(expected=error.expected, got=error.got, remedy=f"Correct {variables} in the environment or in .env.") from None


assert {field.attribute for field in FIELDS} == {field.name for field in fields(Configuration)}
