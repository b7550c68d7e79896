"""Fixed seeds everywhere: hypothesis tries the same examples in every run."""

from hypothesis import settings

settings.register_profile("fixed", derandomize=True, database=None)
settings.load_profile("fixed")
