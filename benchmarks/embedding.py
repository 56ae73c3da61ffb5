"""How fast and how faithful the embedders are that run here, against `SentenceTransformer.encode` as it comes.

    python -m benchmarks.embedding [--texts 500] [--rounds 5] [--seed 0] [--only minilm-int8 …]

All run in turn, round by round, so that a busy machine slows all; ratios are medians over the rounds. One more round
counts processor time, which hardly depends on what else the machine does. Converted models are those of SITT_DATA_DIR,
made when they are not there.
"""

import argparse
import os
import platform
import random
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from pydoc_data.topics import topics

import numpy as np

from sitt_core.build import Workshop
from sitt_core.configuration import configure
from sitt_core.embedding.minilm import PACKAGE, MiniLM, load_minilm
from sitt_core.settings import load_settings
from sitt_core.types import Embedder

SHORTEST, LONGEST = 40, 256  # wordpieces, the two special ones counted
QUESTIONS = (
    "What is the Mothman said to look like?",
    "Which cryptids are reported from lakes in Scotland?",
    "When was the Patterson–Gimlin film made, and by whom?",
    "Is there any physical evidence for the chupacabra?",
    "Name three creatures that later turned out to be real animals.",
)
NAMES = ("minilm", "minilm-int8", "static-minilm")
COLD_REFERENCE = (
    "from importlib import resources; from sentence_transformers import SentenceTransformer as S; "
    f"S(str(resources.files('{PACKAGE}') / 'model')).encode('Is there a Bigfoot?')"
)
COLD_LOADERS = {
    "minilm": "from sitt_core.embedding.minilm import load_minilm; load_minilm()",
    "minilm-int8": "from sitt_core.embedding.int8 import load_int8; load_int8(models_dir=Path({models!r}))",
    "static-minilm": "from sitt_core.embedding.static import load_static; load_static(models_dir=Path({models!r}))",
}


def english_texts(embedder: MiniLM, *, count: int, seed: int) -> list[str]:
    """Cuts from the Python language reference that ships with Python, lengths spread evenly over 40–256 wordpieces."""
    rng = random.Random(seed)
    words = [word for name in sorted(topics) for word in re.sub(r"[*`_]{1,2}|[-=~+|]{3,}", "", topics[name]).split()]
    texts = []
    for _ in range(count):
        wanted = rng.randint(SHORTEST, LONGEST) - 2
        start = rng.randrange(len(words) - LONGEST)
        encoding = embedder.tokenizer.encode(" ".join(words[start : start + wanted]), add_special_tokens=False)
        texts.append(" ".join(words[start : start + wanted])[: encoding.offsets[wanted - 1][1]])
    return texts


def seconds(work: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """How long the work takes by that clock."""
    started = clock()
    work()
    return clock() - started


def cold_start(program: str) -> float:
    """Seconds until a new process has embedded its first question, the interpreter's own start left out."""
    timed = f"import time; started = time.perf_counter(); {program}; print(time.perf_counter() - started)"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", timed], capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


def processor() -> str:
    """The processor's name where the system tells it."""
    info = Path("/proc/cpuinfo")
    names = re.findall(r"model name\s*:\s*(.+)", info.read_text()) if info.exists() else []
    return f"{names[0] if names else platform.processor()}, {os.cpu_count()} cores"


def cold_program(name: str, models_dir: Path) -> str:
    """What a new process runs to embed its first question."""
    return f"from pathlib import Path; {COLD_LOADERS[name].format(models=str(models_dir))}.embed_queries(['Is there a Bigfoot?'])"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--texts", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", choices=NAMES, default=NAMES)
    asked = parser.parse_args()
    os.environ["HF_HUB_OFFLINE"] = "1"

    settings = load_settings()
    workshop = Workshop(settings)
    ours: dict[str, Embedder] = {name: workshop.embedder(configure({"embedder": name})) for name in asked.only}
    programs = [COLD_REFERENCE, *(cold_program(name, settings.models_dir) for name in ours)]
    cold = [[cold_start(program) for program in programs] for _ in range(3)]
    from sentence_transformers import SentenceTransformer

    reference = SentenceTransformer(str(resources.files(PACKAGE) / "model"), device="cpu")
    texts = english_texts(load_minilm(), count=asked.texts, seed=asked.seed)
    theirs = reference.encode(texts)
    vectors = {name: embedder.embed_passages(texts) for name, embedder in ours.items()}
    passages_of = [lambda: reference.encode(texts), *(lambda e=each: e.embed_passages(texts) for each in ours.values())]
    question_of = [reference.encode, *(lambda q, e=each: e.embed_queries([q]) for each in ours.values())]
    for question in QUESTIONS:
        for ask in question_of:
            ask(question)

    passages, questions = [], []
    for _ in range(asked.rounds):
        passages.append([seconds(work) for work in passages_of])
        questions += [[seconds(lambda q=question, a=ask: a(q)) for ask in question_of] for question in QUESTIONS * 10]
    worked = [seconds(work, time.process_time) for work in passages_of]

    print(f"{processor()}; precision {load_minilm().question_model.get_property('INFERENCE_PRECISION_HINT').to_string()}")
    print(f"{len(texts)} texts of {SHORTEST}–{LONGEST} wordpieces, {asked.rounds} rounds in turn, seed {asked.seed}; medians")
    print(f"{'':24}{'sentence-transformers':>22}" + "".join(f"{name:>16}{'ratio':>8}" for name in ours))
    table("texts per second", [[len(texts) / each for each in row] for row in passages])
    table("processor ms per text", [[each * 1e3 / len(texts) for each in worked]])
    table("one question, ms", [[each * 1e3 for each in row] for row in questions])
    table("cold start, s", cold)
    for name, rows in vectors.items():
        if rows.shape == theirs.shape:
            cosines = np.sum(theirs * rows, axis=1)
            print(f"{name}: cosine to the reference: mean {cosines.mean():.6f}, min {cosines.min():.6f}")
        print(f"{name}: of the reference's ten nearest texts, {shared_neighbours(theirs, rows):.2f} are among its own ten")
    for column, name in enumerate(ours, 1):
        print(f"{name}: passages, ratio in each round:", " ".join(f"{row[0] / row[column]:.2f}" for row in passages))


def shared_neighbours(theirs: np.ndarray, ours: np.ndarray, n: int = 10) -> float:
    """The share of each text's `n` nearest by their vectors that are among the `n` nearest by ours, on average."""
    n = min(n, len(theirs) - 1)
    nearest = []
    for vectors in (theirs, ours):
        similar = vectors @ vectors.T
        np.fill_diagonal(similar, -np.inf)
        nearest.append(np.argsort(-similar, axis=1)[:, :n])
    return float(np.mean([len(set(a) & set(b)) / n for a, b in zip(*nearest, strict=True)]))


def table(label: str, rows: list[list[float]]) -> None:
    """One line: the median of every column, and behind each of ours the median of its ratio to the first."""
    columns = list(zip(*rows, strict=True))
    line = f"{label:24}{statistics.median(columns[0]):22.2f}"
    for column in columns[1:]:
        ratio = statistics.median(b / a for a, b in zip(columns[0], column, strict=True))
        line += f"{statistics.median(column):16.2f}{ratio:8.3g}"
    print(line)


if __name__ == "__main__":
    main()
