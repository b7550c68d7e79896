"""From frames and files to numbers: what columns hold, how they are encoded, and what is saved of that."""

from .columns import is_frame, target_values
from .encoder import TableEncoder
from .encoder_recipe import EncoderRecipe
from .recipe import Recipe, SparseRecipe

__all__ = ["EncoderRecipe", "Recipe", "SparseRecipe", "TableEncoder", "is_frame", "target_values"]
