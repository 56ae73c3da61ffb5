"""Hypothesis tries the same examples on every machine, however slow."""

from hypothesis import HealthCheck, settings

settings.register_profile("sitt", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("sitt")
