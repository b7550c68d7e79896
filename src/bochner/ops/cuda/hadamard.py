"""Hadamard transforms of rows that stay in registers."""
