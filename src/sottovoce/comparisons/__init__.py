"""Comparisons: numbers with a promise for the whole range."""
