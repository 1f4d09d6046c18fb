"""The campaign server: HTTP, one database, and jobs that compute results. It never sees raw readings."""
