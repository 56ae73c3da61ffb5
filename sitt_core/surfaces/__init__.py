"""The ways in: command line, dashboard, launcher."""
