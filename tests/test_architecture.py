"""Imports point down one list of layers, and what is slow to import is imported late."""

import ast
import graphlib
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import resolve_name
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

LAYERS = (
    ("app", "pages", "sitt_core.__main__", "evals.__main__"),
    ("sitt_core.surfaces",),
    ("evals",),
    ("sitt_core.build",),
    ("sitt_core.pipeline", "sitt_core.ingest", "sitt_core.anatomy", "sitt_core.whynot"),
    ("sitt_core.retrieval", "sitt_core.answering", "sitt_core.guard", "sitt_core.sources", "sitt_core.plan"),
    ("sitt_core.store",),
    ("sitt_core.chunking", "sitt_core.embedding", "sitt_core.providers"),
    (
        "sitt_core.background",
        "sitt_core.jobs",
        "sitt_core.costs",
        "sitt_core.journal",
        "sitt_core.notes",
        "sitt_core.quotes",
        "sitt_core.text",
        "sitt_core.settings",
        "sitt_core.configuration",
    ),
    ("sitt_core.errors", "sitt_core.types", "sitt_core.look"),
)
"""From top to bottom: a module imports only from layers below its own."""

ONE_PIECE = ("sitt_core.surfaces", "sitt_core.store", "evals")
"""Packages whose modules may import each other; everywhere else siblings do not."""

SIBLINGS = (
    ("sitt_core.settings", "sitt_core.configuration"),
    ("sitt_core.whynot", "sitt_core.pipeline"),
    ("sitt_core.chunking", "sitt_core.chunking.pack"),
    ("sitt_core.chunking", "sitt_core.chunking.header"),
    ("sitt_core.chunking.semantic", "sitt_core.chunking.structural"),
    ("sitt_core.chunking.chunks", "sitt_core.chunking"),
    ("sitt_core.embedding", "sitt_core.embedding.windows"),
    ("sitt_core.embedding", "sitt_core.embedding.converted"),
    ("sitt_core.embedding.int8", "sitt_core.embedding.minilm"),
    ("sitt_core.embedding.static", "sitt_core.embedding.minilm"),
    ("sitt_core.providers", "sitt_core.providers.asking"),
    ("sitt_core.providers", "sitt_core.providers.schemas"),
    ("sitt_core.providers.openai_compatible", "sitt_core.providers.markers"),
    ("sitt_core.providers.openai_compatible", "sitt_core.providers.thinking"),
    ("sitt_core.retrieval.keyword", "sitt_core.retrieval.dense"),
    ("sitt_core.retrieval.align", "sitt_core.retrieval.compare"),
    ("sitt_core.retrieval", "sitt_core.retrieval.words"),
    ("sitt_core.sources.markdown", "sitt_core.sources.outline"),
    ("sitt_core.sources.html", "sitt_core.sources.outline"),
    ("sitt_core.sources.beir", "sitt_core.sources.markdown"),
    ("sitt_core.sources.beir", "sitt_core.sources.outline"),
    ("sitt_core.sources.page", "sitt_core.sources.outline"),
    ("sitt_core.sources.github", "sitt_core.sources.outline"),
    ("sitt_core.sources.parsoid", "sitt_core.sources.outline"),
    ("sitt_core.sources.wikipedia", "sitt_core.sources.outline"),
    ("sitt_core.sources.github", "sitt_core.sources.fetch"),
    ("sitt_core.sources.github", "sitt_core.sources.markdown"),
    ("sitt_core.sources.github", "sitt_core.sources.options"),
    ("sitt_core.sources.sitemap", "sitt_core.sources.fetch"),
    ("sitt_core.sources.sitemap", "sitt_core.sources.options"),
    ("sitt_core.sources.sitemap", "sitt_core.sources.page"),
    ("sitt_core.sources.sitemap", "sitt_core.sources.robots"),
    ("sitt_core.sources.parsoid", "sitt_core.sources.html"),
    ("sitt_core.sources.mediawiki", "sitt_core.sources.fetch"),
    ("sitt_core.sources.wikipedia_list", "sitt_core.sources.html"),
    ("sitt_core.sources.wikipedia_list", "sitt_core.sources.parsoid"),
    ("sitt_core.sources.wikipedia", "sitt_core.sources.fetch"),
    ("sitt_core.sources.wikipedia", "sitt_core.sources.html"),
    ("sitt_core.sources.wikipedia", "sitt_core.sources.mediawiki"),
    ("sitt_core.sources.wikipedia", "sitt_core.sources.parsoid"),
    ("sitt_core.sources.wikipedia", "sitt_core.sources.wikipedia_list"),
    ("sitt_core.sources.fetch", "sitt_core.sources.replies"),
    ("sitt_core.sources.fetch", "sitt_core.sources.wire"),
    ("sitt_core.answering.citations", "sitt_core.answering.prompt"),
    ("sitt_core.answering.citations", "sitt_core.answering.support"),
)
"""The exceptions, as (who, whom): helpers that siblings share, and the one that gathers them."""

RESERVED = {
    "streamlit": ("app", "pages", "sitt_core.surfaces.dashboard", "sitt_core.surfaces.serve"),
    "duckdb": ("sitt_core.store", "evals.results"),
    "sitt_core.embedding": ("sitt_core.build", "sitt_core.embedding"),
    "sitt_core.providers": ("sitt_core.build", "sitt_core.providers"),
    "sitt_core.sources": ("sitt_core.build", "sitt_core.sources"),
    "ragas": ("evals.ragas_scorers",),
}
"""What only some modules may import."""

HEAVY = {
    *("torch", "transformers", "sentence_transformers", "openvino", "tiktoken"),
    *("bm25s", "rank_bm25", "Stemmer", "pyarrow"),
    *("anthropic", "openai", "voyageai", "mcp", "ragas", "trafilatura", "evals.ragas_scorers"),
}
"""What is imported inside the function that needs it."""

WRAPPERS = {("evals.ragas_scorers", "ragas")}
"""Modules that are heavy themselves, for what they derive their classes from."""


@dataclass(frozen=True)
class Import:
    """One imported module: where, and whether importing its importer imports it."""

    target: str
    line: int
    eager: bool


def within(module: str, package: str) -> bool:
    return module == package or module.startswith(package + ".")


def layer_of(module: str) -> int | None:
    return next((depth for depth, names in enumerate(LAYERS) if any(within(module, name) for name in names)), None)


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


PATHS = {
    module_name(path): path
    for place in ("app.py", "pages", "evals", "sitt_core")
    for path in ([ROOT / place] if place.endswith(".py") else sorted((ROOT / place).rglob("*.py")))
    if path.is_file()
}
SOURCES = {module: path.read_text(encoding="utf-8") for module, path in PATHS.items()}


def imports(source: str, module: str) -> Iterator[Import]:
    """Every import of a source, those inside functions and for type checkers too."""

    def visit(node: ast.AST, *, eager: bool) -> Iterator[Import]:
        if isinstance(node, ast.Import):
            yield from (Import(alias.name, node.lineno, eager) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            package = module if PATHS.get(module, Path()).name == "__init__.py" else module.rpartition(".")[0]
            base = resolve_name("." * node.level + (node.module or ""), package) if node.level else str(node.module)
            for alias in node.names:
                inner = f"{base}.{alias.name}"
                yield Import(inner if inner in PATHS or layer_of(inner) != layer_of(base) else base, node.lineno, eager)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for child in node.body:
                yield from visit(child, eager=False)
            for child in node.orelse:
                yield from visit(child, eager=eager)
        else:
            inside = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            for child in ast.iter_child_nodes(node):
                yield from visit(child, eager=eager and not inside)

    yield from visit(ast.parse(source), eager=True)


def violations(source: str, module: str) -> list[str]:
    """What a source imports against the rules, one sentence each."""
    found = []
    for each in imports(source, module):
        where = f"{module}, line {each.line}: {each.target}"
        above, below = layer_of(module), layer_of(each.target)
        if below is not None and (above is None or below < above):
            found.append(f"{where} is in a layer above")
        together = any(within(module, package) and within(each.target, package) for package in ONE_PIECE)
        excepted = any(within(module, who) and within(each.target, whom) for who, whom in SIBLINGS)
        if below is not None and below == above and not together and not excepted:
            found.append(f"{where} is a sibling")
        for name, users in RESERVED.items():
            if within(each.target, name) and not any(within(module, user) for user in users):
                found.append(f"{where} is only for {', '.join(users)}")
        heavy = [name for name in HEAVY if within(each.target, name) and (module, name) not in WRAPPERS]
        if each.eager and heavy:
            found.append(f"{where} is heavy and at the top of the module")
    return found


@pytest.mark.parametrize("module", SOURCES)
def test_imports_follow_the_rules(module: str) -> None:
    """Every module imports only from below, no sibling but the shared helpers, and nothing heavy before it is needed."""
    assert violations(SOURCES[module], module) == []


def test_every_module_has_a_layer() -> None:
    """A new module or package is given its place in the table."""
    assert [module for module in SOURCES if module != "sitt_core" and layer_of(module) is None] == []


def test_types_and_errors_stand_alone() -> None:
    """The vocabulary and the error tree import nothing of ours."""
    for module in ("sitt_core.types", "sitt_core.errors"):
        assert [each.target for each in imports(SOURCES[module], module) if layer_of(each.target) is not None] == []


def test_the_exceptions_are_needed() -> None:
    """No exception outlives the import it was made for."""
    used = {
        (who, whom)
        for module, source in SOURCES.items()
        for each in imports(source, module)
        for who, whom in SIBLINGS
        if within(module, who) and within(each.target, whom)
    }
    assert set(SIBLINGS) - used == set()


def test_no_cycles() -> None:
    """Modules can be put in an order in which each imports only earlier ones."""
    graph = {module: {each.target for each in imports(source, module)} & SOURCES.keys() for module, source in SOURCES.items()}
    for module, targets in graph.items():
        targets.discard(module)
    graphlib.TopologicalSorter(graph).prepare()


@pytest.mark.parametrize(
    ("module", "source", "complaint"),
    [
        pytest.param("sitt_core.types", "from sitt_core.errors import shown", "is a sibling", id="types import nothing"),
        pytest.param("sitt_core.text", "import sitt_core.store.reading", "in a layer above", id="up"),
        pytest.param("sitt_core.store.reading", "from sitt_core import pipeline", "in a layer above", id="up, by name from the package"),
        pytest.param("sitt_core.jobs", "from .build import Workshop", "in a layer above", id="up, relative"),
        pytest.param("sitt_core.text", "def f():\n    from sitt_core import ingest", "in a layer above", id="up, inside a function"),
        pytest.param("sitt_core.pipeline", "from sitt_core.ingest import Plan", "is a sibling", id="pipeline and ingest"),
        pytest.param("sitt_core.retrieval.fusion", "from sitt_core.retrieval import dense", "is a sibling", id="retrievers"),
        pytest.param("sitt_core.chunking.fixed", "from sitt_core.chunking.sentence import spans_sentence", "is a sibling", id="chunkers"),
        pytest.param("sitt_core.sources.markdown", "from sitt_core.guard.fence import fence", "is a sibling", id="source and guard"),
        pytest.param("evals.run", "from sitt_core.surfaces import progress", "in a layer above", id="evals and surfaces"),
        pytest.param("evals.run", "import duckdb", "only for sitt_core.store, evals.results", id="duckdb outside the store"),
        pytest.param("sitt_core.surfaces.cli", "import streamlit as st", "only for app, pages", id="streamlit in the command line"),
        pytest.param(
            "sitt_core.ingest", "from sitt_core.embedding.minilm import Minilm", "only for sitt_core.build", id="concrete embedder"
        ),
        pytest.param("sitt_core.surfaces.cli", "from sitt_core.sources import markdown", "only for sitt_core.build", id="concrete source"),
        pytest.param("sitt_core.text", "import tiktoken", "heavy", id="heavy at the top"),
        pytest.param(
            "sitt_core.text", "try:\n    from bm25s import stopwords\nexcept ImportError:\n    pass", "heavy", id="heavy in a try"
        ),
        pytest.param("sitt_core.text", "class A:\n    import torch", "heavy", id="heavy in a class"),
    ],
)
def test_a_wrong_import_is_reported(module: str, source: str, complaint: str) -> None:
    """The check finds each kind of wrong import, once and on its line."""
    (found,) = violations(source, module)
    assert complaint in found
    assert found.startswith(f"{module}, line ")


@pytest.mark.parametrize(
    ("module", "source"),
    [
        pytest.param("sitt_core.pipeline", "from sitt_core import text, types", id="down"),
        pytest.param(
            "sitt_core.text", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import tiktoken", id="for the type checker"
        ),
        pytest.param("sitt_core.text", "def encoding():\n    import tiktoken", id="inside the function that needs it"),
        pytest.param("sitt_core.surfaces.cli", "from sitt_core.surfaces import as_json", id="within a surface"),
        pytest.param("sitt_core.store.reading", "import duckdb", id="duckdb in the store"),
        pytest.param("sitt_core.text", "import re, numpy", id="light"),
    ],
)
def test_a_right_import_passes(module: str, source: str) -> None:
    """The check lets the imports through that the rules allow."""
    assert violations(source, module) == []


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("import sitt_core.surfaces.cli", id="import of the command line"),
        pytest.param(
            "import contextlib, runpy; sys.argv = ['sitt_core', '--help']\n"
            "with contextlib.suppress(SystemExit): runpy.run_module('sitt_core', run_name='__main__')",
            id="python -m sitt_core --help",
        ),
    ],
)
def test_a_light_start_stays_light(code: str) -> None:
    """The command line and its help import none of the heavy modules."""
    report = f"import sys\n{code}\nprint('loaded:', *sorted({HEAVY!r} & sys.modules.keys()), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", report], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "loaded:\n")
    if "--help" in code:
        assert "Usage" in done.stdout
