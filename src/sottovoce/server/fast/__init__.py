"""What makes reports fast."""
