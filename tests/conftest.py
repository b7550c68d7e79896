"""Fixed seeds everywhere: hypothesis tries the same examples in every run. Checks of helpers say what they compared."""

import pytest
from hypothesis import settings

pytest.register_assert_rewrite("helpers")

settings.register_profile("fixed", derandomize=True, database=None)
settings.load_profile("fixed")
