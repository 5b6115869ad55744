"""Compatibility with other compilers: one module per compiler, which imports that compiler."""
