"""Hypothesis tries the same examples on every machine, however slow; what is marked soak runs only when asked for."""

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("sitt", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("sitt")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out the tests marked soak unless the -m expression names them."""
    if "soak" not in config.option.markexpr:
        left_out = [item for item in items if item.get_closest_marker("soak")]
        items[:] = [item for item in items if not item.get_closest_marker("soak")]
        config.hook.pytest_deselected(items=left_out)
