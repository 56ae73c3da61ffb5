"""`python -m evals`: the eval lab's command line."""

try:
    from sitt_core.surfaces.cli_evals import main
except KeyboardInterrupt:  # Ctrl-C while the modules load: there is nothing to tell or to clean up
    raise SystemExit(130) from None

main()
