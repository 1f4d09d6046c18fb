"""The least that the framework can do: an endpoint that reads nothing and stores nothing. Run by bench/server.py."""

from fastapi import FastAPI

app = FastAPI()


@app.post("/empty")
async def empty() -> None:
    """Do nothing."""
