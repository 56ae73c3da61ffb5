"""Where documents come from: name → documents."""
