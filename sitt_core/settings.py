"""Where things are on this machine: data folder, port, which keys are present. Never stored with results."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sitt_core.configuration import Configuration, from_environment
from sitt_core.errors import InvalidInput, shown

ROOT = Path(__file__).resolve().parents[1]
FIELD_GUIDE = ROOT / "data" / "field_guide"
DEFAULT_CORPUS = "field-guide"
DEFAULT_PORT = 8501
KEYS = ("VOYAGE_API_KEY", "ANTHROPIC_API_KEY")


@dataclass(frozen=True, slots=True)
class Settings:
    """Paths and defaults; keys are known by presence only, so that no repr can show one."""

    data_dir: Path
    port: int = DEFAULT_PORT
    defaults: Configuration = field(default_factory=Configuration)
    keys_present: frozenset[str] = frozenset()

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
    )


def _read_dotenv(path: Path) -> dict[str, str]:
    if not path.is_file():
        return {}
    from dotenv import dotenv_values  # only where there is a file to read

    try:
        return {name: value for name, value in dotenv_values(path).items() if value is not None}
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(expected=f"{path.name} to be a readable UTF-8 file", got=str(error), remedy="Save it again as UTF-8.") from error
