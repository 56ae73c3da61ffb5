"""How fast and how faithful the MiniLM embedder is, against `SentenceTransformer.encode` as it comes.

    python -m benchmarks.embedding [--texts 500] [--rounds 5] [--seed 0]

Both run in turn, round by round, so that a busy machine slows both; ratios are medians over the rounds. One more round
counts processor time, which hardly depends on what else the machine does.
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

from sitt_core.embedding.minilm import PACKAGE, MiniLM, load_minilm

SHORTEST, LONGEST = 40, 256  # wordpieces, the two special ones counted
QUESTIONS = (
    "What is the Mothman said to look like?",
    "Which cryptids are reported from lakes in Scotland?",
    "When was the Patterson–Gimlin film made, and by whom?",
    "Is there any physical evidence for the chupacabra?",
    "Name three creatures that later turned out to be real animals.",
)
COLD = (
    "from importlib import resources; from sentence_transformers import SentenceTransformer as S; "
    f"S(str(resources.files('{PACKAGE}') / 'model')).encode('Is there a Bigfoot?')",
    "from sitt_core.embedding.minilm import load_minilm; load_minilm().embed_queries(['Is there a Bigfoot?'])",
)


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


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--texts", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    os.environ["HF_HUB_OFFLINE"] = "1"

    cold = [[cold_start(program) for _ in range(3)] for program in COLD]
    from sentence_transformers import SentenceTransformer

    reference = SentenceTransformer(str(resources.files(PACKAGE) / "model"), device="cpu")
    embedder = load_minilm()
    texts = english_texts(embedder, count=asked.texts, seed=asked.seed)
    theirs, ours = reference.encode(texts), embedder.embed_passages(texts)
    cosines = np.sum(theirs * ours, axis=1)
    for question in QUESTIONS:
        reference.encode(question)
        embedder.embed_queries([question])

    passages, questions = [], []
    for _ in range(asked.rounds):
        passages.append((seconds(lambda: reference.encode(texts)), seconds(lambda: embedder.embed_passages(texts))))
        for question in QUESTIONS * 10:
            questions.append((seconds(lambda q=question: reference.encode(q)), seconds(lambda q=question: embedder.embed_queries([q]))))

    clock = time.process_time
    worked = (seconds(lambda: reference.encode(texts), clock), seconds(lambda: embedder.embed_passages(texts), clock))

    print(f"{processor()}; precision {embedder.question_model.get_property('INFERENCE_PRECISION_HINT').to_string()}")
    print(f"{len(texts)} texts of {SHORTEST}–{LONGEST} wordpieces, {asked.rounds} rounds in turn, seed {asked.seed}; medians")
    print(f"{'':24}{'sentence-transformers':>22}{'minilm':>10}{'ratio':>8}")
    table("texts per second", [(len(texts) / a, len(texts) / b) for a, b in passages])
    table("processor ms per text", [(worked[0] * 1e3 / len(texts), worked[1] * 1e3 / len(texts))])
    table("one question, ms", [(a * 1e3, b * 1e3) for a, b in questions])
    table("cold start, s", list(zip(*cold, strict=True)))
    print(f"cosine to the reference: mean {cosines.mean():.6f}, min {cosines.min():.6f}")
    print("passages, ratio in each round:", " ".join(f"{a / b:.2f}" for a, b in passages))


def table(label: str, pairs: list[tuple[float, float]]) -> None:
    """One line: both medians, and the median of minilm's over the other's."""
    theirs, ours, ratio = (statistics.median(column) for column in zip(*((a, b, b / a) for a, b in pairs), strict=True))
    print(f"{label:24}{theirs:22.2f}{ours:10.2f}{ratio:8.2f}")


if __name__ == "__main__":
    main()
