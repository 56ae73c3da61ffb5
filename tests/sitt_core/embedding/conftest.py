"""The embedder and its reference implementation, loaded once."""

import os
import warnings
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sitt_core.embedding.minilm import PACKAGE, MiniLM, load_minilm
from tests.fakes.once import shared_folder

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer


@pytest.fixture(scope="session")
def minilm() -> MiniLM:
    """The embedder under test."""
    return load_minilm()


@pytest.fixture(scope="session")
def reference() -> "SentenceTransformer":
    """sentence-transformers with the same weights, in float32, never online."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from sentence_transformers import SentenceTransformer

        return SentenceTransformer(str(resources.files(PACKAGE) / "model"), device="cpu")


@pytest.fixture(scope="session")
def models_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where this run's converted models are made, each at most once."""
    return shared_folder(tmp_path_factory) / "models"
