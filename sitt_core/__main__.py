"""`python -m sitt_core`: the command line."""

from sitt_core.surfaces.cli import main

main()
