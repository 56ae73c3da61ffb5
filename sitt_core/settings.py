"""Where things are on this machine: data folder, port, which keys are present. Never stored with results."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sitt_core.configuration import MODELS, PROVIDER_KEYS, Configuration, from_environment
from sitt_core.errors import InvalidInput, shown

ROOT = Path(__file__).resolve().parents[1]
FIELD_GUIDE = ROOT / "data" / "field_guide"
DEFAULT_CORPUS = "field-guide"
DEFAULT_PORT = 8501
JUDGES = tuple(provider for provider in MODELS if provider != "extractive")
"""Who can judge answers: whoever writes in sentences of its own."""
KEYS = (*PROVIDER_KEYS.values(), "LLM_API_KEY", "VOYAGE_API_KEY", "GITHUB_TOKEN")


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """How language models are asked: seconds to connect and to the next piece of text, tokens of an answer (with what the model
    thinks before it), addresses, prices.

    `base_urls` holds those that differ from the provider's own; prices are dollars per million tokens, and stand above the
    price table. `judge_provider` and `judge_model` say who judges answers, "" for whom the lab chooses.
    """

    connect_timeout: float = 10.0
    idle_timeout: float = 60.0
    max_tokens: int = 4096
    base_urls: Mapping[str, str] = field(default_factory=dict)
    price_input: float | None = None
    price_output: float | None = None
    judge_provider: str = ""
    judge_model: str = ""
    judge_price_input: float | None = None
    judge_price_output: float | None = None


@dataclass(frozen=True, slots=True)
class SourceSettings:
    """How sources on the network are asked: who asks, where Wikipedia and GitHub's API are, seconds between two requests to one host.

    `contact` is the operator's address, "" for nobody; `allow_private` lets a source be in a private network.
    """

    contact: str = ""
    wikipedia_url: str = "https://en.wikipedia.org"
    github_url: str = "https://api.github.com"
    interval: float = 1.0
    allow_private: bool = False


@dataclass(frozen=True, slots=True)
class Settings:
    """Paths and defaults; keys are known by presence only, so that no repr can show one."""

    data_dir: Path
    port: int = DEFAULT_PORT
    defaults: Configuration = field(default_factory=Configuration)
    keys_present: frozenset[str] = frozenset()
    models: ModelSettings = field(default_factory=ModelSettings)
    sources: SourceSettings = field(default_factory=SourceSettings)

    @property
    def store_dir(self) -> Path:
        """One folder per corpus."""
        return self.data_dir / "store"

    @property
    def models_dir(self) -> Path:
        """Models that were converted here, each made once."""
        return self.data_dir / "models"

    @property
    def notes_dir(self) -> Path:
        """What people leave behind: presets, recent questions."""
        return self.data_dir / "notes"

    @property
    def runs_dir(self) -> Path:
        """One folder per run of the eval lab."""
        return self.data_dir / "runs"

    @property
    def judged_dir(self) -> Path:
        """What judges have answered, by everything that decides it, so that nothing is paid for twice."""
        return self.data_dir / "judged"

    @property
    def fetched_dir(self) -> Path:
        """What sources fetched from the network, so that nobody is asked twice for the same."""
        return self.data_dir / "fetched"

    @property
    def jobs_dir(self) -> Path:
        """One folder per long piece of work."""
        return self.data_dir / "jobs"


def load_settings(environment: Mapping[str, str] | None = None, *, dotenv: Path | None = None) -> Settings:
    """Settings from the environment, then from `.env` beside app.py for what it leaves out. Raises InvalidInput."""
    if environment is None:
        environment = {**_read_dotenv(dotenv or ROOT / ".env"), **os.environ}
    text = environment.get("SITT_PORT", "").strip() or str(DEFAULT_PORT)
    if not (re.fullmatch(r"[0-9]{1,5}", text) and 1 <= int(text) <= 65535):
        raise InvalidInput(
            expected="SITT_PORT to be a port from 1 to 65535", got=shown(text), remedy="Correct it in the environment or in .env."
        )
    folder = environment.get("SITT_DATA_DIR", "").strip() or str(ROOT / "data")
    try:
        data_dir = Path(folder).expanduser().resolve()
        str(data_dir).encode()  # DuckDB takes paths in Unicode alone
        usable = data_dir.is_dir() or not data_dir.exists()
    except (RuntimeError, OSError, ValueError) as error:  # ~name of nobody, a loop of links, a name too long or in no encoding
        raise InvalidInput(
            expected="SITT_DATA_DIR to be a folder", got=shown(folder), remedy="Correct it in the environment or in .env."
        ) from error
    if not usable:
        raise InvalidInput(
            expected="SITT_DATA_DIR to be a folder", got=f"the file {shown(folder)}", remedy="Correct it in the environment or in .env."
        )
    return Settings(
        data_dir=data_dir,
        port=int(text),
        defaults=from_environment(environment),
        keys_present=frozenset(name for name in KEYS if environment.get(name, "").strip()),
        models=_model_settings(environment),
        sources=_source_settings(environment),
    )


BASE_URLS = {
    "claude": "ANTHROPIC_BASE_URL",
    "openai": "OPENAI_BASE_URL",
    "groq": "GROQ_BASE_URL",
    "ollama": "OLLAMA_BASE_URL",
    "custom": "LLM_BASE_URL",
}
"""The variable that names another address than a provider's own."""


def _model_settings(environment: Mapping[str, str]) -> ModelSettings:
    defaults = ModelSettings()
    urls = {provider: environment.get(name, "").strip() for provider, name in BASE_URLS.items()}
    for provider, url in urls.items():
        if url and not re.fullmatch(r"https?://[^\s/]+\S*", url):
            raise InvalidInput(
                expected=f"{BASE_URLS[provider]} to be an address that begins with http:// or https://",
                got=shown(url),
                remedy="Correct it in the environment or in .env.",
            )
    return ModelSettings(
        connect_timeout=_number(environment, "LLM_CONNECT_TIMEOUT", least=0.1, most=600) or defaults.connect_timeout,
        idle_timeout=_number(environment, "LLM_IDLE_TIMEOUT", least=0.1, most=3600) or defaults.idle_timeout,
        max_tokens=int(_number(environment, "LLM_MAX_TOKENS", least=16, most=16_000) or defaults.max_tokens),
        base_urls={provider: url for provider, url in urls.items() if url},
        price_input=_number(environment, "LLM_PRICE_INPUT", least=0, most=10_000),
        price_output=_number(environment, "LLM_PRICE_OUTPUT", least=0, most=10_000),
        judge_provider=_judge_provider(environment),
        judge_model=environment.get("JUDGE_MODEL", "").strip(),
        judge_price_input=_number(environment, "JUDGE_PRICE_INPUT", least=0, most=10_000),
        judge_price_output=_number(environment, "JUDGE_PRICE_OUTPUT", least=0, most=10_000),
    )


def _source_settings(environment: Mapping[str, str]) -> SourceSettings:
    defaults = SourceSettings()
    addresses = {
        "SITT_WIKIPEDIA_URL": (defaults.wikipedia_url, "a wiki's address, such as https://sv.wikipedia.org"),
        "GITHUB_API_URL": (defaults.github_url, "the address of GitHub's API, such as https://github.example.org/api/v3"),
    }
    urls = {name: environment.get(name, "").strip() or default for name, (default, _) in addresses.items()}
    for name, url in urls.items():
        if not re.fullmatch(r"https?://[^\s/?#@]+(?:/[^\s?#]*)?", url):
            raise InvalidInput(
                expected=f"{name} to be {addresses[name][1]}", got=shown(url), remedy="Correct it in the environment or in .env."
            )
    private = environment.get("SITT_ALLOW_PRIVATE", "").strip().lower() or "no"
    if private not in ("yes", "no"):
        raise InvalidInput(
            expected="SITT_ALLOW_PRIVATE to be yes or no", got=shown(private), remedy="Correct it in the environment or in .env."
        )
    interval = _number(environment, "SITT_FETCH_INTERVAL", least=0, most=3600)
    return SourceSettings(
        contact=environment.get("SITT_CONTACT", "").strip(),
        wikipedia_url=urls["SITT_WIKIPEDIA_URL"].rstrip("/"),
        github_url=urls["GITHUB_API_URL"].rstrip("/"),
        interval=defaults.interval if interval is None else interval,
        allow_private=private == "yes",
    )


def _judge_provider(environment: Mapping[str, str]) -> str:
    name = environment.get("JUDGE_PROVIDER", "").strip()
    if name and name not in JUDGES:
        raise InvalidInput(
            expected=f"JUDGE_PROVIDER to be one of {', '.join(JUDGES)}",
            got=shown(name),
            remedy="Correct it in the environment or in .env.",
        )
    return name


def _number(environment: Mapping[str, str], name: str, *, least: float, most: float) -> float | None:
    """A number from the environment, or None where it is not set; raises InvalidInput."""
    text = environment.get(name, "").strip()
    if not text:
        return None
    number = float(text) if re.fullmatch(r"[0-9]{0,9}\.?[0-9]{1,9}", text) else None
    if number is None or not least <= number <= most:
        raise InvalidInput(
            expected=f"{name} to be a number from {least:g} to {most:,g}",
            got=shown(text),
            remedy="Correct it in the environment or in .env.",
        )
    return number


def secret(name: str, *, dotenv: Path | None = None) -> str:
    """A key's value, from the environment or `.env`, read where it is used and kept nowhere; empty when it is not set."""
    return {**_read_dotenv(dotenv or ROOT / ".env"), **os.environ}.get(name, "").strip()


def _read_dotenv(path: Path) -> dict[str, str]:
    if not path.is_file():
        return {}
    from dotenv import dotenv_values  # only where there is a file to read

    try:
        return {name: value for name, value in dotenv_values(path).items() if value is not None}
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(expected=f"{path.name} to be a readable UTF-8 file", got=str(error), remedy="Save it again as UTF-8.") from error
