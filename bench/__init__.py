"""Ratios against peers and limits; `make bench` prints them all."""
