"""Ways from a problem to a fit: by sums, by the kernel matrix, without a matrix, by Newton's method, step by step."""
