"""Hybrid retrieval over a BEIR folder, the same texts and the same vectors, here and in other libraries, in one run.

    pip install -r requirements.txt -r benchmarks/peers-requirements.txt
    python -m benchmarks.peers PATH/TO/scifact

Questions come with their vectors, so that no time is the embedder's; every library returns the texts of its ten best.
Each is asked the same question in turn, so that a busy machine slows all of them.
"""

import argparse
import csv
import json
import math
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from sitt_core import build, ingest
from sitt_core.configuration import configure
from sitt_core.pipeline import search
from sitt_core.plan import plan_updates
from sitt_core.settings import load_settings
from sitt_core.sources.markdown import outline
from sitt_core.text import normalise, sha256_text
from sitt_core.types import Document, Listing, Matrix, Source

DEPTH = 10
CANDIDATES = 50

Ask = Callable[[str, Matrix], list[tuple[str, str]]]
"""A question and its vector to (document id, text), best first."""


@dataclass(frozen=True, slots=True)
class Collection:
    """A BEIR folder: documents, the questions that have judgements, and the judgements."""

    texts: Mapping[str, str]
    questions: Mapping[str, str]
    relevant: Mapping[str, Mapping[str, int]]


def read_collection(folder: Path) -> Collection:
    """Reads corpus.jsonl, queries.jsonl and qrels/test.tsv."""
    corpus = [json.loads(line) for line in (folder / "corpus.jsonl").read_text(encoding="utf-8").splitlines()]
    queries = [json.loads(line) for line in (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines()]
    relevant: dict[str, dict[str, int]] = {}
    with (folder / "qrels" / "test.tsv").open(encoding="utf-8", newline="") as judgements:
        for row in csv.DictReader(judgements, delimiter="\t"):
            if int(row["score"]) > 0:
                relevant.setdefault(row["query-id"], {})[row["corpus-id"]] = int(row["score"])
    texts = {row["_id"]: normalise(f"{row.get('title', '')}\n{row['text']}".strip()) for row in corpus}
    return Collection(texts, {row["_id"]: row["text"] for row in queries if row["_id"] in relevant}, relevant)


def ndcg(ranking: Sequence[str], relevant: Mapping[str, int]) -> float:
    """nDCG@10 with linear gains, as trec_eval computes it."""
    gained = sum(relevant.get(document, 0) / math.log2(at + 2) for at, document in enumerate(ranking[:DEPTH]))
    best = sum(gain / math.log2(at + 2) for at, gain in enumerate(sorted(relevant.values(), reverse=True)[:DEPTH]))
    return gained / best


class Here:
    """This engine, by its public functions: a store in a folder, an index, `search`."""

    def __init__(self, collection: Collection, folder: Path) -> None:
        self.workshop = build.Workshop(replace(load_settings({}), data_dir=folder))
        changes = {"chunking.strategy": "whole", "chunking.header": "off", "top_k": DEPTH, "fusion.candidates": CANDIDATES}
        self.configuration = configure(changes)
        documents = tuple(
            Document(id_, id_, Source(id_, id_, "see the collection"), text, *outline(text), sha256_text(text), origin="beir")
            for id_, text in collection.texts.items()
        )
        listing = Listing("beir", documents)
        recipe = self.workshop.recipe(self.configuration, language="english")
        ingest.apply_update(
            self.workshop.settings.store_dir / "beir",
            None,
            plan_updates(None, [(listing, "beir")]),
            recipe=recipe,
            report=show,
        )
        self.corpus = self.workshop.corpus("beir")
        self.index = self.workshop.engine(self.corpus, self.configuration).index
        self.embedder = recipe.embedder

    def vectors(self) -> dict[str, Matrix]:
        """The vector of every document, for the others to use."""
        owners = [self.corpus.documents[at].id for at in self.index.document_at]
        return {owner: self.index.vectors[row] for row, owner in enumerate(owners)}

    def ask(self, **changes: object) -> Ask:
        """`search` under a configuration, given the question's vector."""
        engine = self.workshop.engine(
            self.corpus, configure({name.replace("__", "."): value for name, value in changes.items()}, self.configuration)
        )

        def asked(question: str, vector: Matrix) -> list[tuple[str, str]]:
            found = search(question, replace(engine, embed=lambda _: vector[None, :]))
            return [(passage.chunk.document_id, passage.chunk.text) for passage in found.passages]

        return asked


def lancedb_hybrid(texts: Mapping[str, str], vectors: Mapping[str, Matrix], folder: Path) -> Ask:
    """LanceDB: its hybrid query with its reciprocal rank reranker, full-text index made."""
    import lancedb
    import pyarrow
    from lancedb.rerankers import RRFReranker

    flat = pyarrow.array(np.concatenate([vectors[id_] for id_ in texts]))
    column = pyarrow.FixedSizeListArray.from_arrays(flat, len(next(iter(vectors.values()))))
    table = lancedb.connect(folder).create_table("t", pyarrow.table({"id": list(texts), "text": list(texts.values()), "vector": column}))
    table.create_fts_index("text")
    reranker = RRFReranker()

    def asked(question: str, vector: Matrix) -> list[tuple[str, str]]:
        query = table.search(query_type="hybrid").vector(vector).text(question).distance_type("cosine").rerank(reranker).limit(DEPTH)
        return [(row["id"], row["text"]) for row in query.to_list()]

    return asked


def llama_index_hybrid(texts: Mapping[str, str], vectors: Mapping[str, Matrix], _: Path) -> Ask:
    """LlamaIndex: its in-memory vector store and its BM25 retriever (bm25s) under its fusion retriever."""
    from llama_index.core import QueryBundle, VectorStoreIndex
    from llama_index.core.embeddings import MockEmbedding
    from llama_index.core.llms import MockLLM
    from llama_index.core.retrievers import QueryFusionRetriever
    from llama_index.core.schema import TextNode
    from llama_index.retrievers.bm25 import BM25Retriever

    nodes = [TextNode(id_=id_, text=text, embedding=vectors[id_].tolist()) for id_, text in texts.items()]
    dense = VectorStoreIndex(nodes, embed_model=MockEmbedding(len(vectors[nodes[0].node_id]))).as_retriever(similarity_top_k=CANDIDATES)
    keyword = BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=CANDIDATES, verbose=False)
    fused = QueryFusionRetriever(
        [dense, keyword], similarity_top_k=DEPTH, num_queries=1, mode="reciprocal_rerank", use_async=False, llm=MockLLM()
    )

    def asked(question: str, vector: Matrix) -> list[tuple[str, str]]:
        found = fused.retrieve(QueryBundle(question, embedding=vector.tolist()))
        return [(item.node.node_id, item.node.get_content()) for item in found]

    return asked


def haystack_hybrid(texts: Mapping[str, str], vectors: Mapping[str, Matrix], _: Path) -> Ask:
    """Haystack: its in-memory store's two retrievers and its joiner by reciprocal rank."""
    from haystack import Document as Stored
    from haystack.components.joiners import DocumentJoiner
    from haystack.components.retrievers.in_memory import InMemoryBM25Retriever, InMemoryEmbeddingRetriever
    from haystack.document_stores.in_memory import InMemoryDocumentStore

    store = InMemoryDocumentStore(embedding_similarity_function="cosine")
    store.write_documents([Stored(id=id_, content=text, embedding=vectors[id_].tolist()) for id_, text in texts.items()])
    keyword, dense = InMemoryBM25Retriever(store, top_k=CANDIDATES), InMemoryEmbeddingRetriever(store, top_k=CANDIDATES)
    joiner = DocumentJoiner(join_mode="reciprocal_rank_fusion", top_k=DEPTH)

    def asked(question: str, vector: Matrix) -> list[tuple[str, str]]:
        lists = [keyword.run(query=question)["documents"], dense.run(query_embedding=vector.tolist())["documents"]]
        return [(document.id, document.content) for document in joiner.run(documents=lists)["documents"]]

    return asked


def chroma_dense(texts: Mapping[str, str], vectors: Mapping[str, Matrix], _: Path) -> Ask:
    """Chroma 1.5: dense only, since its hybrid search answers "not implemented for Local Chroma"."""
    import chromadb

    collection = chromadb.EphemeralClient().create_collection("beir", metadata={"hnsw:space": "cosine"}, embedding_function=None)
    ids = list(texts)
    for at in range(0, len(ids), 1000):
        some = ids[at : at + 1000]
        collection.add(ids=some, documents=[texts[id_] for id_ in some], embeddings=np.stack([vectors[id_] for id_ in some]))

    def asked(_: str, vector: Matrix) -> list[tuple[str, str]]:
        found = collection.query(query_embeddings=[vector], n_results=DEPTH)
        return list(zip(found["ids"][0], found["documents"][0], strict=True))

    return asked


PEERS = {
    "LanceDB, hybrid": lancedb_hybrid,
    "LlamaIndex, hybrid": llama_index_hybrid,
    "Haystack, hybrid": haystack_hybrid,
    "Chroma, dense only": chroma_dense,
}


def show(stage: str, done: int, total: int) -> None:
    """A line when a stage is finished."""
    if done == total:
        print(f"  {stage}: {total:,}", flush=True)


def main() -> None:
    """Builds every library's index, asks all of them every question in turn, prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="corpus.jsonl, queries.jsonl, qrels/test.tsv")
    collection = read_collection(parser.parse_args().folder)
    with tempfile.TemporaryDirectory() as place:
        here = Here(collection, Path(place) / "here")
        vectors = here.vectors()
        asks: dict[str, Ask] = {"SITT Lab, hybrid rrf": here.ask(), "SITT Lab, hybrid convex": here.ask(fusion="convex")}
        for name, make in PEERS.items():
            asks[name] = make(collection.texts, vectors, Path(place) / name)
        questions = list(collection.questions.items())
        embedded = here.embedder.embed_queries([text for _, text in questions])
        times: dict[str, list[float]] = {name: [] for name in asks}
        scores: dict[str, list[float]] = {name: [] for name in asks}
        chance = random.Random(0)
        for (id_, question), vector in zip(questions, embedded, strict=True):
            # Who comes after whom is drawn each time: a large library leaves the processor's caches full of its own.
            for name in chance.sample(list(asks), len(asks)):
                started = time.perf_counter()
                found = asks[name](question, vector)
                times[name].append((time.perf_counter() - started) * 1000)
                scores[name].append(ndcg([document for document, _ in found], collection.relevant[id_]))
    print(f"\n{len(collection.texts):,} documents, {len(questions)} questions, {DEPTH} passages with their texts\n")
    print(f"| {'':24} | p50 ms | p95 ms | of LanceDB's p50 | nDCG@10 |\n|---|---|---|---|---|")
    yardstick = statistics.median(times["LanceDB, hybrid"])
    for name, taken in times.items():
        p50, p95 = statistics.median(taken), statistics.quantiles(taken, n=20)[-1]
        print(f"| {name:24} | {p50:6.1f} | {p95:6.1f} | {p50 / yardstick:16.2f} | {statistics.fmean(scores[name]):.4f} |")


if __name__ == "__main__":
    main()
