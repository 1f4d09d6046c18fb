"""The campaign server: HTTP in front, one database behind, results computed beside. It is not trusted with readings."""
