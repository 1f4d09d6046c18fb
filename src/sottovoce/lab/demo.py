"""The demo: a real server on this machine, and a building measured by the devices of 247 walkers."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from sottovoce.errors import SottovoceError
from sottovoce.lab.crowd import CrowdOutcome, draft_of, run_campaign
from sottovoce.lab.plots import draw_demo, draw_on_plan
from sottovoce.operators.client import OperatorClient
from sottovoce.protocol.tokens import new_token
from sottovoce.worlds.floorplan import floorplan

# Laplace noise of scale 1 m: ε = 1 for readings up to a metre apart.
NOISE, DISTANCE = "fresh:0.5", "1"
# A hallway has 4 to 10 readings here; a server's usual minimum of 5 would leave a third of the plan empty.
LEAST_CLAIMS = 4
# Walkers come in random order over this time, so that the server computes while reports still come in.
_OVER_SECONDS = 8.0
_STOP_SECONDS = 15


def run_demo(out: Path, seed: int, progress: Callable[[int, int], None] | None = None) -> CrowdOutcome:
    """Serve, ask, measure, add noise, send, discover; write claims.csv, truth.csv, demo.png, and the plan."""
    world = floorplan(seed)
    draft = draft_of(
        world, title="How long are the hallways?", noise=NOISE, distance=DISTANCE, low=0, high=50, unit="m"
    )
    with TemporaryDirectory(prefix="sottovoce-demo-") as folder, own_server(Path(folder)) as operator:
        outcome = run_campaign(world, operator, draft, out, over=_OVER_SECONDS, seed=seed, progress=progress)
    if not outcome.as_from_scratch:
        raise SottovoceError(
            f"results from the server: they differ from those of the same claims computed from scratch by "
            f"{outcome.departure:.1%} of an interval's width; please report this, with the claims in {out}"
        )
    assert world.building is not None
    draw_on_plan(world.building, outcome.shown, out / "plan.png")
    draw_demo(outcome.claims, outcome.truths, outcome.shown, outcome.errors, out / "demo.png")
    return outcome


@contextmanager
def own_server(folder: Path, least_claims: int = LEAST_CLAIMS) -> Iterator[OperatorClient]:
    """``sottovoce serve`` on a free port of this machine, with SQLite in a folder; stopped whenever the block ends."""
    token = new_token()
    # Settings meant for another server on this machine must not affect this one.
    environment = {name: entry for name, entry in os.environ.items() if not name.startswith("SOTTOVOCE_")}
    environment |= {"SOTTOVOCE_OPERATOR_TOKEN": token, "SOTTOVOCE_LEAST_CLAIMS": str(least_claims)}
    command = [
        sys.executable, "-m", "sottovoce", "serve", "--database", f"sqlite:///{folder / 'campaigns.db'}", "--port", "0",
        "--json",
    ]  # fmt: skip
    log = folder / "server.log"
    before = signal.signal(signal.SIGTERM, _leave)
    try:
        with (
            log.open("w") as errors,
            # In its own session: Ctrl-C reaches only this process, which ends the server once no device needs it.
            subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=errors, env=environment, text=True, start_new_session=True
            ) as server,
        ):
            try:
                assert server.stdout is not None
                answer = server.stdout.readline()
                if not answer:
                    raise SottovoceError(f"the server did not start: {log.read_text().strip()[-500:]}")
                with OperatorClient(json.loads(answer)["url"], token) as operator:
                    yield operator
            finally:
                _end(server)
    finally:
        signal.signal(signal.SIGTERM, before)


def _end(server: "subprocess.Popen[str]") -> None:
    server.terminate()
    try:
        server.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        server.kill()


def _leave(*_: object) -> None:
    sys.exit(128 + signal.SIGTERM)
