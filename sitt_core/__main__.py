"""`python -m sitt_core`: the command line."""

try:
    from sitt_core.surfaces.cli import main
except KeyboardInterrupt:  # Ctrl-C while the modules load: there is nothing to tell or to clean up
    raise SystemExit(130) from None

main()
