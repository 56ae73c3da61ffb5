#!/bin/sh
# Makes .venv and keeps it in step with the requirements; make calls it, nobody else needs to.
#   scripts/bootstrap.sh run     what the dashboard needs
#   scripts/bootstrap.sh check   that, and what the checks and tests need
#   scripts/bootstrap.sh test    that, and a browser for the tests
# POSIX sh without GNU-only flags: Debian's dash and macOS's bash 3.2 both run it.
set -eu
CDPATH='' cd -- "$(dirname -- "$0")/.."

venv_python=.venv/bin/python
torch_index=https://download.pytorch.org/whl/cpu
supported='import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))'

say() { printf '%s\n' "sitt: $*"; }
stop() {
    printf '%s\n' "sitt: $*" >&2
    exit 1
}
is_root() { [ "$(id -u)" -eq 0 ]; }
has() { command -v "$1" >/dev/null 2>&1; }

apt_install() {
    say "Installing $* with apt-get."
    apt-get update -qq || true # one unreachable list does not matter if another has the package
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" </dev/null
}

# Prints the path of a Python that fits: $PYTHON if it is set, else the first on PATH.
find_python() {
    if [ -n "${PYTHON:-}" ]; then
        set -- "$PYTHON"
    else
        set -- python3 python3.13 python3.12 python3.11
    fi
    for candidate; do
        if "$candidate" -c "$supported" >/dev/null 2>&1; then
            "$candidate" -c 'import sys; print(sys.executable)'
            return
        fi
    done
    return 1
}

# Debian and Ubuntu keep ensurepip, without which there is no venv, in a package of its own.
require_ensurepip() {
    if "$1" -c 'import ensurepip, venv' 2>/dev/null; then return; fi
    package=$("$1" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')
    has apt-get || stop "$1 has no ensurepip. Install your system's package for Python's venv module, then run make again."
    is_root || stop "Python's venv module is missing. Install it with this command, then run make again:
    sudo apt-get install -y $package"
    apt_install "$package" || stop "apt-get could not install $package. Once it can, run make again."
}

make_venv() {
    # One that was begun and not finished, or whose Python is gone since a system's upgrade, is made again.
    if "$venv_python" -c "import pip; $supported" >/dev/null 2>&1; then return; fi
    python=$(find_python) || stop "Python 3.11, 3.12 or 3.13 is needed${PYTHON:+, and $PYTHON is none of them}. Install one (on Debian or Ubuntu:
    sudo apt-get install -y python3 python3-venv), or name one: make run PYTHON=/path/to/python3.12"
    require_ensurepip "$python"
    say "Making .venv with $("$python" --version)."
    "$python" -m venv --clear .venv
}

# PyPI's torch for Linux brings several GB of CUDA that nothing here uses; PyTorch's own index has it without.
# Where that index does not answer within seconds, torch comes from wherever pip is set up to look.
install_torch() {
    if [ "$(uname -s)" != Linux ]; then return; fi
    pin=$(sed -n 's/^torch==\([^ ]*\).*/\1/p' requirements.txt)
    if "$venv_python" -c 'import importlib.metadata as m, sys; sys.exit(m.version("torch").split("+")[0] != sys.argv[1])' "$pin" 2>/dev/null; then
        return
    fi
    if answers "$torch_index/torch/"; then
        pip_install --no-deps --index-url "$torch_index" "torch==$pin" || say "PyTorch's CPU index has no torch $pin for this machine; pip looks elsewhere."
    else
        say "PyTorch's CPU index does not answer; pip takes torch from where it usually looks."
    fi
}

# Whether a URL answers, within 8 seconds even where looking up its name hangs. pip's own client: it brings its certificates.
answers() {
    "$venv_python" - "$1" >/dev/null 2>&1 <<'PYTHON'
import os, sys, threading
threading.Timer(8, os._exit, [1]).start()
try:
    from pip._vendor import requests
    requests.head(sys.argv[1], timeout=5).raise_for_status()
except BaseException:
    os._exit(1)
os._exit(0)
PYTHON
}

pip_install() { "$venv_python" -m pip install --disable-pip-version-check --no-input "$@"; }

# Runs pip only when .venv was not made from these files as they are now: it keeps a copy of what it was made from.
install_requirements() {
    current=yes
    for file; do cmp -s "$file" ".venv/installed-$file" || current=no; done
    if [ $current = yes ]; then return; fi
    say "Installing $file. The first time takes some minutes."
    for file; do rm -f ".venv/installed-$file"; done
    install_torch
    pip_install -r "$file" || stop "pip could not install $file; its last lines say why. Run make again to go on."
    for file; do cp "$file" ".venv/installed-$file"; done
}

require_browser() {
    if browser=$("$venv_python" tests/browser.py); then
        say "The browser for the tests is $browser."
        return
    fi
    # Ubuntu's package of that name only points to a snap, which has no place on a server or in a container.
    if is_root && has apt-get && grep -q '^ID=debian$' /etc/os-release; then
        apt_install chromium fonts-liberation || say "apt-get could not install chromium; trying Playwright's."
    fi
    if ! "$venv_python" tests/browser.py >/dev/null; then
        if is_root && has apt-get; then set -- --with-deps; else set --; fi
        "$venv_python" -m playwright install "$@" chromium || true
    fi
    browser=$("$venv_python" tests/browser.py) || stop "No browser for the tests could be installed. Install Chromium or Chrome (on Debian:
    sudo apt-get install -y chromium), or name one: SITT_CHROMIUM=/path/to/chrome make test"
    say "The browser for the tests is $browser."
}

case "${1:-}" in
run)
    make_venv
    install_requirements requirements.txt
    ;;
check)
    make_venv
    install_requirements requirements.txt requirements-dev.txt
    ;;
test)
    make_venv
    install_requirements requirements.txt requirements-dev.txt
    require_browser
    ;;
*) stop "usage: scripts/bootstrap.sh run|check|test" ;;
esac
