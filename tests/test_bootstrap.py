"""What a fresh machine starts from: the Makefile, the requirements, and files that name no place of their author's."""

import ast
import importlib.metadata
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
OURS = {"sitt_core", "evals", "app", "pages", "tests", "benchmarks", "scripts"}

# Each in two parts, since this file is searched as well.
FOLDERS = [("/wo", "rk/"), ("/ro", "ot/"), ("/opt/", "wheels"), ("/opt/", "pypi")]
HOSTS = [("pypi", ".org"), ("pythonhosted", ".org"), ("registry.npmjs", ".org"), ("deb.debian", ".org")]
OTHERS = [("../", "shared"), (".lib", "rary/")]
# A folder at the start of a path only: the same letters may stand within another path, a word or an address.
PLACES = [re.compile(r"(?<![\w./-])" + re.escape("".join(parts))) for parts in FOLDERS]
PLACES += [re.compile(re.escape("".join(parts))) for parts in HOSTS + OTHERS]


def pins(name: str) -> dict[str, str]:
    """Distribution → pinned version, as the file says; a line that is no exact pin fails."""
    found = {}
    for line in (ROOT / name).read_text(encoding="utf-8").splitlines():
        line = line.split(" #")[0].strip()
        if not line or line.startswith(("#", "-r ")):
            continue
        match = re.fullmatch(r"([A-Za-z0-9._-]+)==([A-Za-z0-9.+]+)", line)
        assert match, f"{name}: {line!r} is no exact pin"
        found[canonical(match[1])] = match[2]
    return found


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def third_party_imports(paths: Iterator[Path]) -> dict[str, Path]:
    """Top-level module → a file that imports it, standard library and our own left out."""
    found: dict[str, Path] = {}
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                names = [node.module]
            found.update({name.split(".")[0]: path for name in names})
    return {name: path for name, path in found.items() if name not in sys.stdlib_module_names and name not in OURS}


def python_files(*folders: str) -> Iterator[Path]:
    yield from (path for folder in folders for path in sorted((ROOT / folder).rglob("*.py")))


def unlisted(imports: dict[str, Path], listed: set[str]) -> dict[str, str]:
    providers = importlib.metadata.packages_distributions()
    return {
        name: str(path.relative_to(ROOT))
        for name, path in imports.items()
        if not listed & {canonical(provider) for provider in providers.get(name, [])}
    }


def test_every_target_of_the_makefile_explains_itself() -> None:
    """`make help` lists a target by its comment, so one without is one that nobody finds."""
    lines = (ROOT / "Makefile").read_text(encoding="utf-8").splitlines()
    targets = [line for line in lines if re.match(r"[a-zA-Z.][\w.-]*:(?!=)", line) and not line.startswith(".PHONY")]
    assert len(targets) >= 8
    assert [line for line in targets if not re.match(r"[a-z-]+:[^#]*## [A-Z]", line)] == []


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_make_alone_lists_every_target() -> None:
    """The first word that a newcomer types shows all the others."""
    shown = subprocess.run(["make", "--no-print-directory"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert re.findall(r"^  make (\S+) ", shown, re.MULTILINE) == targets


@pytest.mark.parametrize("shell", ["dash", "bash", "sh"])
def test_the_bootstrap_script_is_read_by_every_shell_it_may_meet(shell: str) -> None:
    """Debian's sh is dash, macOS's an old bash: neither may stumble over the other's words."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    subprocess.run([shell, "-n", str(ROOT / "scripts" / "bootstrap.sh")], check=True)


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-dev.txt"])
def test_requirements_are_exact_pins_and_what_is_installed(name: str) -> None:
    """Two machines that ran make have the same versions; a build tag such as +cpu does not count."""
    pinned = pins(name)
    assert {distribution: importlib.metadata.version(distribution).split("+")[0] for distribution in pinned} == pinned


def test_every_package_that_the_product_imports_is_a_requirement() -> None:
    """A package that only comes along with another may be gone with the other's next version."""
    paths = (path for part in (python_files("sitt_core", "pages", "evals"), iter([ROOT / "app.py"])) for path in part if path.is_file())
    assert unlisted(third_party_imports(paths), set(pins("requirements.txt"))) == {}


def test_every_package_that_tests_and_benchmarks_import_is_a_requirement() -> None:
    """The same for what only the developer's machine needs."""
    listed = set(pins("requirements.txt")) | set(pins("requirements-dev.txt"))
    # benchmarks/peers.py runs in an environment of its own, whose requirements stand beside it.
    paths = [path for path in python_files("tests", "benchmarks") if path.name != "peers.py"]
    assert unlisted(third_party_imports(paths), listed) == {}


def test_no_file_names_a_place_of_its_authors_machine_or_a_registry() -> None:
    """What is committed works anywhere: no folder that only one machine has, no package host that only one can reach."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("this is no git checkout, so which files belong to it is not known")
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, check=True
    ).stdout
    found = []
    for name in listing.decode().split("\0"):
        path = ROOT / name
        if not name or not path.is_file():
            continue
        data = path.read_bytes()
        if b"\0" in data[:8192]:
            continue
        text = data.decode("utf-8", errors="replace")
        found += [f"{name}: {match[0]}" for place in PLACES if (match := place.search(text))]
    assert found == []
