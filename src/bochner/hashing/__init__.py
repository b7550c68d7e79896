"""Locality-sensitive codes from the winners of random pools, and an index for nearest neighbours built on them."""

from .codes import MaxoutHash
from .index import MaxoutIndex

__all__ = ["MaxoutHash", "MaxoutIndex"]
