"""What the server keeps, table by table (docs/why/life-of-a-report.md), on SQLite or PostgreSQL."""
