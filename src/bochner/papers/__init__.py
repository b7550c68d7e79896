"""What the papers did, one module per table, figure or baseline; not part of the public interface."""
