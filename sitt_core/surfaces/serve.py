"""The launcher behind `make run`: a free port, the field guide's default index, then Streamlit's server on app.py."""

import argparse
import errno
import os
import socket
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from sitt_core.errors import InvalidInput, PortTaken, SittError, shown
from sitt_core.settings import DEFAULT_CORPUS, ROOT, Settings, load_settings

if TYPE_CHECKING:
    from sitt_core.ingest import Built
    from sitt_core.types import Report

ADDRESS = "127.0.0.1"
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Serves until it is stopped; returns 0, 1 after a named failure (one line on standard error), 130 when interrupted before."""
    try:
        check_python(sys.version_info[:2])
        settings = read_arguments(arguments, load_settings())
        check_port(settings.port)
        prepare_index(settings)
        check_port(settings.port)  # the index may have taken minutes
        serve(ROOT / "app.py", settings.port)
    except SittError as error:
        print(f"{error.kind}: {' '.join(str(error).split())}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nStopped. What was finished is kept; make run goes on from here.", file=sys.stderr)
        return INTERRUPTED
    return 0


def check_python(version: tuple[int, ...]) -> None:
    """Raises InvalidInput unless the pinned packages exist for this Python."""
    if not (3, 11) <= version <= (3, 13):
        raise InvalidInput(
            expected="Python 3.11, 3.12 or 3.13",
            got=".".join(map(str, version)),
            remedy="Install one of them and name it: make clean, then make run PYTHON=python3.12",
        )


def read_arguments(arguments: Sequence[str] | None, settings: Settings) -> Settings:
    """The settings with the port of `--port` where one is given; raises InvalidInput."""
    parser = argparse.ArgumentParser(prog="python -m sitt_core.surfaces.serve", description="Serve the dashboard on this machine.")
    parser.add_argument("--port", metavar="N", help=f"port on {ADDRESS} (default: SITT_PORT, else {settings.port})")
    port: str | None = parser.parse_args(arguments).port
    if port is None:
        return settings
    if not (port.isascii() and port.isdigit() and len(port) <= 5 and 1 <= int(port) <= 65535):
        raise InvalidInput(expected="a port from 1 to 65535", got=shown(port), remedy="For example: make run PORT=8600")
    return replace(settings, port=int(port))


def check_port(port: int) -> None:
    """Raises PortTaken when something listens there, InvalidInput when this user may not."""
    with socket.socket() as probe:
        # Asked by connecting as well: macOS lets a second socket bind to one address of a port that is bound on all.
        taken = probe.connect_ex((ADDRESS, port)) == 0
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the server does, or a port just left would count as taken
        try:
            probe.bind((ADDRESS, port))
        except OSError as error:
            if error.errno == errno.EACCES:
                raise InvalidInput(
                    expected="a port that this user may serve on", got=str(port), remedy="Choose one above 1023: make run PORT=8600"
                ) from None
            taken = True
    if taken:
        raise PortTaken(
            expected=f"port {port} to be free",
            got=f"something that listens on it already ({_url(port)})",
            remedy=f"Choose another with make run PORT={_another(port)} or SITT_PORT={_another(port)}, or stop what runs there.",
        )


def prepare_index(settings: Settings) -> None:
    """Builds the field guide's default index where there is none, with its progress on standard error."""
    # Only here: a taken port is said before DuckDB and OpenVINO have loaded.
    from sitt_core.surfaces.progress import human_seconds, terminal_report

    built = build_missing_index(settings, terminal_report())
    if built is not None:
        print(f"Built the field guide's index: {built.chunks:,} chunks in {human_seconds(built.seconds)}.", file=sys.stderr)


def build_missing_index(settings: Settings, report: "Report") -> "Built | None":
    """What was built, or None when the index is there already; raises Busy, SourceError, StoreError or ModelError."""
    from sitt_core import build, ingest
    from sitt_core.plan import plan_updates

    workshop, configuration = build.Workshop(settings), settings.defaults
    corpus = build.corpus_or_none(workshop, DEFAULT_CORPUS)
    if corpus is not None and corpus.has_index_for(configuration):
        return None
    print(f"Building the field guide's index ({configuration.slug}), once:", file=sys.stderr)
    if corpus is not None:
        recipe = workshop.recipe(configuration, language=build.language_of(corpus))
        return ingest.build_index(corpus, recipe=recipe, report=report)
    listing, place = build.read_source("field-guide")
    recipe = workshop.recipe(configuration, language=build.DEFAULT_LANGUAGE)
    folder = settings.store_dir / DEFAULT_CORPUS
    return ingest.apply_update(folder, None, plan_updates(None, [(listing, place)]), recipe=recipe, report=report)


def serve(script: Path, port: int) -> None:
    """Runs Streamlit's server on a script until SIGINT or SIGTERM; the port must be free."""
    os.environ["STREAMLIT_LOGGER_HIDE_WELCOME_MESSAGE"] = "true"  # ours names the URL
    os.environ.setdefault("STREAMLIT_LOGGER_LEVEL", "warning")
    os.environ["SITT_PORT"] = str(port)  # what the System page reports
    from streamlit.web import cli

    use_navigation_only()
    print(f"SITT Lab is on {_url(port)} (Ctrl-C stops it)", flush=True)
    cli.main(["run", str(script), f"--server.address={ADDRESS}", f"--server.port={port}"], standalone_mode=False)


def use_navigation_only() -> None:
    """Makes a deep link, the first request of a new server included, run app.py rather than the page's script alone."""
    from streamlit.runtime.pages_manager import PagesManager

    # Private API, Streamlit 1.67.0: until a session has called st.navigation, a server whose script has a pages/ folder beside
    # it serves /ask by running pages/ask.py alone. Saying beforehand that this is no such app prevents it.
    PagesManager.uses_pages_directory = False


def _url(port: int) -> str:
    return f"http://{ADDRESS}:{port}"


def _another(port: int) -> int:
    return 8600 if port != 8600 else 8601


if __name__ == "__main__":
    sys.exit(main())
